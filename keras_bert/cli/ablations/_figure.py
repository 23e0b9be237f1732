"""Figure 5: scores over the steps of pretraining, ours beside the paper's."""


def draw_steps(rows, path):
    """Draws the rows of the table; gives a sentence on it, or why not.

    Args:
        rows: dicts with `cells` (our step, the paper's), `ours` and `paper`
            {curve: score}.
        path: of the picture.
    """
    try:
        import matplotlib
    except ImportError:
        return (
            f"{path.name} needs matplotlib: pip install 'keras3-bert[plot]' "
            "(the table is in result.json; the same command again draws it)"
        )
    # A picture in a file needs no screen.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    for axis, part, title in zip(
        axes,
        ("ours", "paper"),
        ("ours, at our scale", "the paper: BERT BASE, MNLI-m"),
        strict=True,
    ):
        for name, points in curves(rows, part).items():
            axis.plot(*zip(*points, strict=True), label=name, marker=".")
        if axis.lines:
            axis.legend(fontsize=8)
        else:
            axis.text(
                0.5, 0.5, "no data given", ha="center",
                transform=axis.transAxes,
            )  # fmt: skip
        axis.set_title(title)
        axis.set_xlabel("steps of pre-training")
        axis.set_ylabel("dev score after fine-tuning, %")
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return f"picture: {path}"


def curves(rows, part):
    """{curve: [(step, score)]} of "ours" or "paper"."""
    found = {}
    for row in rows:
        step = row["cells"][part == "paper"]
        for name, score in row[part].items():
            found.setdefault(name, []).append(
                (int(str(step).replace(",", "")), score)
            )
    return found
