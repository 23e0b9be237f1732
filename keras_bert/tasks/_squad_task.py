"""SQuAD 1.1 and 2.0 as entries of the table of tasks."""

import functools
import json
import re
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import _squad_labels as labels
from keras_bert.tasks import _squad_metrics as metrics
from keras_bert.tasks import _squad_predictions as answers
from keras_bert.tasks import classification
from keras_bert.tasks import squad
from keras_bert.tasks.task import Task


def find(data, split, version):
    """The file of a split in a folder (`dev-v1.1.json`), or the file."""
    path = Path(data)
    if not path.is_dir():
        return path
    names = sorted(file.name for file in path.glob("*.json"))
    found = [name for name in names if split in name]
    if len(found) > 1:
        # Both versions may stand in one folder: train-v1.1, train-v2.0.
        found = [name for name in found if version in name] or found
    if len(found) != 1:
        raise invalid(
            "data",
            f"a folder with one .json file whose name holds {split}",
            f"{data} ({', '.join(found or names) or 'none'})",
        )
    return path / found[0]


def _read(data, split, second, **_):
    file = find(data, split, "v2" if second else "v1")
    rows, places, impossible = squad.read_with_places(file, split)
    rows["groups"] = _groups(places)
    if second or rows["y"] is None:
        return rows
    if split != "train":
        without = [key for key, gold in zip(rows["ids"], rows["y"], strict=True)
                   if not gold]  # fmt: skip
        if without:
            rows["notes"].append(
                f"{len(without)} questions have no answer, which squad-v1 "
                f"never says: {squad.named(without)}"
            )
        return rows
    if impossible:
        raise invalid(
            "data",
            "an answer to every question, or the task squad-v2",
            f"{len(impossible)} of {file} without: {squad.named(impossible)}",
        )
    return _answered(rows, file)


def _answered(rows, file):
    """The questions with an answer: TriviaQA has some without."""
    kept = [number for number, gold in enumerate(rows["y"]) if gold]
    if len(kept) == len(rows["y"]):
        return rows
    if not kept:
        raise invalid(
            "data",
            f"an answer to some question of {file}, or the task squad-v2",
            f"none for {squad.named(rows['ids'])}",
        )
    left_out = sorted(set(range(len(rows["y"]))) - set(kept))
    note = (
        f"{len(left_out)} questions without an answer were left out: "
        + squad.named([rows["ids"][number] for number in left_out])
    )
    return {
        **rows,
        "x": tuple([part[i] for i in kept] for part in rows["x"]),
        **{name: [rows[name][i] for i in kept]
           for name in ("y", "ids", "groups")},
        "notes": [*rows["notes"], note],
    }  # fmt: skip


def _windows(model, rows):
    """The windows of all questions; what does not fit is named by its id."""
    try:
        return model.preprocessor.windows(*rows["x"])
    except ValueError as error:
        message = re.sub(
            r"question (\d+)",
            lambda found: f"question {rows['ids'][int(found[1])]}",
            str(error),
        )
        raise ValueError(message) from error


def _groups(places):
    """The article of each question; the paragraph, of few articles."""
    articles, paragraphs = map(list, zip(*places, strict=True))
    # A tenth is held out: of fewer than ten articles that would be too much.
    return articles if len(set(articles)) >= 10 else paragraphs


def _predict(model, rows, second, batch_size=32, callbacks=None, **options):
    given = _given(options)
    settings = model.preprocessor
    if given != {name: getattr(settings, name) for name in given}:
        settings = type(settings).from_config(
            {**settings.get_config(), **given}
        )
        model.preprocessor = settings
    ranked = model.predict_n_best(
        rows["x"], batch_size=batch_size, verbose=0, callbacks=callbacks
    )
    threshold = settings.null_threshold
    return answers.predictions_of(
        rows["ids"],
        ranked,
        settings.n_best,
        0.0 if threshold is None else threshold,
        second,
    )


