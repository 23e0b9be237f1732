"""The table of tasks as arguments of the command line."""

import contextlib
import re
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks._run_folder import result_of
from keras_bert.tasks.table import TASKS


def add_task_arguments(parser, also=()):
    """TASK and, in a group of their own, the options of single tasks."""
    parser.add_argument(
        "task", choices=(*TASKS, *also), metavar="TASK",
        help=", ".join((*TASKS, *also)),
    )  # fmt: skip
    added = {}
    for task in TASKS.values():
        for name, arguments in task.options.items():
            added.setdefault(name, (arguments, []))[1].append(task.name)
    group = parser.add_argument_group("of single tasks")
    for name, (arguments, tasks) in added.items():
        arguments = {**arguments, "default": None}
        arguments["help"] = f"{arguments.get('help', '')} ({', '.join(tasks)})"
        group.add_argument("--" + name.replace("_", "-"), **arguments)


def options_of(args, task, run=None):
    """The options of a task with its defaults; others are refused.

    Those that a task keeps come from the run folder, if there is one.
    """
    known = {name for one in TASKS.values() for name in one.options}
    for name in sorted(known - set(task.options)):
        value = getattr(args, name)
        if value is not None:
            raise invalid(
                "--" + name.replace("_", "-"),
                f"no such option with the task {task.name}",
                value,
            )
    settings = {}
    if run is not None and task.kept:
        settings = result_of(run).get("settings", {})
    found = {}
    for name, arguments in task.options.items():
        found[name] = getattr(args, name)
        if found[name] is None and name in task.kept:
            found[name] = settings.get(name)
        if found[name] is None:
            found[name] = arguments.get("default")
    return found


@contextlib.contextmanager
def named_as_options(args):
    """Errors of the library with the names of the command line.

    The library says "argument `label`" of what the user knows as `--label`,
    and `file` and `source` of what came with `--data` and `--model`.
    """
    others = {name for one in TASKS.values() for name in one.options}
    task = getattr(args, "task", None)
    if task in TASKS:
        others -= set(TASKS[task].options)
    names = set(vars(args)) - others

    def option(found):
        name = {"file": "data", "source": "model"}.get(found[1], found[1])
        if name not in names:
            return found[0]
        # The task is no option: it stands after the verb.
        name = {"output": "-o", "task": "TASK"}.get(
            name, "--" + name.replace("_", "-")
        )
        return f"argument `{name}`"

    try:
        yield
    except ValueError as error:
        message = re.sub(r"argument `(\w+)`", option, str(error))
        raise ValueError(message) from error


def heads_of(report):
    """Sentences on the heads that were dropped and newly drawn."""
    found = []
    if report.unused:
        found.append(f"dropped from the checkpoint: {', '.join(report.unused)}")
    if report.newly_initialised:
        new = ", ".join(report.newly_initialised)
        found.append(f"newly initialised: {new}")
    return found


def settings_of(args):
    """What stands in result.json: the options that were in force."""
    return {
        name: value
        for name, value in vars(args).items()
        if name not in ("run", "json", "verb")
    }


def model_of(task, source):
    """A fine-tuned model of the class that a task has."""
    from keras_bert import models

    model = models.load(source)
    if not isinstance(model, getattr(models, task.model)):
        raise invalid(
            "--model",
            f"a model fine-tuned for {task.name}, a {task.model}",
            f"{source}, a {type(model).__name__}",
        )
    if model.preprocessor is None:
        raise invalid("--model", "a model with its vocabulary", str(source))
    return model


def models_of(task, sources):
    """The models of --model; several only where the task has an ensemble."""
    if len(sources) > 1 and task.combine is None:
        raise invalid(
            "--model", f"one model ({task.name} has no ensemble)", sources
        )
    for source in sources:
        other = result_of(source).get("task", task.name)
        if other != task.name and (other, task.name) != ("mnli", "ax"):
            print(f"note: {source} was fine-tuned for {other}")
    return [model_of(task, source) for source in sources]


def as_trained(run, rows, data):
    """The rows with the text columns that a run was trained on."""
    pairs = result_of(run).get("pairs")
    if pairs is None or pairs == isinstance(rows["x"], tuple):
        return rows
    if pairs:
        raise invalid(
            "--data", f"two texts a row, as {run} was trained on", str(data)
        )
    note = f"{run} was trained on single texts: the second column is left out"
    return {**rows, "x": rows["x"][0], "notes": [*rows["notes"], note]}


def print_notes(*splits):
    """What is odd about the files that rows were read from."""
    for rows in splits:
        for note in rows["notes"]:
            print(f"note: {note}")


def predictions_of(task, models, rows, batch_size, options):
    """What one model, or the ensemble of several, predicts."""
    from keras_bert.training import Progress

    found = [
        task.predict(
            model,
            rows,
            batch_size=batch_size,
            callbacks=[Progress(label="predicting: step")],
            **options,
        )
        for model in models
    ]
    return found[0] if len(found) == 1 else task.combine(found)


def splits_of(task, data, kind, options):
    """Name of a split -> its rows, for "dev" or "test".

    A file is one split; in a folder there may be several.
    """
    names = getattr(task, kind)
    if not Path(data).is_dir():
        # By the last word: dev_mismatched, multinli_1.0_dev_mismatched.
        word = re.split("[_.-]", Path(data).stem)[-1]
        named = [name for name in names if name.split("_")[-1] == word]
        names = named or names[:1]
    return {name: task.read(data, name, **options) for name in names}
