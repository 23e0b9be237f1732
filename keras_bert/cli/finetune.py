"""`keras-bert finetune`: labelled data to a task model."""

import dataclasses
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _report
from keras_bert.cli import _tasks
from keras_bert.tasks.table import TASKS
from keras_bert.training.recipe import FINE_TUNING

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
    parser.add_argument(
        "--recipe", choices=tuple(FINE_TUNING), default="default"
    )
    parser.add_argument(
        "--epochs",
        type=_common.positive_int,
        help="without it: 3, or as many as give 1,000 steps",
    )
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--batch-size", type=_common.positive_int)
    parser.add_argument("--sequence-length", type=_common.positive_int)
    parser.add_argument("--seed", type=int, default=1)


def run(args):
    import keras

    from keras_bert.tasks.fine_tune import fine_tune
    from keras_bert.tasks.fine_tune import new_model
    from keras_bert.training import Progress

    _common.check_new(args.output)
    _common.check_seed(args.seed)
    task = TASKS[args.task]
    options = _tasks.options_of(args, task)
    recipe = _recipe(args, task)
    train, dev = _rows(args, task, options)
    model = new_model(
        task, args.model, train, options, args.sequence_length, args.seed
    )
    epochs, steps = recipe.epochs_for(len(train["ids"]))
    held_out = sum(len(rows["ids"]) for rows in dev.values())
    print(
        f"{len(train['ids']):,} rows to learn from, {held_out:,} held out; "
        f"{epochs} epochs of {steps:,} steps"
    )
    with _common.new_folder(args.output) as folder:
        figures, _ = fine_tune(
            task,
            model,
            train,
            dev,
            recipe,
            options=options,
            seed=args.seed,
            callbacks=[
                Progress(),
                keras.callbacks.CSVLogger(str(folder / "metrics.csv")),
            ],
        )
        result = {
            "task": task.name,
            **figures,
            "labels": getattr(model, "labels", None),
            "settings": _tasks.settings_of(args),
        }
        model.save_to_preset(folder / "preset")
        _common.write_json(folder / "result.json", result)
    _report.print_figures(task, result["dev"])
    for note in result["notes"]:
        print(f"note: {note}")
    print(f"\nwritten: {args.output}")
    return result


def _recipe(args, task):
    """The named recipe with the task's values and what the user gave."""
    recipe = FINE_TUNING[args.recipe]
    if args.recipe == "default":
        recipe = dataclasses.replace(
            recipe,
            learning_rate=task.learning_rate,
            batch_size=task.batch_size,
            epochs=task.epochs,
        )
    if args.learning_rate is not None:
        if not args.learning_rate > 0:
            raise invalid(
                "--learning-rate", "a rate above 0", args.learning_rate
            )
        recipe = dataclasses.replace(recipe, learning_rate=args.learning_rate)
    if args.batch_size is not None:
        recipe = dataclasses.replace(recipe, batch_size=args.batch_size)
    if args.epochs is not None:
        recipe = dataclasses.replace(recipe, epochs=args.epochs, min_steps=0)
    return recipe


def _rows(args, task, options):
    if Path(args.data).is_dir():
        train = task.read(args.data, "train", **options)
        dev = _tasks.splits_of(task, args.data, "dev", options)
    else:
        train, held_out = _held_out(
            task.read(args.data, "train", **options), args.seed
        )
        dev = {task.dev[0]: held_out}
    for rows in dev.values():
        if isinstance(train["x"], tuple) != isinstance(rows["x"], tuple):
            raise invalid(
                "--data", "the same text columns in train and dev", args.data
            )
    return train, dev


def _held_out(table, seed):
    """A tenth of the rows, drawn by the seed, apart from the rest."""
    import numpy as np

    count = len(table["ids"])
    if count < 10:
        raise invalid(
            "--data", "a folder with train and dev, or 10 rows or more", count
        )
    order = np.random.default_rng(seed).permutation(count)
    border = max(1, count // 10)

    def pick(rows):
        x = table["x"]
        x = (
            tuple([part[i] for i in rows] for part in x)
            if isinstance(x, tuple)
            else [x[i] for i in rows]
        )
        y = table["y"] and [table["y"][i] for i in rows]
        return {**table, "x": x, "y": y, "ids": [table["ids"][i] for i in rows]}

    return pick(sorted(order[border:])), pick(sorted(order[:border]))
