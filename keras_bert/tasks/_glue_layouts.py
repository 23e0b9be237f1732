"""How the files of GLUE and XNLI are laid out.

Tab-separated, no quoting, one row a line; a line ends with LF or CRLF and
nothing else does (U+2028 and lone CRs stand inside texts). Columns are found
by name where the header has the names, else by place; a header that belongs
over other columns is refused.
"""

import dataclasses
from pathlib import Path

from keras_bert._errors import invalid

NLI = ("contradiction", "entailment", "neutral")
ENTAILMENT = ("entailment", "not_entailment")
BINARY = ("0", "1")


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of one kind of file.

    Attributes:
        texts: names of the text columns; several names of one are tried.
        places: their places.
        columns: number of columns, the least where the last is the label.
        label, label_place: of the gold label; None in a test file.
        language: whether column `language` (place 0) exists.
    """

    texts: tuple
    places: tuple
    columns: int
    label: str | None = None
    label_place: int | None = None
    language: bool = False


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """One data set.

    Attributes:
        folders: names of its folder in the downloads, the likeliest first.
        labels: in the order of the original code; None for regression.
        metrics: those that GLUE reports, averaged to one score.
        labelled, unlabelled: layouts, the likeliest first.
        submission: split -> name of the file to hand in.
        skip_short: rows with missing columns are skipped and counted.
        labelled_test: the test set is published with its labels.
    """

    folders: tuple
    labels: tuple | None
    metrics: tuple
    labelled: tuple
    unlabelled: tuple
    submission: dict
    skip_short: bool = False
    labelled_test: bool = False


def _pair(first, second, label="label", test_columns=3):
    names = ((first,), (second,))
    return {
        "labelled": (Layout(names, (1, 2), 4, label, 3),),
        "unlabelled": (Layout(names, (1, 2), test_columns),),
    }


_MNLI_TEXTS = (("sentence1",), ("sentence2",))
_XNLI_TEXTS = (("premise",), ("hypo", "hypothesis"))
_AX = Layout(
    (
        ("sentence1", "Premise", "premise"),
        ("sentence2", "Hypothesis", "hypothesis"),
    ),
    (1, 2),
    3,
)

GLUE = {
    "cola": GlueTask(
        ("CoLA",), BINARY, ("matthews",),
        # source, label, the author's mark, sentence; no header.
        (Layout((("sentence",),), (3,), 4, "label", 1),),
        (Layout((("sentence",),), (1,), 2),),
        {"test": "CoLA.tsv"},
    ),
    "sst-2": GlueTask(
        ("SST-2",), BINARY, ("accuracy",),
        (Layout((("sentence",),), (0,), 2, "label", 1),),
        (Layout((("sentence",),), (1,), 2),),
        {"test": "SST-2.tsv"},
    ),
    "mrpc": GlueTask(
        # The second is what Microsoft's own package unpacks to.
        ("MRPC", "MSRParaphraseCorpus"), BINARY, ("accuracy", "f1"),
        (Layout((("#1 String",), ("#2 String",)), (3, 4), 5, "Quality", 0),),
        (Layout((("#1 String",), ("#2 String",)), (3, 4), 5),),
        {"test": "MRPC.tsv"},
    ),
    "sts-b": GlueTask(
        ("STS-B",), None, ("pearson", "spearman"),
        (Layout(_MNLI_TEXTS, (7, 8), 10, "score", -1),),
        (Layout(_MNLI_TEXTS, (7, 8), 9),),
        {"test": "STS-B.tsv"},
    ),
    "qqp": GlueTask(
        ("QQP",), BINARY, ("accuracy", "f1"),
        (Layout((("question1",), ("question2",)), (3, 4), 6,
                "is_duplicate", 5),),
        (Layout((("question1",), ("question2",)), (1, 2), 3),),
        {"test": "QQP.tsv"},
        skip_short=True,
    ),
    "mnli": GlueTask(
        ("MNLI",), NLI, ("accuracy",),
        (Layout(_MNLI_TEXTS, (8, 9), 12, "gold_label", -1),),
        (Layout(_MNLI_TEXTS, (8, 9), 10),),
        {"test_matched": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"},
    ),
    "qnli": GlueTask(
        ("QNLI",), ENTAILMENT, ("accuracy",), **_pair("question", "sentence"),
        submission={"test": "QNLI.tsv"},
    ),
    "rte": GlueTask(
        ("RTE",), ENTAILMENT, ("accuracy",), **_pair("sentence1", "sentence2"),
        submission={"test": "RTE.tsv"},
    ),
    "wnli": GlueTask(
        ("WNLI",), BINARY, ("accuracy",), **_pair("sentence1", "sentence2"),
        submission={"test": "WNLI.tsv"},
    ),
    "ax": GlueTask(
        ("AX", "diagnostic", "MNLI"), NLI, ("matthews",),
        # diagnostic-full.tsv, as its authors publish it, holds the labels.
        (dataclasses.replace(_AX, columns=8, places=(5, 6), label="Label",
                             label_place=7),),
        (_AX,),
        {"diagnostic": "AX.tsv"},
    ),
    "xnli": GlueTask(
        ("XNLI",), NLI, ("accuracy",),
        (
            Layout(_MNLI_TEXTS, (6, 7), 8, "gold_label", 1, language=True),
            Layout(_XNLI_TEXTS, (0, 1), 3, "label", 2),
        ),
        (Layout(_XNLI_TEXTS, (0, 1), 2),),
        {"test": "XNLI.tsv"},
        labelled_test=True,
    ),
}  # fmt: skip
_TEXT_NAMES = {
    name
    for task in GLUE.values()
    for layout in (*task.labelled, *task.unlabelled)
    for names in layout.texts
    for name in names
}
# Words that only a header holds as a whole cell.
_HEADER = {"index", "id", "text", "sentence", "language", "label", "Quality"}
_HEADER |= _TEXT_NAMES


def lines_of(path):
    """The lines of a file as lists of cells, with their numbers from 1.

    Blank lines are no rows, unless the file has one column: there a blank
    line before the last row is a row with an empty text.
    """
    path = Path(path)
    if not path.is_file():
        raise invalid("data", "an existing file", str(path))
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(
            "data", f"UTF-8 text ({path}: {error})", str(path)
        ) from error
    found, blank = [], []
    for number, line in enumerate(content.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line:
            blank.append((number, [""]))
            continue
        if found and len(found[0][1]) == 1:
            found += blank
        blank = []
        found.append((number, line.split("\t")))
    if not found:
        raise invalid("data", "at least one row", f"{path}, which is empty")
    return found


def is_header(cells):
    return bool(_HEADER & {cell.strip() for cell in cells})


def by_name(layout, header, with_label):
    """Places of the texts and the label by the names of a header, or None."""
    header = [cell.strip() for cell in header]
    texts = [
        next((header.index(name) for name in names if name in header), None)
        for names in layout.texts
    ]
    label = None
    if with_label:
        if layout.label not in header:
            return None
        label = header.index(layout.label)
    return None if None in texts else (tuple(texts), label)


def check_header(layout, header, path):
    """Refuses a header whose columns cannot be read by their places.

    Names that no task has say nothing about the columns. The texts of another
    task, texts in other places, or another number of columns do.
    """
    own = {name for names in layout.texts for name in names}
    foreign = {cell.strip() for cell in header} & (_TEXT_NAMES - own)
    last = layout.label_place == -1
    fits = len(header) == layout.columns
    fits = fits or (last and len(header) > layout.columns)
    texts = by_name(layout, header, False)
    if foreign or not fits or (texts and texts[0] != layout.places):
        names = ["/".join(names) for names in layout.texts]
        if layout.label is not None:
            names.append(layout.label)
        raise invalid(
            "data",
            f"the columns {', '.join(names)} (of {layout.columns}"
            f"{' or more' * last}) in line 1 of {path}",
            ", ".join(header),
        )
