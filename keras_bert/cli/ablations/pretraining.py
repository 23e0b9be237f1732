"""Table 5: what next-sentence prediction and both directions are worth."""

from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._runs import Column

HELP = "no next sentences, left-to-right, + BiLSTM (table 5)"
EXAMPLE = (
    "keras-bert ablate pretraining corpus/*.txt -o table5 --vocab vocab.txt "
    "--finetune sst-2=glue/SST-2 --finetune qnli=glue/QNLI"
)
COLUMNS = [
    Column("MNLI-m", "mnli"),
    Column("QNLI", "qnli"),
    Column("MRPC", "mrpc"),
    Column("SST-2", "sst-2"),
    Column("SQuAD F1", "squad-v1"),
]
# Name, settings of the pretraining, the paper's row.
ROWS = (
    ("BASE", {"next_sentence": "yes"}, (84.4, 88.4, 86.7, 92.7, 88.5)),
    ("no NSP", {"next_sentence": "no"}, (83.9, 84.9, 86.5, 92.6, 87.9)),
    (
        "LTR & no NSP",
        {"objective": "left-to-right"},
        (82.1, 84.3, 77.5, 92.1, 77.8),
    ),
    ("+ BiLSTM", None, (82.1, 84.1, 75.7, 91.6, 84.9)),
)


def add_arguments(parser):
    _runs.add_arguments(parser, COLUMNS)


def run(args):
    experiment = _runs.Experiment(args, COLUMNS)
    rows, pretrained = [], None
    for name, settings, paper in ROWS:
        # The BiLSTM is put on the encoder of the row before.
        if settings is not None:
            pretrained, _ = experiment.pretrained(name, **settings)
        rows.append(
            {
                "cells": [name],
                "ours": experiment.scores(
                    pretrained.path, bilstm=settings is None
                ),
                "paper": dict(zip(experiment.headers, paper, strict=True)),
            }
        )
    return experiment.report("Table 5: pre-training tasks", ["tasks"], rows)
