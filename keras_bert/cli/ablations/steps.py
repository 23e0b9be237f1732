"""Figure 5: MLM against left-to-right over the steps of pretraining."""

from pathlib import Path

from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._runs import Column

HELP = "masked against left-to-right over the steps (figure 5)"
EXAMPLE = (
    "keras-bert ablate steps corpus/*.txt -o figure5 --vocab vocab.txt "
    "--steps 10000 --finetune mnli=glue/MNLI"
)
COLUMNS = [Column("MNLI-m", "mnli")]
# Thousands of steps of the paper's million; MLM and LTR, MNLI-m dev.
POINTS = (
    (30, 78.6, 79.4),
    (50, 79.6, 79.8),
    (100, 80.5, 80.3),
    (200, 82.2, 81.0),
    (400, 83.2, 81.7),
    (600, 84.0, 81.9),
    (800, 84.3, 82.1),
    (1000, 84.4, 82.2),
)
OBJECTIVES = {"MLM": "masked", "LTR": "left-to-right"}


def add_arguments(parser):
    _runs.add_arguments(parser, COLUMNS)


def run(args):
    folder = Path(args.output)
    data = _runs.given_data(args)
    columns = _runs.extra_columns(COLUMNS, data)
    rows = {}
    for number, (name, objective) in enumerate(OBJECTIVES.items()):
        for thousands, *paper in POINTS:
            step = max(1, args.steps * thousands // 1000)
            # One run per objective, stopped at each point: its learning rate
            # is that of the whole run.
            path, _ = _runs.pretrained(
                args,
                folder,
                name,
                objective=objective,
                next_sentence="no",
                steps=step,
                schedule_steps=args.steps,
                log_every=max(1, args.steps // 20),
            )
            row = rows.setdefault(
                thousands,
                {"cells": [step, f"{thousands},000"], "ours": {}, "paper": {}},
            )
            for header, score in _runs.scores(
                args, path, columns, data
            ).items():
                row["ours"][f"{name} {header}"] = score
            row["paper"][f"{name} MNLI-m"] = paper[number]
    return _runs.report(
        folder,
        args,
        "Figure 5: steps of pre-training",
        (["step", "paper step"], [f"{name} MNLI-m" for name in OBJECTIVES]),
        list(rows.values()),
    )
