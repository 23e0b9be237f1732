"""`keras-bert finetune`: labelled data to a task model."""

import dataclasses
import json
import math
import shutil
from collections import Counter
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _report
from keras_bert.cli import _tasks
from keras_bert.tasks import classification
from keras_bert.tasks.table import TASKS
from keras_bert.training.recipe import FINE_TUNING
from keras_bert.training.recipe import paper_grid

HELP = "fine-tune a model on labelled data"
EXAMPLE = "keras-bert finetune text --data reviews --model run -o classifier"


def add_arguments(parser):
    _tasks.add_task_arguments(parser)
    parser.add_argument(
        "--data",
        required=True,
        help="folder with the files of train and dev, or one file, "
        "of which a tenth is held out",
    )
    parser.add_argument("--model", required=True, help="run or checkpoint")
    parser.add_argument("-o", "--output", required=True, help="run folder")
    add_recipe_arguments(parser)
    parser.add_argument(
        "--recipe",
        choices=tuple(FINE_TUNING),
        default="default",
        help="stable: 20 epochs; 2018: no bias correction, rate 5e-5",
    )
    parser.add_argument(
        "--epochs",
        type=_common.positive_int,
        help="without it: 3, or as many as give 1,000 steps",
    )
    parser.add_argument(
        "--grid",
        choices=("paper",),
        help="the 18 runs of the paper's appendix A.3; the best is kept",
    )
    parser.add_argument(
        "--early-stopping",
        type=_common.positive_int,
        metavar="N",
        help="stop after N epochs without a better dev score and keep the "
        "best weights",
    )


def add_recipe_arguments(parser):
    """What `ablate stability` shares with this verb."""
    parser.add_argument(
        "--learning-rate", type=float, help="peak (2e-5 or the task's)"
    )
    parser.add_argument(
        "--batch-size", type=_common.positive_int, help="(32 or the task's)"
    )
    parser.add_argument(
        "--sequence-length",
        type=_common.positive_int,
        help="longest row in tokens (128 or the task's)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument(
        "--seeds",
        type=_common.positive_int,
        default=1,
        help="so many runs, with the seeds after the first",
    )
    parser.add_argument(
        "--head-seed", type=int, help="draws the new head alike in every run"
    )
    parser.add_argument(
        "--data-seed", type=int, help="draws the order alike in every run"
    )
    parser.add_argument(
        "--reinitialise-layers",
        type=int,
        metavar="N",
        help="draw the pooler and the top N blocks anew",
    )
    parser.add_argument(
        "--layer-decay",
        type=float,
        metavar="D",
        help="each block learns at D times the rate of the one above it",
    )
    parser.add_argument(
        "--freeze-layers",
        type=int,
        metavar="N",
        help="keep the embeddings and the lowest N blocks as they are",
    )


def run(args):
    with _tasks.named_as_options(args):
        return _run(args)


def _run(args):
    from keras_bert.tasks.runs import summary

    _common.check_new(args.output)
    task = TASKS[args.task]
    options = _tasks.options_of(args, task)
    recipe = recipe_of(args, task)
    recipes = paper_grid(recipe) if args.grid else [recipe]
    train, dev = rows_of(args.data, task, options, args.seed)
    plan = [(one, *seeds) for one in recipes for seeds in seeds_of(args)]
    epochs, steps = recipe.epochs_for(len(train["ids"]))
    held_out = sum(len(rows["ids"]) for rows in dev.values())
    print(
        f"{len(train['ids']):,} rows to learn from, {held_out:,} held out; "
        + (
            f"{len(plan)} runs"
            + ", rate, batch and epochs by the grid" * bool(args.grid)
            if len(plan) > 1
            else "long texts are several rows"
            if task.windows is not None
            else f"{epochs} epochs of {steps:,} steps"
        )
    )
    with _common.new_folder(args.output) as folder:
        records, best = [], None
        for record, model, predictions in recorded_runs(
            args, task, (train, dev), plan, options, folder,
            patience=args.early_stopping,
        ):  # fmt: skip
            records.append(record)
            if record["diverged"] and len(plan) == 1:
                raise ValueError(record["diverged"])
            if record["diverged"]:
                continue
            if best is None or record["score"] > best["score"]:
                best = record
                shutil.rmtree(folder / "preset", ignore_errors=True)
                model.save_to_preset(folder / "preset")
                labels = getattr(model, "labels", None)
                heads = _tasks.heads_of(model.load_report)
                if task.report is not None:
                    name = next(iter(dev))
                    task.report(dev[name], predictions[name], folder, **options)
        if best is None:
            raise invalid(
                "--learning-rate",
                "a rate at which the loss of some run stays a number",
                args.learning_rate,
            )
        result = {
            "task": task.name,
            "pairs": isinstance(train["x"], tuple),
            **best,
            "labels": labels,
            "heads": heads,
            "summary": summary(records),
            "settings": _tasks.settings_of(args),
        }
        _common.write_json(folder / "result.json", result)
        _report.write_readable(task, result, len(train["ids"]), folder)
    _report.print_figures(task, result["dev"])
    if len(plan) > 1:
        _report.print_summary(task, result["summary"])
    for note in [*heads, *result["notes"]]:
        print(f"note: {note}")
    print(f"\nwritten: {args.output} (report.md is for reading)")
    return result


