"""`keras-bert evaluate`: held-out data against a model, beside chance."""

import math
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "measure a model on held-out data"
EXAMPLE = "keras-bert evaluate pretraining --data held_out.txt --model run"
TASKS = ("pretraining", "text")


def add_arguments(parser):
    parser.add_argument("task", choices=TASKS)
    parser.add_argument(
        "--data", nargs="+", required=True, help="files, or a folder with dev"
    )
    parser.add_argument("--model", required=True, help="run or checkpoint")
    parser.add_argument(
        "--sequence-length", type=_common.positive_int, default=128
    )
    parser.add_argument("--text", default="text", help="column of the text")
    parser.add_argument("--text-pair", default="text_pair")
    parser.add_argument("--label", default="label")


def run(args):
    if args.task == "pretraining":
        return _pretraining(args)
    return _text(args)


def _pretraining(args):
    from keras_bert.data import Corpus
    from keras_bert.models import BertPretrainer

    model = BertPretrainer.from_preset(args.model)
    if model.load_report.newly_initialised:
        raise invalid(
            "--model",
            "a checkpoint with the heads of both pretraining tasks (missing: "
            f"{', '.join(model.load_report.newly_initialised)})",
            args.model,
        )
    corpus = Corpus.from_files(args.data, model.tokenizer)
    result = evaluate_pretraining(
        model, corpus, model.tokenizer, args.sequence_length
    )
    print_pretraining(result)
    return result


def _text(args):
    from keras_bert.models import load
    from keras_bert.tasks import text

    model = load(args.model)
    path = Path(args.data[0])
    if path.is_dir():
        path = text.find(path, "dev")
    rows = text.read(path, args.text, args.text_pair, args.label)
    if rows["y"] is None:
        raise invalid("--label", f"a column of {path}", args.label)
    result = evaluate_text(model, rows)
    print_text(result)
    return result


def evaluate_pretraining(model, corpus, tokenizer, sequence_length, limit=200):
    """Masked and next-sentence accuracy on fixed masks, with the chance.

    Args:
        limit: batches of 32 rows at most.
    """
    import numpy as np

    from keras_bert import data

    dataset = data.pretraining_dataset(
        corpus,
        tokenizer,
        sequence_length=sequence_length,
        seed=0,
        next_sentence=model.next_sentence,
        fixed=True,
    ).take(limit)
    scores = model.evaluate(dataset, verbose=0, return_dict=True)
    labels, weights, pairs = [], [], []
    for _, y, weight in dataset.as_numpy_iterator():
        if model.next_sentence:
            pairs.append(y["next_sentence"][weight["next_sentence"] > 0])
            y, weight = y["mask_ids"], weight["mask_ids"]
        labels.append(y)
        weights.append(weight)
    level = data.unigram_level(np.concatenate(labels), np.concatenate(weights))
    prefix = "mask_ids_" if model.next_sentence else ""
    perplexity = scores[prefix + "perplexity"]
    result = {
        "masked_accuracy": accuracy(
            scores[prefix + "accuracy"], level.num_labels, level.accuracy
        ),
        "perplexity": perplexity,
        "masked_lm_loss": math.log(perplexity),
        "unigram_perplexity": math.exp(level.entropy),
    }
    if model.next_sentence:
        pairs = np.concatenate(pairs)
        result["next_sentence_accuracy"] = accuracy(
            scores["next_sentence_accuracy"],
            int(pairs.size),
            float(max(pairs.mean(), 1 - pairs.mean())),
        )
    return result


def evaluate_text(model, rows):
    """Accuracy beside the majority class, or the error of a regression."""
    import numpy as np

    if model.num_classes == 1:
        y = np.asarray(rows["y"], "float32")
        error = float(np.mean((model.predict(rows["x"], verbose=0) - y) ** 2))
        return {
            "mse": error,
            "examples": len(y),
            "mse_of_the_mean": float(np.var(y)),
        }
    found = [one["label"] for one in model.classify(rows["x"])]
    wanted = rows["y"]
    if model.labels is None:
        wanted = [int(label) for label in wanted]
    else:
        wanted = [str(label) for label in wanted]
        unknown = sorted(set(wanted) - set(model.labels))
        if unknown:
            raise invalid("data", f"labels out of {model.labels}", unknown)
    right = sum(a == b for a, b in zip(found, wanted, strict=True))
    _, counts = np.unique(wanted, return_counts=True)
    return {
        "accuracy": accuracy(
            right / len(wanted),
            len(wanted),
            float(counts.max() / len(wanted)),
        )
    }


def accuracy(value, examples, chance):
    """An accuracy with its 95% interval (Wilson) and the chance level."""
    z = 1.96
    centre = (value + z * z / (2 * examples)) / (1 + z * z / examples)
    half = (
        z
        * math.sqrt(value * (1 - value) / examples + z * z / (4 * examples**2))
        / (1 + z * z / examples)
    )
    low, high = centre - half, centre + half
    return {
        "value": float(value),
        "low": low,
        "high": high,
        "chance": chance,
        "examples": examples,
        "verdict": (
            "above chance"
            if low > chance
            else "below chance"
            if high < chance
            else "within its 95% interval of chance"
        ),
    }


def accuracy_row(name, result):
    return (
        name,
        f"{result['value']:.3f}",
        f"{result['low']:.3f}-{result['high']:.3f}",
        f"{result['chance']:.3f}",
        f"{result['examples']:,}",
        result["verdict"],
    )


ACCURACY_HEADER = (
    "held out", "value", "95% interval", "chance", "examples", "verdict",
)  # fmt: skip


def print_pretraining(result):
    rows = [
        ACCURACY_HEADER,
        accuracy_row(
            "masked accuracy (chance: the commonest token)",
            result["masked_accuracy"],
        ),
    ]
    if "next_sentence_accuracy" in result:
        rows.append(
            accuracy_row(
                "next sentence (chance: the commoner answer)",
                result["next_sentence_accuracy"],
            )
        )
    _common.print_table(rows)
    print(
        f"  perplexity of the {result['masked_accuracy']['examples']:,} masked "
        f"tokens: {result['perplexity']:.1f} (knowing only how frequent each "
        f"token is: {result['unigram_perplexity']:.1f})"
    )


def print_text(result):
    if "mse" in result:
        _common.print_table(
            [
                ("held out", "mean squared error", "of the mean", "examples"),
                (
                    "regression",
                    result["mse"],
                    result["mse_of_the_mean"],
                    result["examples"],
                ),
            ]
        )
        return
    _common.print_table(
        [
            ACCURACY_HEADER,
            accuracy_row(
                "accuracy (chance: the largest class)", result["accuracy"]
            ),
        ]
    )
