"""The paper's Table 1 with a row of one's own."""

# Column: task, split beside the first or None, figure, rows of training data.
COLUMNS = {
    "MNLI-m": ("mnli", None, "accuracy", "392k"),
    "MNLI-mm": ("mnli", "dev_mismatched", "accuracy", "392k"),
    "QQP": ("qqp", None, "f1", "363k"),
    "QNLI": ("qnli", None, "accuracy", "108k"),
    "SST-2": ("sst-2", None, "accuracy", "67k"),
    "CoLA": ("cola", None, "matthews", "8.5k"),
    "STS-B": ("sts-b", None, "spearman", "5.7k"),
    "MRPC": ("mrpc", None, "f1", "3.5k"),
    "RTE": ("rte", None, "accuracy", "2.5k"),
}
# Devlin et al. (2019), Table 1, on the test sets.
PAPER = {
    "Pre-OpenAI SOTA": (80.6, 80.1, 66.1, 82.3, 93.2, 35.0, 81.0, 86.0, 61.7),
    "BiLSTM+ELMo+Attn": (76.4, 76.1, 64.8, 79.8, 90.4, 36.0, 73.3, 84.9, 56.8),
    "OpenAI GPT": (82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0),
    "BERT BASE": (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4),
    "BERT LARGE": (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1),
}


def table(ours):
    """Rows of cells, header first.

    Args:
        ours: dict, name of a row -> dict, task -> figures of its dev set.

    The average is the plain mean of the nine figures, as in the paper; a row
    with a gap has none.
    """
    rows = [
        ("system", *COLUMNS, "average"),
        ("", *(rows for *_, rows in COLUMNS.values()), "-"),
    ]
    values = {
        name: [_figure(figures, *column) for column in COLUMNS.values()]
        for name, figures in ours.items()
    }
    for name, cells in {**PAPER, **values}.items():
        whole = None not in cells
        shown = ["-" if v is None else f"{v:.1f}" for v in cells]
        average = f"{sum(cells) / len(cells):.1f}" if whole else "-"
        rows.append((name, *shown, average))
    return rows


def _figure(figures, task, split, name, _):
    found = figures.get(task)
    if found is not None and split is not None:
        found = found.get(split)
    return None if found is None else 100 * found[name]
