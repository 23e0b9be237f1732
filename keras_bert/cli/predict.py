"""`keras-bert predict`: predictions for a file, in the official form."""

from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _glue
from keras_bert.cli import _tasks
from keras_bert.tasks import classification
from keras_bert.tasks import text
from keras_bert.tasks.table import TASKS

HELP = "write a prediction for each row of a file"
EXAMPLE = "keras-bert predict text --data new.tsv --model run -o labels.tsv"


def add_arguments(parser):
    _tasks.add_task_arguments(parser, also=("glue",))
    parser.add_argument(
        "--data", required=True, help="a file, or a folder with test"
    )
    parser.add_argument(
        "--model",
        nargs="+",
        required=True,
        help="run or preset; of several, the ensemble predicts. For glue: "
        "one run per data set",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        help="file to write, or folder for files with the official names; "
        "for glue a .zip",
    )
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)


def run(args):
    with _tasks.named_as_options(args):
        return _glue.predict(args) if args.task == "glue" else _run(args)


def _run(args):
    path = _common.check_new(args.output)
    task = TASKS[args.task]
    in_table = task.write is classification.write
    if in_table and path.suffix not in text.SEPARATORS:
        raise invalid("-o", "a .tsv, .csv or .jsonl file", args.output)
    if task.writes_folder and path.suffix == ".json":
        raise invalid(
            "-o", f"a folder, for the files of {task.name}", args.output
        )
    options = _tasks.options_of(args, task, args.model[0])
    models = _tasks.models_of(task, args.model)
    splits = _tasks.splits_of(task, args.data, "test", options)
    # Official names, where the task has them and the user gave a folder.
    names = {} if path.suffix else task.files
    if len(splits) > 1 and not names:
        raise invalid(
            "-o", f"a folder, for the {len(splits)} files of {task.name}",
            args.output,
        )  # fmt: skip
    count = 0
    in_folder = names or task.writes_folder
    if path.is_dir() and not in_folder:
        raise invalid("-o", f"a file, which {task.name} writes", args.output)
    new = _common.new_folder if in_folder else _common.new_file
    with new(path) as staging:
        for split, rows in splits.items():
            rows = _tasks.as_trained(args.model[0], rows, args.data)
            predictions = _tasks.predictions_of(
                task, models, rows, args.batch_size, options
            )
            target = Path(staging)
            if names:
                target /= names[split]
            task.write(rows, predictions, target, **options)
            count += len(rows["ids"])
            _tasks.print_notes(rows)
    print(f"written: {path} ({count:,} rows)")
    return {"rows": count, "output": str(path)}
