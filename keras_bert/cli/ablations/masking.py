"""Table 8: what the chosen tokens are replaced by."""

from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._runs import Column

HELP = "mixtures of [MASK], the same and a random token (table 8)"
EXAMPLE = (
    "keras-bert ablate masking corpus/*.txt -o table8 --vocab vocab.txt "
    "--config bert_l4_h128 --finetune ner=conll2003"
)
COLUMNS = [
    Column("MNLI", "mnli"),
    Column("NER", "ner"),
    Column("NER features", "ner", "features"),
]
# Percent of MASK, SAME and RND; the paper's row.
ROWS = (
    ((80, 10, 10), (84.2, 95.4, 94.9)),
    ((100, 0, 0), (84.3, 94.9, 94.0)),
    ((80, 0, 20), (84.1, 95.2, 94.6)),
    ((80, 20, 0), (84.4, 95.2, 94.7)),
    ((0, 20, 80), (83.7, 94.8, 94.6)),
    ((0, 0, 100), (83.6, 94.9, 94.6)),
)


def add_arguments(parser):
    _runs.add_arguments(parser, COLUMNS)


def run(args):
    experiment = _runs.Experiment(args, COLUMNS)
    rows = []
    for shares, paper in ROWS:
        pretrained, _ = experiment.pretrained(
            "mask {} same {} random {}".format(*shares),
            mask_token_rate=shares[0] / 100,
            random_token_rate=shares[2] / 100,
        )
        rows.append(
            {
                "cells": shares,
                "ours": experiment.scores(pretrained.path),
                "paper": dict(zip(experiment.headers, paper, strict=True)),
            }
        )
    return experiment.report(
        "Table 8: masking strategies", ["MASK", "SAME", "RND"], rows
    )