def _score(rows, predictions, second, f1_unit="words", **_):
    golds = {
        key: [answer["text"] for answer in gold]
        for key, gold in zip(rows["ids"], rows["y"], strict=True)
    }
    texts = answers.texts(predictions)
    result = squad.score(golds, texts, None, 1.0, second, f1_unit)
    if second:
        result |= metrics.best_thresholds(
            golds, texts, predictions["null_odds"], f1_unit
        )
        result |= answers.tuned(predictions, golds, f1_unit)
        result["null_threshold"] = predictions["threshold"]
    return result


def _tune(model, predictions, figures, null_threshold=None, **_):
    """The threshold of the best F1, for the model and its predictions."""
    if null_threshold is not None:
        return predictions
    threshold = float(figures["tuned_f1_threshold"])
    model.preprocessor.null_threshold = threshold
    return {**predictions, "threshold": threshold}


def _settings(second, **options):
    return {"null_threshold": 0.0 if second else None, **_given(options)}


def _given(options):
    """Settings of the preprocessor that the user gave; others are kept."""
    names = (
        "doc_stride", "max_query_length", "n_best", "max_answer_length",
        "null_threshold",
    )  # fmt: skip
    return {
        name: options[name] for name in names if options.get(name) is not None
    }


def _report(rows, predictions, folder, second, f1_unit="words", **_):
    """misread.jsonl: the questions without an exact match, worst first.

    For SQuAD 2.0 also confusion.tsv: who has an answer, and who got one.
    """
    if rows["y"] is None:
        return
    found = answers.texts(predictions)
    if second:
        kinds = ("no answer", "an answer")
        classification.confusion(
            [kinds[bool(gold)] for gold in rows["y"]],
            [kinds[bool(found[key])] for key in rows["ids"]],
            kinds,
            folder,
        )
    lines = []
    for number, key in enumerate(rows["ids"]):
        golds = {key: [answer["text"] for answer in rows["y"][number]]}
        exact, f1 = metrics.raw_scores(golds, found, f1_unit)
        if not exact[key]:
            lines.append(
                {
                    "id": key,
                    "f1": f1[key],
                    "question": rows["x"][0][number],
                    "answers": golds[key],
                    "prediction": found[key],
                }
            )
    lines.sort(key=lambda line: line["f1"])
    path = Path(folder) / "misread.jsonl"
    path.write_text(
        "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines),
        encoding="utf-8",
    )


def _task(name, second, **arguments):
    def bound(function):
        return functools.partial(function, second=second)

    return Task(
        name=name,
        model="BertQuestionAnswerer",
        read=bound(_read),
        predict=bound(_predict),
        score=bound(_score),
        write=lambda rows, found, path, **_: answers.write(found, path),
        combine=answers.combined,
        report=bound(_report),
        windows=_windows,
        check=lambda model, rows: labels.notes(model.preprocessor, rows),
        preprocessor_arguments=bound(_settings),
        kept=("f1_unit",),
        sequence_length=384,
        learning_rate=5e-5,
        writes_folder=True,
        **arguments,
    )


_OPTIONS = {
    "doc_stride": {
        "type": int,
        "help": "how far the start of a window moves (new models: 128, or a "
        "third of the sequence length where that is less)",
    },
    "max_query_length": {
        "type": int,
        "help": "longer questions are cut (new models: 64 tokens, or half of "
        "the sequence length)",
    },
    "n_best": {
        "type": int,
        "help": "starts and ends that are combined, and answers that are "
        "kept (new models: 20)",
    },
    "max_answer_length": {
        "type": int,
        "help": "most tokens in an answer (new models: 30)",
    },
    "f1_unit": {
        "default": "words",
        "choices": metrics.UNITS,
        "help": "characters: each Chinese character counts as a word",
    },
}
_NULL_THRESHOLD = {
    "type": float,
    "help": 'a question gets "" when its null odds exceed this (finetune '
    "finds the value of the best F1 on dev)",
}
# Batches and rates of Devlin et al. (2018), sections 4.2 and 4.3; there 2.0
# was trained for 2 epochs.
TASKS = (
    _task("squad-v1", False, metric="f1", options=_OPTIONS),
    _task(
        "squad-v2",
        True,
        metric="tuned_f1",
        tune=_tune,
        options={**_OPTIONS, "null_threshold": _NULL_THRESHOLD},
        batch_size=48,
    ),
)
