"""`keras-bert finetune`: a table of texts and labels to a task model."""

import math
import time
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli.evaluate import evaluate_text
from keras_bert.cli.evaluate import print_text

HELP = "fine-tune a model on labelled data"
EXAMPLE = "keras-bert finetune text --data reviews --model run -o classifier"
# Without --epochs: three epochs, but not fewer updates than this, since
# small data sets need the steps (Mosbach et al., 2021).
_STEPS_AT_LEAST = 1000


def add_arguments(parser):
    parser.add_argument("task", choices=("text",))
    parser.add_argument(
        "--data",
        required=True,
        help="folder with train and dev (.tsv, .csv or .jsonl), or one file, "
        "of which a tenth is held out",
    )
    parser.add_argument("--model", required=True, help="run or checkpoint")
    parser.add_argument("-o", "--output", required=True, help="run folder")
    parser.add_argument(
        "--epochs",
        type=_common.positive_int,
        help="without it: 3, or as many as give 1,000 steps",
    )
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--batch-size", type=_common.positive_int, default=32)
    parser.add_argument(
        "--sequence-length", type=_common.positive_int, default=128
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="text", help="column of the text")
    parser.add_argument("--text-pair", default="text_pair")
    parser.add_argument("--label", default="label")
    parser.add_argument(
        "--regression", action="store_true", help="the label is a number"
    )


def run(args):
    import keras

    from keras_bert.models import BertTextClassifier
    from keras_bert.models import BertTextClassifierPreprocessor
    from keras_bert.tokenizers import BertTokenizer
    from keras_bert.training import Progress

    _common.check_new(args.output)
    if not args.learning_rate > 0:
        raise invalid("--learning-rate", "a rate above 0", args.learning_rate)
    _common.check_seed(args.seed)
    train, dev = _rows(args)
    keras.utils.set_random_seed(args.seed)
    preprocessor = BertTextClassifierPreprocessor(
        BertTokenizer.from_preset(args.model),
        sequence_length=args.sequence_length,
    )
    if args.regression:
        for rows in (train, dev):
            rows["y"] = [_number(value) for value in rows["y"]]
        model = BertTextClassifier.from_preset(
            args.model, num_classes=1, preprocessor=preprocessor
        )
    else:
        for rows in (train, dev):
            rows["y"] = [str(label) for label in rows["y"]]
        labels = sorted(set(train["y"]))
        if len(labels) < 2:
            raise invalid("--data", "at least two different labels", labels)
        unseen = sorted(set(dev["y"]) - set(labels))
        if unseen:
            raise invalid(
                "--data", f"dev labels that train has ({labels})", unseen
            )
        model = BertTextClassifier.from_preset(
            args.model, labels=labels, preprocessor=preprocessor
        )
    model.compile(learning_rate=args.learning_rate)
    steps = math.ceil(len(train["y"]) / args.batch_size)
    epochs = args.epochs or max(3, math.ceil(_STEPS_AT_LEAST / steps))
    print(
        f"{len(train['y']):,} rows to learn from, {len(dev['y']):,} held out; "
        f"{epochs} epochs of {steps:,} steps"
    )
    with _common.new_folder(args.output) as folder:
        started = time.monotonic()
        history = model.fit(
            train["x"],
            train["y"],
            batch_size=args.batch_size,
            epochs=epochs,
            verbose=0,
            callbacks=[
                Progress(epochs * steps),
                keras.callbacks.CSVLogger(str(folder / "metrics.csv")),
            ],
        ).history
        result = {
            "task": args.task,
            "epochs": epochs,
            "steps": epochs * steps,
            "seconds": time.monotonic() - started,
            "labels": model.labels,
            "train_loss": history["loss"][-1],
            "dev": evaluate_text(model, dev),
            "settings": {
                name: value
                for name, value in vars(args).items()
                if name not in ("run", "json", "verb")
            },
        }
        model.save_to_preset(folder / "preset")
        _common.write_json(folder / "result.json", result)
    print_text(result["dev"])
    print(f"\nwritten: {args.output}")
    return result


def _rows(args):
    from keras_bert.tasks import text

    columns = (args.text, args.text_pair, args.label)
    if Path(args.data).is_dir():
        tables = [
            text.read(text.find(args.data, split), *columns)
            for split in ("train", "dev")
        ]
    else:
        tables = _held_out(text.read(args.data, *columns), args.seed)
    for table in tables:
        if table["y"] is None:
            raise invalid("--label", "a column of the data", args.label)
        if "" in table["y"]:
            raise invalid(
                "--data",
                f"a label in every row (row {table['y'].index('')} has none)",
                args.data,
            )
    if isinstance(tables[0]["x"], tuple) != isinstance(tables[1]["x"], tuple):
        raise invalid(
            "--data", "the same text columns in train and dev", args.data
        )
    return tables


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
        return {"x": x, "y": y, "ids": list(rows)}

    return pick(sorted(order[border:])), pick(sorted(order[:border]))


def _number(value):
    try:
        return float(value)
    except ValueError:
        raise invalid("--label", "numbers with --regression", value) from None
