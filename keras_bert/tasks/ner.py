"""Named entities: words and tags in columns, scored as conlleval does."""

import json
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import _conll
from keras_bert.tasks import _entities
from keras_bert.tasks import classification
from keras_bert.tasks.task import Task

CONTEXTS = ("sentence", "document")
_SPLITS = {
    "train": ("train",),
    "dev": ("dev", "valid", "testa"),
    "test": ("testb", "test"),
}


def read(file, scheme=None):
    """The sentences of a file in columns.

    The first column is the word, the last one the tag; columns stand between
    tabs or spaces. A line that is blank, or holds only tabs or spaces, ends a
    sentence, and so does one that begins with -DOCSTART-.

    Args:
        file: path.
        scheme: `None` leaves the tags as they are; "iob1", "iob2" or "bioes"
            converts them, from whatever scheme they are in.

    Returns `(words, tags)`, a list of lists each; `tags` is `None` for a file
    with words alone.

    Raises:
        ValueError: naming the file, the line and what was expected.
    """
    sentences = _conll.read(file)
    return sentences.words, convert(sentences.tags, scheme)


def convert(tags, scheme):
    """The tags of sentences in another scheme; see `read`."""
    if scheme is None or tags is None:
        return tags
    if scheme not in _entities.SCHEMES:
        raise invalid("scheme", f"None or one of {_entities.SCHEMES}", scheme)
    return [_entities.convert(sentence, scheme) for sentence in tags]


def evaluate(gold, predicted):
    """Entities found, as conlleval counts them: same place and same type.

    Neighbours with the same tag without a prefix are one entity.

    Args:
        gold, predicted: lists of sentences, each a list of tags in any
            scheme.

    Returns a dict in percent: `precision`, `recall`, `f1` and the `accuracy`
    of single tags; the counts `gold`, `found` and `correct`; and `types`, per
    type of entity the same without the accuracy.

    Raises:
        ValueError: if the numbers of sentences or of tags differ.
    """
    for name, tags in (("gold", gold), ("predicted", predicted)):
        if not isinstance(tags, list | tuple) or not all(
            isinstance(one, list | tuple)
            and all(isinstance(tag, str) for tag in one)
            for one in tags
        ):
            raise invalid(
                name, "a list of sentences, each a list of tags", tags
            )
    if len(gold) != len(predicted):
        raise invalid("predicted", f"{len(gold)} sentences", len(predicted))
    for number, (one, other) in enumerate(zip(gold, predicted, strict=True)):
        if len(one) != len(other):
            raise invalid(
                "predicted", f"{len(one)} tags in sentence {number}", len(other)
            )
    return _entities.scores(gold, predicted)


def find(data, split):
    """The file of a split in a folder, or the file itself."""
    path = Path(data)
    if not path.is_dir():
        return path
    names = sorted(file.name for file in path.iterdir() if file.is_file())
    for word in _SPLITS.get(split, (split,)):
        found = [name for name in names if word in name.lower()]
        if word == "test":
            found = [name for name in found if "testa" not in name.lower()]
        if len(found) == 1:
            return path / found[0]
        if found:
            raise invalid("data", f"one file for {split}", ", ".join(found))
    raise invalid(
        "data",
        f"a folder with a file whose name holds "
        f"{' or '.join(_SPLITS.get(split, (split,)))}",
        f"{data} ({', '.join(names) or 'empty'})",
    )


def _read(data, split, context="sentence", scheme=None, **_):
    """Rows of sentences, or of whole documents cut back by `lengths`."""
    file = find(data, split)
    sentences = _conll.read(file)
    tags = convert(sentences.tags, scheme)
    words, documents = sentences.words, sentences.documents
    notes = []
    if sentences.comments:
        notes.append(f"{sentences.comments:,} lines of comment in {file}")
    if context == "document":
        if documents[-1] == 0:
            raise invalid(
                "context", f"sentence, as {file} has no -DOCSTART- lines",
                context,
            )  # fmt: skip
    else:
        documents = range(len(words))
    x, y, lengths = [], [], []
    before = None
    for number, document in enumerate(documents):
        if document != before:
            x.append([])
            y.append([])
            lengths.append([])
        before = document
        x[-1] += words[number]
        y[-1] += tags[number] if tags else []
        lengths[-1].append(len(words[number]))
    ids = list(range(len(x)))
    return {
        "x": x,
        "y": y if tags else None,
        "ids": ids,
        "lengths": dict(zip(ids, lengths, strict=True)),
        "notes": notes,
    }


