"""`keras-bert evaluate`: held-out data against one model or several."""

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _evaluate_pretraining
from keras_bert.cli import _glue
from keras_bert.cli import _report
from keras_bert.cli import _tasks
from keras_bert.tasks.table import TASKS

HELP = "measure a model on held-out data"
EXAMPLE = "keras-bert evaluate pretraining --data held_out.txt --model run"


def add_arguments(parser):
    _tasks.add_task_arguments(parser, also=("glue", "pretraining"))
    parser.add_argument(
        "--data",
        nargs="+",
        help="files, or a folder with dev (not for glue, whose table is made "
        "of run folders)",
    )
    parser.add_argument(
        "--model",
        nargs="+",
        required=True,
        help="run or checkpoint; of several, the ensemble is measured",
    )
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)
    parser.add_argument(
        "--sequence-length",
        type=_common.positive_int,
        help="for pretraining (128); other tasks keep the length of the model",
    )


def run(args):
    with _tasks.named_as_options(args):
        return _run(args)


def _run(args):
    if args.task == "glue":
        return _glue.evaluate(args)
    if not args.data:
        raise invalid("--data", f"files for the task {args.task}", args.data)
    if args.task == "pretraining":
        return _evaluate_pretraining.run(args)
    task = TASKS[args.task]
    if args.sequence_length is not None:
        raise invalid(
            "--sequence-length", "none but for pretraining",
            args.sequence_length,
        )  # fmt: skip
    if len(args.data) > 1:
        raise invalid("--data", "one file or folder", args.data)
    options = _tasks.options_of(args, task, args.model[0])
    models = _tasks.models_of(task, args.model)
    splits = _tasks.splits_of(task, args.data[0], "dev", options)
    result = {}
    for name, rows in splits.items():
        rows = _tasks.as_trained(args.model[0], rows, args.data[0])
        _tasks.print_notes(rows)
        if rows["y"] is None:
            raise invalid("--data", "rows with labels", args.data[0])
        predictions = _tasks.predictions_of(
            task, models, rows, args.batch_size, options
        )
        figures = task.score(rows, predictions, **options)
        result = figures if not result else {**result, name: figures}
    _report.print_figures(task, result, next(iter(splits)))
    return result
