"""GLUE and XNLI: the files as they are published, and the official metrics.

    sst-2  cola  mrpc  sts-b  qqp  mnli  qnli  rte  wnli  ax  xnli

A test file has no labels and a layout of its own. It is known by its name
(`test...`) or by a header without a label column.
"""

from pathlib import Path

import numpy as np

from keras_bert._errors import invalid
from keras_bert.tasks import _glue_layouts
from keras_bert.tasks import classification
from keras_bert.tasks._glue_layouts import GLUE
from keras_bert.tasks.task import Task


def read(task, file, split=None, language=None):
    """The rows of one file.

    Args:
        task: one of the names above.
        file: path of a file in the original layout.
        split: `None`, or "train" or "dev" for a file that has labels though
            its name begins with "test".
        language: for XNLI, the language (column 0) whose rows are read.

    Returns a dict: `x` a list of texts or a pair (tuple) of such lists; `y`
    the label names (floats for sts-b), `None` in a test file; `ids` the
    numbers of the rows from 0; `notes` sentences on rows left out.

    Raises:
        ValueError: naming file, line, what was expected and what was found.
    """
    if task not in GLUE:
        raise invalid("task", f"one of {', '.join(GLUE)}", task)
    data = GLUE[task]
    path = Path(file)
    lines = _glue_layouts.lines_of(path)
    layout, header = _layout(data, path, lines, split)
    if header is not None:
        lines = lines[1:]
    if not lines:
        raise invalid("data", f"at least one row of data in {path}", 0)
    texts, label = (layout.places, layout.label_place)
    columns = len(header) if header is not None else layout.columns
    named = header and _glue_layouts.by_name(
        layout, header, layout.label is not None
    )
    if named:
        texts, label = named
    rows, y, ids, notes = [], [], [], {}
    for number, (line, cells) in enumerate(lines):
        if language is not None and layout.language and cells[0] != language:
            continue
        if len(cells) != columns and not (
            header is None and label == -1 and len(cells) > columns
        ):
            if not data.skip_short:
                raise invalid(
                    "data",
                    f"{columns} columns in line {line} of {path}",
                    f"{len(cells)} columns",
                )
            reason = f"not {columns} columns"
            if label is not None:
                notes.setdefault(f"rows left out, {reason}", []).append(line)
                continue
            # A row of a test file stays: as many rows out as in.
            notes.setdefault(f"rows read as far as they go, {reason}",
                             []).append(line)  # fmt: skip
            cells = cells + [""] * columns
        if label is not None:
            value = cells[label]
            if value == "-":
                notes.setdefault(
                    'rows left out, without a gold label ("-")', []
                ).append(line)
                continue
            y.append(_label(data, value, path, line))
        rows.append([cells[place] for place in texts])
        ids.append(number)
    if not ids:
        wanted = "" if language is None else f" of the language {language}"
        raise invalid("data", f"a usable row{wanted} in {path}", notes)
    parts = tuple(list(part) for part in zip(*rows, strict=True))
    return {
        "x": parts if len(parts) == 2 else parts[0],
        "y": y if label is not None else None,
        "ids": ids,
        "notes": [
            f"{path.name}: {len(found)} {reason} (line {_shown(found)})"
            for reason, found in notes.items()
        ],
    }


def _layout(data, path, lines, split):
    """The layout of a file, and its header or None."""
    first = lines[0][1]
    header = first if _glue_layouts.is_header(first) else None
    with_labels = [
        one
        for one in data.labelled
        if header and _glue_layouts.by_name(one, header, True)
    ]
    is_test = path.stem.startswith("test") and split not in ("train", "dev")
    if is_test and data.unlabelled:
        if with_labels:
            raise invalid(
                "data",
                'a test file without labels (or split="dev" to read them)',
                f"the column {with_labels[0].label} in {path}",
            )
        return data.unlabelled[0], header
    if with_labels:
        return with_labels[0], header
    wants_labels = split in ("train", "dev") or path.stem.startswith(
        ("train", "dev")
    )
    for one in data.unlabelled:
        named = header and _glue_layouts.by_name(one, header, False)
        if named and not {"label", "Label"} & set(header):
            if wants_labels:
                raise invalid(
                    "data",
                    "a file with labels (only a test file has none)",
                    f"{path} with the columns {', '.join(header)}",
                )
            return one, header
    unlabelled = () if wants_labels else data.unlabelled
    for one in (*data.labelled, *unlabelled):
        if len(first) == one.columns:
            return one, header
    return (*data.labelled, *data.unlabelled)[0], header


def _label(data, value, path, line):
    if data.labels is None:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 5:
            raise invalid(
                "label", f"a number from 0 to 5 in line {line} of {path}", value
            )
        return number
    value = {"contradictory": "contradiction"}.get(value, value)
    if value not in data.labels:
        raise invalid(
            "label",
            f"one of {', '.join(data.labels)} in line {line} of {path}",
            value,
        )
    return value


def _shown(lines, most=10):
    more = ", ..." if len(lines) > most else ""
    return ", ".join(map(str, lines[:most])) + more


def find(task, folder, split, language=None):
    """The file of one split in the folder of a data set."""
    folder = Path(folder)
    names = _file_names(split)
    if task == "xnli":
        pattern = f"multinli.train.{language or '*'}.tsv"
        found = [
            path
            for place in (folder, folder / "multinli")
            for path in sorted(place.glob(pattern))
        ]
        if split == "train":
            if len(found) == 1:
                return found[0]
            raise invalid(
                "language" if found else "data",
                f"one file {pattern} in {folder}",
                [path.name for path in found],
            )
        names = (f"xnli.{split}.tsv",)
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise invalid("data", f"a folder with {' or '.join(names)}", str(folder))


