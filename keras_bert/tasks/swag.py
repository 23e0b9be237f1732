"""SWAG, and any table of contexts with several endings."""

import re
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import classification
from keras_bert.tasks import text
from keras_bert.tasks.task import Task


def read(file):
    """The rows of one file.

    The columns of SWAG are `sent1` (the context), `sent2` (how each ending
    begins), `ending0`, `ending1`, ... and `label`, the number of the right
    ending; a test file has no `label`. Any table of that form will do, with
    two endings or more; `context` is read for `sent1`, and `sent2` may be
    absent. Choice i is the pair of `sent1` and `sent2 + " " + ending_i`.

    Args:
        file: path of a .csv, .tsv or .jsonl file.

    Returns a dict: `x` a pair (tuple) of contexts and, for each, the list of
    its endings; `y` numbers of the right ending or `None`; `ids`; `notes`.

    Raises:
        ValueError: naming the file, the row and what was expected.
    """
    return _rows(Path(file))


def _rows(path, labelled=True):
    """The rows of one file; if not `labelled` the labels do not matter."""
    rows = text.load(path)
    columns = rows[0].keys()
    context = next((n for n in ("sent1", "context") if n in columns), None)
    if context is None:
        raise invalid(
            "data", f"a column sent1 or context in {path}", ", ".join(columns)
        )
    endings = sorted(
        (name for name in columns if re.fullmatch(r"ending\d+", name)),
        key=lambda name: int(name[len("ending") :]),
    )
    if len(endings) < 2:
        raise invalid(
            "data", f"columns ending0, ending1, ... in {path}",
            ", ".join(columns),
        )  # fmt: skip
    labelled = labelled and "label" in columns
    contexts, choices, y = [], [], []
    for number, row in enumerate(rows):
        cells = {
            name: "" if row[name] is None else str(row[name])
            for name in (context, *endings)
        }
        begin = row.get("sent2")
        begin = f"{begin} " if begin else ""
        contexts.append(cells[context])
        choices.append([begin + cells[name] for name in endings])
        if labelled:
            y.append(_label(row["label"], len(endings), number, path))
    return {
        "x": (contexts, choices),
        "y": y if labelled else None,
        "ids": list(range(len(rows))),
        "notes": [],
    }


def _label(value, choices, number, path):
    found = str(value).strip()
    if not found.isdigit() or int(found) >= choices:
        raise invalid(
            "label",
            f"the number of an ending, 0 to {choices - 1}, in row {number} "
            f"of {path}",
            value,
        )
    return int(found)


def _read_split(data, split, **_):
    path = Path(data)
    if path.is_dir():
        # SWAG calls its dev set val.
        folder, names = path, (split, "val") if split == "dev" else (split,)
        found = [text.find(folder, name, required=False) for name in names]
        path = next((one for one in found if one is not None), None)
        if path is None:
            raise invalid(
                "data", f"a folder with {' or '.join(names)}.csv", str(data)
            )
    rows = _rows(path, labelled=split != "test")
    if rows["y"] is None and split != "test":
        raise invalid("data", f"a column label in {path}", split)
    return rows


def _predict(model, rows, batch_size=32, callbacks=None, **_):
    scores = classification.softmax(
        model.predict(
            rows["x"], batch_size=batch_size, verbose=0, callbacks=callbacks
        )
    )
    return classification.of_scores(list(range(scores.shape[1])), scores)


TASK = Task(
    name="swag",
    model="BertMultipleChoice",
    read=_read_split,
    predict=_predict,
    score=classification.score,
    metric="score",
    write=classification.write,
    combine=classification.combine,
    report=classification.report,
    # The paper's, section 4.4.
    batch_size=16,
)