def recorded_runs(
    args, task, rows, plan, options, folder, patience=None, done=0
):
    """(record, model, predictions) of each run, written as soon as it ends.

    `done` is the number of runs that another call has recorded.
    """
    import keras

    from keras_bert.tasks.runs import run_all
    from keras_bert.training import Progress

    number, total = done, done + len(plan)

    def callbacks():
        """Progress on the screen and the losses of the epochs in a file."""
        name = "metrics.csv" if total == 1 else f"metrics_{number + 1}.csv"
        return [Progress(), keras.callbacks.CSVLogger(str(folder / name))]

    for run in run_all(
        task,
        args.model,
        *rows,
        plan,
        options=options,
        sequence_length=args.sequence_length,
        layers=layers_of(args),
        patience=patience,
        callbacks=callbacks,
    ):
        number += 1
        with open(folder / "runs.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(run[0]) + "\n")
        if total > 1:
            print(_report.run_line(run[0], number, total))
        yield run


def recipe_of(args, task):
    """The named recipe with the task's values and what the user gave."""
    recipe = FINE_TUNING[args.recipe]
    given = {}
    if args.recipe == "default":
        given = {
            "learning_rate": task.learning_rate,
            "batch_size": task.batch_size,
            "epochs": task.epochs,
        }
    if args.learning_rate is not None:
        check_rate(args.learning_rate)
        given["learning_rate"] = args.learning_rate
    if args.batch_size is not None:
        given["batch_size"] = args.batch_size
    if args.epochs is not None:
        given |= {"epochs": args.epochs, "min_steps": 0}
    return dataclasses.replace(recipe, **given)


def check_rate(rate):
    if not 0 < rate < math.inf:
        raise invalid("--learning-rate", "a rate above 0", rate)


def seeds_of(args):
    """(head seed, data seed) of each run."""
    for name in ("seed", "head_seed", "data_seed"):
        if getattr(args, name) is not None:
            _common.check_seed(
                getattr(args, name), "--" + name.replace("_", "-")
            )
    _common.check_seed(args.seed + args.seeds - 1, "--seeds")
    return [
        (
            seed if args.head_seed is None else args.head_seed,
            seed if args.data_seed is None else args.data_seed,
        )
        for seed in range(args.seed, args.seed + args.seeds)
    ]


def layers_of(args):
    from keras_bert.tasks.fine_tune import Layers

    return Layers(
        args.reinitialise_layers, args.layer_decay, args.freeze_layers
    )


def rows_of(data, task, options, seed=1):
    """Training rows, and name -> rows of each dev split.

    Args:
        data: folder with train and dev, or one file.
        task, options: a `Task` and its options.
        seed: int. Draws what is held out of one file.
    """
    by_label = task.score is classification.score
    # Numbers are no classes, of which the lonely ones are learned from.
    by_label = by_label and not options.get("regression")
    if Path(data).is_dir():
        train = task.read(data, "train", **options)
        dev = _tasks.splits_of(task, data, "dev", options)
    else:
        train, held_out = _held_out(
            task.read(data, "train", **options), seed, by_label
        )
        dev = {task.dev[0]: held_out}
    for name, rows in (("training", train), *dev.items()):
        if rows["y"] is None:
            raise invalid("--data", f"{name} rows with labels", str(data))
    for rows in dev.values():
        if isinstance(train["x"], tuple) != isinstance(rows["x"], tuple):
            raise invalid(
                "--data", "the same text columns in train and dev", str(data)
            )
    labels = task.model_arguments(train, **options).get("labels")
    if labels and by_label:
        for rows in dev.values():
            # Else refused by the score, when the training is over.
            classification.as_labels(rows["y"], labels)
    return train, dev


def _held_out(table, seed, by_label):
    """About a tenth of the rows, drawn by the seed, apart from the rest.

    Rows of one group, such as questions on one paragraph, stay together.
    `by_label`: a row whose label no other row has is learned from.
    """
    import numpy as np

    count = len(table["ids"])
    if count < 10:
        raise invalid(
            "--data", "a folder with train and dev, or 10 rows or more", count
        )
    groups = table.get("groups") or range(count)
    names, notes = sorted(set(groups)), table["notes"]
    if len(names) == 1:
        groups = names = range(count)
        notes = [*notes, "all rows stand in one paragraph: what was held out "
                 "is measured on a text that was learned from"]  # fmt: skip
    order = [names[i] for i in np.random.default_rng(seed).permutation(
        len(names))]  # fmt: skip
    sizes = Counter(groups)
    chosen, size = set(), 0
    for name in order[:-1]:
        if size >= max(1, count // 10):
            break
        chosen.add(name)
        size += sizes[name]

    def pick(rows):
        x = table["x"]
        x = (
            tuple([part[i] for i in rows] for part in x)
            if isinstance(x, tuple)
            else [x[i] for i in rows]
        )
        y = table["y"] and [table["y"][i] for i in rows]
        ids = [table["ids"][i] for i in rows]
        return {**table, "x": x, "y": y, "ids": ids, "notes": notes}

    held_out = [group in chosen for group in groups]
    if by_label and table["y"]:
        pairs = list(zip(held_out, table["y"], strict=True))
        learned = {label for held, label in pairs if not held}
        alone = {label for held, label in pairs if held} - learned
        held_out = [held and label not in alone for held, label in pairs]
        if alone:
            names = ", ".join(sorted(map(str, alone)))
            notes = [*notes, f"no other rows had the labels {names}: nothing "
                     "of them is held out"]  # fmt: skip
        if not any(held_out):
            raise invalid(
                "--data",
                "labels that several rows have, or a folder with train and dev",
                f"{count} rows with {len(set(table['y']))} labels",
            )
    train, dev = (
        pick([i for i in range(count) if held_out[i] == side])
        for side in (False, True)
    )
    # What is odd about the file is said once.
    return train, {**dev, "notes": []}