def _sentences(rows, values):
    """Values per row as values per sentence."""
    found = []
    for key, row in zip(rows["ids"], values, strict=True):
        begin = 0
        for length in rows["lengths"][key]:
            found.append(list(row[begin : begin + length]))
            begin += length
    return found


def _labels(rows, **_):
    found = {tag for tags in rows["y"] for tag in tags}
    kinds = sorted(found - {"O"})
    if not kinds:
        raise invalid("data", "tags other than O in the training file", "none")
    if "O" not in found:
        raise invalid(
            "data",
            "named entities in columns, with the tag O of other words in the "
            "training file",
            ", ".join(kinds)[:80],
        )
    return {"labels": ["O", *kinds]}


def _predict(model, rows, batch_size=32, callbacks=None, **_):
    if model.labels is None:
        raise invalid("model", "a model with names of its labels", None)
    return {
        "tags": model.tag(rows["x"], batch_size, callbacks),
        "labels": model.labels,
    }


def _score(rows, predictions, **_):
    result = evaluate(
        _sentences(rows, rows["y"]), _sentences(rows, predictions["tags"])
    )
    known = set(predictions["labels"])
    unseen = [t for tags in rows["y"] for t in tags if t not in known]
    if unseen:
        result["tags_not_in_training"] = {
            tag: unseen.count(tag) for tag in sorted(set(unseen))
        }
    return result


def _write(rows, predictions, path, **_):
    """Word, gold tag (where known) and prediction: what conlleval reads."""
    columns = [_sentences(rows, rows["x"])]
    if rows["y"] is not None:
        columns.append(_sentences(rows, rows["y"]))
    columns.append(_sentences(rows, predictions["tags"]))
    # A space would part such a word, and lose an empty one.
    tabs = any(" " in word or not word for row in columns[0] for word in row)
    separator = "\t" if tabs else " "
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for sentence in zip(*columns, strict=True):
            for cells in zip(*sentence, strict=True):
                file.write(separator.join(cells) + "\n")
            file.write("\n")
    return [Path(path)]


def _report(rows, predictions, folder, **_):
    """confusion.tsv of tags; misread.jsonl, most wrong entities first."""
    if rows["y"] is None:
        return
    gold, found = _sentences(rows, rows["y"]), predictions["tags"]
    found = _sentences(rows, found)
    pairs = [
        pair
        for sides in zip(gold, found, strict=True)
        for pair in zip(*sides, strict=True)
    ]
    wanted, guessed = map(list, zip(*pairs, strict=True))
    labels = list(predictions["labels"])
    # A tag that training has not seen has a row, and an empty column.
    labels += sorted(set(wanted) - set(labels))
    classification.confusion(wanted, guessed, labels, folder)
    lines = []
    for number, words in enumerate(_sentences(rows, rows["x"])):
        sides = [_entities.entities(side[number]) for side in (gold, found)]
        wrong = len(set(sides[0]) ^ set(sides[1]))
        if wrong:
            label, predicted = (
                "; ".join(f"{k}: {' '.join(words[a:b])}" for k, a, b in side)
                for side in sides
            )
            lines.append(
                {
                    "index": number,
                    "wrong": wrong,
                    "label": label,
                    "predicted": predicted,
                    "text": " ".join(words),
                }
            )
    lines.sort(key=lambda line: -line["wrong"])
    path = Path(folder) / "misread.jsonl"
    path.write_text(
        "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines),
        encoding="utf-8",
    )


TASK = Task(
    name="ner",
    model="BertTokenClassifier",
    read=_read,
    predict=_predict,
    score=_score,
    metric="f1",
    write=_write,
    report=_report,
    windows=lambda model, rows: model.preprocessor.windows(rows["x"]),
    model_arguments=_labels,
    kept=("context", "scheme"),
    options={
        "context": {
            "default": "sentence",
            "choices": CONTEXTS,
            "help": "document: sentences are read among their neighbours "
            "between two -DOCSTART- lines, as in the paper; evaluate and "
            "predict do as the run did",
        },
        "scheme": {
            "default": None,
            "choices": _entities.SCHEMES,
            "help": "convert the tags (without it they stay as they are, or "
            "are converted as those of the run were)",
        },
    },
)
