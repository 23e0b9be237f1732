"""What every task of classes and numbers shares: predict, score, write.

Predictions are a dict: `labels` (names in the order of the columns, or None
for regression), `scores` (float array: probabilities `[rows, classes]`, or
the values `[rows]`) and `predicted` (a label or a float per row).
"""

import csv
import json
import math
from pathlib import Path

import numpy as np

from keras_bert._errors import invalid
from keras_bert.tasks._accuracy import accuracy
from keras_bert.tasks._run_folder import in_json

# The least score of a regression, and that of a model that has diverged:
# results are JSON, which has neither NaN nor infinity.
WORST = -1e9


def predict(model, rows, batch_size=32, callbacks=None, **_):
    """Probabilities and labels of a text classifier, or its values."""
    if not hasattr(model, "classify"):
        raise invalid(
            "model", "a fine-tuned text classifier", type(model).__name__
        )
    results = model.predict(
        rows["x"], batch_size=batch_size, verbose=0, callbacks=callbacks
    )
    if model.num_classes == 1:
        return of_scores(None, np.asarray(results, "float64"))
    labels = model.labels or list(range(model.num_classes))
    if model._output_name == "logits":
        results = softmax(results)
    return of_scores(labels, results)


def softmax(logits):
    """Probabilities, counted in float64."""
    logits = np.asarray(logits, "float64")
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def of_scores(labels, scores):
    """Predictions from their scores."""
    if labels is None:
        predicted = [float(value) for value in scores]
    else:
        predicted = [labels[i] for i in np.argmax(scores, axis=-1)]
    return {"labels": labels, "scores": scores, "predicted": predicted}


def combine(several):
    """The ensemble: mean of the probabilities (or values)."""
    labels = several[0]["labels"]
    for one in several[1:]:
        if one["labels"] != labels:
            raise invalid("model", f"models of the labels {labels}",
                          one["labels"])  # fmt: skip
    return of_scores(labels, np.mean([one["scores"] for one in several], 0))


def score(rows, predictions, **_):
    """Accuracy beside the majority class, or the error of a regression.

    The score of a regression is at least `WORST`, and that where the error is
    not finite; `mse` is then `None`.
    """
    y, labels = rows["y"], predictions["labels"]
    if labels is None:
        y = np.asarray(y, "float64")
        with np.errstate(over="ignore"):
            error = float(np.mean((predictions["scores"] - y) ** 2))
        spread = float(np.var(y))
        # The share of the variance that is explained.
        share = 1 - error / spread if spread else 0.0
        finite = math.isfinite(error)
        return {
            "mse": error if finite else None,
            "examples": len(y),
            "mse_of_the_mean": spread,
            "score": max(share, WORST) if finite else WORST,
        }
    wanted = as_labels(y, labels)
    right = sum(
        a == b for a, b in zip(predictions["predicted"], wanted, strict=True)
    )
    _, counts = np.unique(wanted, return_counts=True)
    return {
        "accuracy": accuracy(
            right / len(wanted),
            len(wanted),
            float(counts.max() / len(wanted)),
        ),
        "score": right / len(wanted),
    }


def as_labels(y, labels):
    """Gold labels in the form of the model's, unknown ones refused."""
    kind = int if isinstance(labels[0], int) else str
    try:
        wanted = [kind(label) for label in y]
    except ValueError:
        raise invalid("label", f"numbers out of {labels}", y) from None
    unknown = sorted(set(wanted) - set(labels))
    if unknown:
        first = wanted.index(unknown[0])
        raise invalid(
            "label",
            f"labels out of {labels}, those of the training rows (see row "
            f"{first} of the held-out ones)",
            unknown,
        )
    return wanted


def report(rows, predictions, folder, **_):
    """confusion.tsv and misread.jsonl, the surest mistakes first."""
    folder, labels = Path(folder), predictions["labels"]
    x = rows["x"] if isinstance(rows["x"], tuple) else (rows["x"],)
    wanted = rows["y"] if labels is None else as_labels(rows["y"], labels)
    if labels is None:
        order = np.argsort(-np.abs(predictions["scores"] - np.array(wanted)))
    else:
        confusion(wanted, predictions["predicted"], labels, folder)
        order = np.argsort(-predictions["scores"].max(-1), kind="stable")
    with open(folder / "misread.jsonl", "w", encoding="utf-8") as file:
        for i in order:
            if predictions["predicted"][i] == wanted[i]:
                continue
            line = {
                "index": rows["ids"][i],
                "label": wanted[i],
                "predicted": in_json(predictions["predicted"][i]),
            }
            if labels is not None:
                best = predictions["scores"][i].max()
                line["probability"] = in_json(float(best))
            names = ("text", "text_pair")
            line |= {
                name: part[i] for name, part in zip(names, x, strict=False)
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def confusion(wanted, predicted, labels, folder):
    """A table of counts: a row per gold label, a column per prediction."""
    places = {label: i for i, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), int)
    for gold, found in zip(wanted, predicted, strict=True):
        counts[places[gold], places[found]] += 1
    lines = ["\t".join(["gold \\ predicted", *map(str, labels)])]
    lines += [
        "\t".join([str(label), *map(str, row)])
        for label, row in zip(labels, counts, strict=True)
    ]
    path = Path(folder) / "confusion.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(rows, predictions, path, **_):
    """A .tsv, .csv or .jsonl table: index, label, score."""
    path = Path(path)
    regression = predictions["labels"] is None
    best = predictions["scores"]
    best = best if regression else best.max(axis=-1)
    lines = [
        {
            "index": index,
            "label": None if regression else label,
            "score": in_json(float(value)),
        }
        for index, label, value in zip(
            rows["ids"], predictions["predicted"], best, strict=True
        )
    ]
    with open(path, "w", encoding="utf-8", newline="") as file:
        if ".jsonl" in path.suffixes:
            for line in lines:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        else:
            writer = csv.DictWriter(
                file,
                ("index", "label", "score"),
                delimiter="," if ".csv" in path.suffixes else "\t",
                lineterminator="\n",
            )
            writer.writeheader()
            writer.writerows(lines)
    return [path]