def _file_names(split):
    if split == "diagnostic":
        return ("diagnostic.tsv", "AX.tsv", "diagnostic-full.tsv")
    return (f"{split}.tsv",)


def folder_in(task, data):
    """The folder of a data set in that of all of them, or None.

    It is the one that holds what is to be predicted: AX lies in a folder of
    its own, or in that of MNLI.
    """
    wanted = [name for split in GLUE[task].submission
              for name in _file_names(split)]  # fmt: skip
    for name in GLUE[task].folders:
        folder = Path(data) / name
        if any((folder / one).is_file() for one in wanted):
            return folder
    return None


def score(task, y_true, y_pred):
    """The official metrics, each from 0 to 1 (or -1 to 1).

    Args:
        task: one of the names above.
        y_true: label names (numbers for sts-b).
        y_pred: the same, or class ids in the order of the task's labels.

    Returns a dict of those that the task has: "matthews", "accuracy", "f1"
    (of class "1"), "pearson", "spearman". A correlation with constant
    predictions is 0.
    """
    if task not in GLUE:
        raise invalid("task", f"one of {', '.join(GLUE)}", task)
    data = GLUE[task]
    if len(y_true) != len(y_pred) or len(y_true) == 0:
        raise invalid(
            "y_pred", f"as many as y_true, {len(y_true)}, and not 0",
            f"{len(y_pred)} predictions",
        )  # fmt: skip
    if data.labels is None:
        y_true, y_pred = (np.asarray(y, "float64") for y in (y_true, y_pred))
    else:
        y_true = _names(y_true, data.labels, "y_true")
        y_pred = _names(y_pred, data.labels, "y_pred")
    return {name: _METRICS[name](y_true, y_pred) for name in data.metrics}


def _names(y, labels, argument):
    names = []
    for value in y:
        if isinstance(value, float | np.floating) and value == int(value):
            value = int(value)
        if isinstance(value, int | np.integer) and str(value) not in labels:
            value = labels[value] if 0 <= value < len(labels) else value
        value = str(value)
        if value not in labels:
            raise invalid(argument, f"labels out of {', '.join(labels)}", value)
        names.append(value)
    return names


def _metrics():
    try:
        import scipy.stats
        import sklearn.metrics
    except ImportError as error:
        raise ImportError(
            "The official metrics need scikit-learn and scipy: "
            "pip install keras3-bert[eval]"
        ) from error
    return sklearn.metrics, scipy.stats


def _correlation(name):
    def measure(y_true, y_pred):
        if np.ptp(y_true) == 0 or np.ptp(y_pred) == 0:
            return 0.0
        return float(getattr(_metrics()[1], name)(y_true, y_pred)[0])

    return measure


_METRICS = {
    "accuracy": lambda y, found: float(_metrics()[0].accuracy_score(y, found)),
    "f1": lambda y, found: float(
        _metrics()[0].f1_score(y, found, pos_label="1", zero_division=0)
    ),
    "matthews": lambda y, found: float(
        _metrics()[0].matthews_corrcoef(y, found)
    ),
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
}


def figures(task, y_true, y_pred):
    """The metrics, their mean as `score`, and what no reading would reach.

    `chance` is the score of the commonest label (0 for correlations).
    """
    found = score(task, y_true, y_pred)
    chance = 0.0
    if GLUE[task].labels is not None:
        names, counts = np.unique(list(y_true), return_counts=True)
        common = [str(names[counts.argmax()])] * len(y_true)
        chance = _mean(score(task, y_true, common))
    return {
        "score": _mean(found), **found,
        "chance": chance, "examples": len(y_true),
    }  # fmt: skip


def _mean(values):
    return float(np.mean(list(values.values())))


def write(task, rows, predictions, path, **_):
    """A submission file: index and prediction, as GLUE wants them."""
    path = Path(path)
    if predictions["labels"] is None:
        shown = [f"{min(5.0, max(0.0, v)):.3f}" for v in predictions["scores"]]
    else:
        shown = [str(label) for label in predictions["predicted"]]
    lines = ["index\tprediction"]
    lines += [f"{i}\t{v}" for i, v in zip(rows["ids"], shown, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]


def _task(name):
    data = GLUE[name]

    def read_split(path, split, language=None, **_):
        if Path(path).is_dir():
            path = find(name, path, split, language)
        wanted = None if split in data.submission else split
        wanted = wanted and ("train" if wanted == "train" else "dev")
        rows = read(name, path, wanted, language)
        return rows

    def model_arguments(rows, **_):
        if name == "ax":
            raise invalid("task", "mnli (ax is measured with its model)", name)
        if data.labels is None:
            return {"num_classes": 1}
        return {"labels": list(data.labels)}

    return Task(
        name=name,
        model="BertTextClassifier",
        read=read_split,
        predict=classification.predict,
        score=lambda rows, found, **_: figures(
            name,
            rows["y"],
            found["scores"] if data.labels is None else found["predicted"],
        ),
        metric="score",
        write=lambda rows, found, path, **_: write(name, rows, found, path),
        combine=classification.combine,
        report=classification.report,
        model_arguments=model_arguments,
        options={"language": {"help": "rows and training file of a language"}}
        if name == "xnli"
        else {},
        dev={
            "mnli": ("dev_matched", "dev_mismatched"),
            "ax": ("diagnostic-full",),
        }.get(name, ("dev",)),
        test=tuple(data.submission),
        files=data.submission,
    )


GLUE_TASKS = tuple(_task(name) for name in GLUE)
