"""Figure 5: MLM against left-to-right over the steps of pretraining."""

import shutil

from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._figure import draw_steps
from keras_bert.cli.ablations._runs import Column
from keras_bert.training import state_file

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
    experiment = _runs.Experiment(args, COLUMNS)
    rows = []
    for thousands, *_ in POINTS:
        step = max(1, args.steps * thousands // 1000)
        cells = [step, f"{1000 * thousands:,}"]
        rows.append({"cells": cells, "ours": {}, "paper": {}})
    for number, (name, objective) in enumerate(OBJECTIVES.items()):
        for row, (_, *paper) in zip(rows, POINTS, strict=True):
            source = _encoder_at(experiment, name, objective, row["cells"][0])
            for header, score in experiment.scores(source).items():
                row["ours"][f"{name} {header}"] = score
            row["paper"][f"{name} MNLI-m"] = paper[number]
    result = experiment.report(
        "Figure 5: steps of pre-training", ["step", "paper step"], rows
    )
    print(draw_steps(rows, experiment.folder / "figure5.png"))
    return result


def _encoder_at(experiment, name, objective, step):
    """The encoder after so many steps.

    There is one run per objective, stopped at each point: its learning rate
    is that of the whole run. What it was at a point is kept, as a rerun may
    ask for it when the run is further.
    """
    kept = experiment.folder / "points" / f"{name}-{step:08d}"
    if kept.is_dir():
        print(f"\n=== kept: {name} after {step:,} steps", flush=True)
        return kept
    steps = experiment.args.steps
    run, _ = experiment.pretrained(
        name,
        objective=objective,
        next_sentence="no",
        steps=step,
        schedule_steps=steps,
        log_every=max(1, steps // 20),
    )
    with state_file.whole_folder(kept) as folder:
        shutil.copytree(run.preset, folder, dirs_exist_ok=True)
    return kept
