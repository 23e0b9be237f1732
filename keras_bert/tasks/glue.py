"""GLUE and XNLI: the files as they are published, and the official metrics.

    sst-2  cola  mrpc  sts-b  qqp  mnli  qnli  rte  wnli  ax  xnli

A test file has no labels and a layout of its own. It is known by its name
(`test...`) or by a header without a label column.
"""

from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import _glue_layouts
from keras_bert.tasks import _glue_scores
from keras_bert.tasks import classification
from keras_bert.tasks._glue_files import find as find
from keras_bert.tasks._glue_files import folder_in as folder_in
from keras_bert.tasks._glue_files import part_of
from keras_bert.tasks._glue_layouts import GLUE
from keras_bert.tasks._glue_scores import figures as figures
from keras_bert.tasks._glue_scores import score as score
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
    if split not in (None, "train", "dev"):
        raise invalid(
            "split",
            'None, "train" or "dev" (a test file is known by its name)',
            split,
        )
    return _rows(GLUE[task], Path(file), split, language)


def _rows(data, path, split, language=None, part=None):
    """The rows of a file, or those for which `part` of the cells is true."""
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
    elif header is not None:
        _glue_layouts.check_header(layout, header, path)
    rows, y, ids, notes = [], [], [], {}
    for number, (line, cells) in enumerate(lines):
        if language is not None and layout.language and cells[0] != language:
            continue
        if part is not None and not part(cells):
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
    if is_test and not data.labelled_test:
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
    if header and {"label", "Label"} & set(header):
        wants_labels = True
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


def predict(task, model, rows, **options):
    """What a text classifier predicts, in the labels of a task.

    The classes of a model that knows no names are the task's, in their order.
    """
    labels = GLUE[task].labels
    if hasattr(model, "classify"):
        _check_labels(model, labels)
    found = classification.predict(model, rows, **options)
    if labels is not None and not model.labels:
        return classification.of_scores(list(labels), found["scores"])
    return found


def _check_labels(model, labels):
    """Refuses a model that was fine-tuned for something else."""
    is_number = model.num_classes == 1
    if labels is None:
        fits, wanted = is_number, "of one number (regression)"
    else:
        fits = not is_number and (
            set(model.labels) == set(labels)
            if model.labels
            else model.num_classes == len(labels)
        )
        wanted = f"with the labels {', '.join(labels)}"
    if not fits:
        raise invalid(
            "model",
            f"a model {wanted}",
            model.labels
            or ("one number" if is_number else f"{model.num_classes} classes"),
        )


def _task(name):
    data = GLUE[name]

    def refuse_training():
        if name == "ax":
            raise invalid("task", "mnli (ax is measured with its model)", name)

    def read_split(path, split, language=None, **_):
        if split == "train":
            refuse_training()
        path, part = Path(path), None
        if path.is_dir():
            path = find(name, path, split, language)
            part = part_of(name, path, split)
        wanted = None if split in data.submission else split
        wanted = wanted and ("train" if wanted == "train" else "dev")
        return _rows(data, path, wanted, language, part)

    def model_arguments(rows, **_):
        refuse_training()
        # Else it is missed when the training is over.
        _glue_scores.libraries()
        if data.labels is None:
            return {"num_classes": 1}
        return {"labels": list(data.labels)}

    return Task(
        name=name,
        model="BertTextClassifier",
        read=read_split,
        predict=lambda *given, **options: predict(name, *given, **options),
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
        kept=("language",) if name == "xnli" else (),
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
