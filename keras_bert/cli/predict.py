"""`keras-bert predict`: labels for a file of texts."""

import csv
import json

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "write a prediction for each row of a file"
EXAMPLE = "keras-bert predict text --data new.tsv --model run -o labels.tsv"


def add_arguments(parser):
    parser.add_argument("task", choices=("text",))
    parser.add_argument("--data", required=True, help="a table of texts")
    parser.add_argument("--model", required=True, help="run or preset")
    parser.add_argument(
        "-o", "--output", required=True, help=".tsv, .csv or .jsonl file"
    )
    parser.add_argument("--text", default="text", help="column of the text")
    parser.add_argument("--text-pair", default="text_pair")
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)


def run(args):
    from keras_bert.models import load
    from keras_bert.tasks import text

    path = _common.check_new(args.output)
    if path.suffix not in text.SEPARATORS:
        raise invalid("-o", "a .tsv, .csv or .jsonl file", args.output)
    model = load(args.model)
    if not hasattr(model, "classify"):
        raise invalid("--model", "a fine-tuned text classifier", args.model)
    rows = text.read(args.data, args.text, args.text_pair)
    predictions = model.classify(rows["x"], batch_size=args.batch_size)
    with (
        _common.new_file(path) as staging,
        open(staging, "w", encoding="utf-8", newline="") as file,
    ):
        _write(file, path.suffix, rows["ids"], predictions)
    print(f"written: {path} ({len(predictions):,} rows)")
    return {"rows": len(predictions), "output": str(path)}


def _write(file, suffix, ids, predictions):
    if suffix == ".jsonl":
        for index, prediction in zip(ids, predictions, strict=True):
            line = {"index": index, **prediction}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return
    delimiter = "\t" if suffix == ".tsv" else ","
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["index", "label", "score"])
    for index, prediction in zip(ids, predictions, strict=True):
        writer.writerow([index, prediction["label"], prediction["score"]])
