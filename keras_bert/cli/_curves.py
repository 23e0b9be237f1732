"""metrics.jsonl as a picture."""

_PANELS = (
    ("loss", ("loss", "masked_lm_loss", "held_out_loss")),
    (
        "accuracy",
        (
            "masked_accuracy",
            "next_sentence_accuracy",
            "held_out_masked_accuracy",
            "held_out_next_sentence_accuracy",
        ),
    ),
    ("learning rate", ("learning_rate",)),
    ("real tokens per second", ("tokens_per_second",)),
)


def draw_curves(lines, path):
    """Writes curves.png; gives a sentence that says so, or why not."""
    try:
        import matplotlib
    except ImportError:
        return (
            "curves.png needs matplotlib: pip install 'keras3-bert[plot]' "
            "(the figures are in metrics.jsonl and tensorboard/)"
        )
    # A picture in a file needs no screen.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), sharex=True)
    for axis, (title, names) in zip(axes.flat, _PANELS, strict=True):
        for name in names:
            found = [
                (line["step"], line[name]) for line in lines if name in line
            ]
            if found:
                axis.plot(*zip(*found, strict=True), label=name, marker=".")
        axis.set_title(title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("step")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return f"curves: {path}"
