"""Any table of texts and labels: TSV, CSV or JSON lines.

A table has a header (TSV, CSV) or keys (JSONL). Columns are found by name:
`text`, optionally `text_pair`, optionally `label`.

A file without a header is read by places: columns are then named by numbers
from 0, as in `text="1", label="0"`.

TSV and CSV follow the usual quoting (a cell in double quotes may hold the
separator, line breaks, and "" for a quote). A TSV whose quotes do not pair up
was written without quoting, as GLUE's files are: it is then read literally.
"""

import csv
import io
import json
import math
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import classification
from keras_bert.tasks.task import Task

SEPARATORS = {".tsv": "\t", ".csv": ",", ".jsonl": None}


def read(file, text="text", text_pair="text_pair", label="label"):
    """The rows of one table.

    Args:
        file: path of a .tsv, .csv or .jsonl file.
        text, text_pair, label: column names. `text` must exist; the others
            are used where they exist, and must exist when they are not the
            default names.

    Returns a dict: `x` a list of texts or a pair (tuple) of such lists, `y` a
    list of labels (strings, or numbers as JSON has them) or `None`, `ids` the
    row numbers from 0, `notes` sentences on what is odd.

    Raises:
        ValueError: naming the file, the line and what was expected.
    """
    path = Path(file)
    rows = load(path, by_place=(text, text_pair, label))
    columns = rows[0].keys()
    for argument, name, default in (
        ("text", text, None),
        ("text_pair", text_pair, "text_pair"),
        ("label", label, "label"),
    ):
        if name not in columns and name != default:
            raise invalid(
                argument, f"a column of {path}: {', '.join(columns)}", name
            )
    notes = []
    x = _cells(rows, text, path, notes)
    if text_pair in columns:
        x = (x, _cells(rows, text_pair, path, notes))
    y = None
    if label in columns:
        y = [row[label] for row in rows]
        for number, value in enumerate(y):
            if value is None or isinstance(value, dict | list):
                raise invalid(
                    "label",
                    f"a name or a number in row {number} of {path}",
                    value,
                )
    return {"x": x, "y": y, "ids": list(range(len(rows))), "notes": notes}


def load(file, by_place=()):
    """The rows of a .tsv, .csv or .jsonl file as dicts.

    Args:
        file: its path.
        by_place: names of columns. If those that are no defaults are all
            numbers, the file has no header.
    """
    path = Path(file)
    if not path.is_file():
        raise invalid("data", "an existing file (or folder)", str(file))
    if path.suffix not in SEPARATORS:
        raise invalid("data", "a .tsv, .csv or .jsonl file", str(file))
    content = path.read_bytes()
    if b"\0" in content:
        raise invalid("data", "a text file (it holds NUL bytes)", str(file))
    try:
        content = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(
            "data", f"UTF-8 text ({path}: {error})", str(file)
        ) from error
    if path.suffix == ".jsonl":
        rows = _json_rows(content, path)
    else:
        places = [
            name for name in by_place if name not in ("text_pair", "label")
        ]
        has_header = not places or not all(map(str.isdigit, places))
        rows = _table_rows(content, SEPARATORS[path.suffix], path, has_header)
    if not rows:
        raise invalid("data", "at least one row of data", str(file))
    return rows


def find(data, split, required=True):
    """The file of one split (`train`, `dev`, `test`) of a folder."""
    for suffix in SEPARATORS:
        path = Path(data) / (split + suffix)
        if path.is_file():
            return path
    if required:
        raise invalid(
            "data",
            f"a folder with {split}.tsv, {split}.csv or {split}.jsonl",
            str(data),
        )
    return None


def _cells(rows, column, path, notes):
    """One column as strings; a number in JSON is text, null is empty."""
    cells, nulls = [], []
    for number, row in enumerate(rows):
        value = row[column]
        if isinstance(value, dict | list):
            raise invalid(
                "data", f"text in `{column}` of row {number} of {path}", value
            )
        if value is None:
            nulls.append(number)
        cells.append("" if value is None else str(value))
    if nulls:
        notes.append(
            f"{path.name}: {len(nulls)} null in `{column}`, read as an empty "
            f"text (the first in row {nulls[0]})"
        )
    return cells


def _table_rows(content, separator, path, has_header=True):
    try:
        return _parsed(content, separator, path, csv.QUOTE_MINIMAL, has_header)
    except (csv.Error, ValueError):
        if separator != "\t":
            raise
        return _parsed(content, separator, path, csv.QUOTE_NONE, has_header)


def _parsed(content, separator, path, quoting, has_header):
    # newline="" leaves line breaks inside quoted cells to the csv module.
    reader = csv.reader(
        io.StringIO(content, newline=""),
        delimiter=separator,
        quoting=quoting,
        strict=True,
    )
    header, rows = None, []
    try:
        for cells in reader:
            if not cells:
                continue
            if header is None:
                header = (
                    cells if has_header else list(map(str, range(len(cells))))
                )
                if len(set(header)) < len(header):
                    raise invalid(
                        "data", f"distinct column names in {path}", header
                    )
                if has_header:
                    continue
            if len(cells) != len(header):
                raise invalid(
                    "data",
                    f"{len(header)} columns in line {reader.line_num} of "
                    f"{path}",
                    f"{len(cells)} columns",
                )
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise invalid(
            "data", f"well-formed quotes ({error})",
            f"{path}, line {reader.line_num}",
        ) from error  # fmt: skip
    return rows


def _json_rows(content, path):
    rows = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise invalid(
                "data", f"JSON in line {number} of {path} ({error})", line
            ) from error
        if not isinstance(row, dict) or (rows and row.keys() != rows[0].keys()):
            raise invalid(
                "data",
                f"a JSON object in line {number} of {path} with the keys "
                "of the first line",
                line,
            )
        rows.append(row)
    return rows


def _read_split(data, split, text, text_pair, label, regression=False, **_):
    path = Path(data)
    if path.is_dir():
        path = find(data, split)
    rows = read(path, text, text_pair, label)
    if split == "test":
        return rows
    if rows["y"] is None:
        raise invalid("label", f"a column of {path}", label)
    if "" in rows["y"]:
        raise invalid(
            "data",
            f"a label in every row (row {rows['y'].index('')} has none)",
            str(path),
        )
    if regression:
        rows["y"] = [
            _number(value, f"row {number} of {path}")
            for number, value in enumerate(rows["y"])
        ]
    else:
        rows["y"] = [str(value) for value in rows["y"]]
    return rows


def _number(value, place):
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise invalid("label", f"a number in {place} (--regression)", value)
    return number


def _model_arguments(rows, regression=False, **_):
    if regression:
        return {"num_classes": 1}
    labels = sorted(set(rows["y"]))
    if len(labels) < 2:
        raise invalid("data", "at least two different labels", labels)
    return {"labels": labels}


TASK = Task(
    name="text",
    model="BertTextClassifier",
    read=_read_split,
    predict=classification.predict,
    score=classification.score,
    metric="score",
    write=classification.write,
    combine=classification.combine,
    report=classification.report,
    model_arguments=_model_arguments,
    options={
        "text": {"default": "text", "help": "column of the text"},
        "text_pair": {
            "default": "text_pair",
            "help": "column of the second text, if any",
        },
        "label": {"default": "label", "help": "column of the label"},
        "regression": {
            "action": "store_true",
            "default": False,
            "help": "the label is a number",
        },
    },
)
