"""Any table of texts and labels: TSV, CSV or JSON lines.

A table has a header (TSV, CSV) or keys (JSONL). Columns are found by name:
`text`, optionally `text_pair`, optionally `label`.

A file without a header is read by places: columns are then named by numbers
from 0, as in `text="1", label="0"`.

TSV and CSV follow the usual quoting (a cell in double quotes may hold the
separator, line breaks, and "" for a quote). A TSV whose quotes do not pair up,
or each line of which has all columns although the quotes join some of them,
was written without quoting, as GLUE's files are: it is then read literally.

Blank lines are no rows, unless the table has one column: there a blank line
before the last row is a row with an empty text.
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
    return _rows(Path(file), text, text_pair, label)


def _rows(path, text, text_pair, label, labelled=True):
    """The rows of one table; if not `labelled` the labels do not matter."""
    rows = load(path, by_place=(text, text_pair, label))
    columns = rows[0].keys()
    for argument, name, default in (
        ("text", text, None),
        ("text_pair", text_pair, "text_pair"),
        ("label", label, "label"),
    ):
        if argument == "label" and not labelled:
            continue
        if name not in columns and name != default:
            raise invalid(
                argument, f"a column of {path}: {', '.join(columns)}", name
            )
    notes = []
    x = _cells(rows, text, path, notes)
    if text_pair in columns:
        x = (x, _cells(rows, text_pair, path, notes))
    y = None
    if labelled and label in columns:
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
    suffix = path.suffix.lower()
    if suffix not in SEPARATORS:
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
    if suffix == ".jsonl":
        rows = _json_rows(content, path)
    else:
        places = [
            name for name in by_place if name not in ("text_pair", "label")
        ]
        has_header = not places or not all(map(str.isdigit, places))
        rows = _table_rows(content, SEPARATORS[suffix], path, has_header)
    if not rows:
        raise invalid("data", "at least one row of data", str(file))
    return rows


def find(data, split, required=True):
    """The file of one split (`train`, `dev`, `test`) of a folder."""
    for suffix in (*SEPARATORS, *map(str.upper, SEPARATORS)):
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
    def parsed(quoting):
        return _parsed(content, separator, path, quoting, has_header)

    if separator != "\t" or '"' not in content:
        return parsed(csv.QUOTE_MINIMAL)
    try:
        quoted = parsed(csv.QUOTE_MINIMAL)
    except ValueError:
        return parsed(csv.QUOTE_NONE)
    try:
        literal = parsed(csv.QUOTE_NONE)
    except ValueError:
        # Lines without all columns are parts of cells in quotes.
        return quoted
    # With one column every line has all of them, which says nothing.
    unquoted = len(literal) > len(quoted) and len(literal[0]) > 1
    return literal if unquoted else quoted


def _parsed(content, separator, path, quoting, has_header):
    # newline="" leaves line breaks inside quoted cells to the csv module.
    reader = csv.reader(
        io.StringIO(content, newline=""),
        delimiter=separator,
        quoting=quoting,
        strict=True,
    )
    # The module refuses cells of more than 131,072 characters by default.
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, len(content)))
    try:
        return _dicts(reader, path, has_header)
    except csv.Error as error:
        raise invalid(
            "data", f"well-formed quotes ({error})",
            f"{path}, line {reader.line_num}",
        ) from error  # fmt: skip
    finally:
        csv.field_size_limit(before)


def _dicts(reader, path, has_header):
    header, rows, blank = None, [], 0
    for cells in reader:
        if not cells:
            blank += 1
            continue
        if header is None:
            blank = 0
            header = cells if has_header else list(map(str, range(len(cells))))
            if len(set(header)) < len(header):
                raise invalid(
                    "data", f"distinct column names in {path}", header
                )
            if has_header:
                continue
        if len(cells) != len(header):
            raise invalid(
                "data",
                f"{len(header)} columns in line {reader.line_num} of {path}",
                f"{len(cells)} columns",
            )
        if len(header) == 1:
            rows += [{header[0]: ""} for _ in range(blank)]
        blank = 0
        rows.append(dict(zip(header, cells, strict=True)))
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
        rows.append({key: _unicode(value) for key, value in row.items()})
    return rows


def _unicode(value):
    """Text without halves of surrogate pairs.

    An escape in JSON can stand for one, no file in UTF-8 can hold it, and the
    tokenizer drops it.
    """
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "ignore").decode("utf-8")
    return value


def _read_split(data, split, text, text_pair, label, regression=False, **_):
    path = Path(data)
    if path.is_dir():
        path = find(data, split)
    rows = _rows(path, text, text_pair, label, labelled=split != "test")
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
    # A model of pairs that reads first texts alone is measured wrongly.
    kept=("text", "text_pair", "label", "regression"),
    options={
        "text": {
            "default": "text",
            "help": "column of the text; evaluate and predict take this and "
            "the next three from the run",
        },
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
