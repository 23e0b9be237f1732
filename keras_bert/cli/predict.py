"""`keras-bert predict`: predictions for a file, in the official form."""

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli import _tasks
from keras_bert.tasks import text
from keras_bert.tasks.table import TASKS

HELP = "write a prediction for each row of a file"
EXAMPLE = "keras-bert predict text --data new.tsv --model run -o labels.tsv"


def add_arguments(parser):
    _tasks.add_task_arguments(parser)
    parser.add_argument(
        "--data", required=True, help="a file, or a folder with test"
    )
    parser.add_argument(
        "--model", nargs="+", required=True,
        help="run or preset; of several, the ensemble predicts",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, help="file to write")
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)


def run(args):
    path = _common.check_new(args.output)
    task = TASKS[args.task]
    if task is text.TASK and path.suffix not in text.SEPARATORS:
        raise invalid("-o", "a .tsv, .csv or .jsonl file", args.output)
    options = _tasks.options_of(args, task)
    models = [_tasks.model_of(task, source) for source in args.model]
    rows = task.read(args.data, task.test[0], **options)
    found = [
        task.predict(model, rows, batch_size=args.batch_size, **options)
        for model in models
    ]
    predictions = found[0] if len(found) == 1 else task.combine(found)
    with _common.new_file(path) as staging:
        task.write(rows, predictions, staging, **options)
    print(f"written: {path} ({len(rows['ids']):,} rows)")
    return {"rows": len(rows["ids"]), "output": str(path)}
