"""`keras-bert info`: what a checkpoint holds."""

NAME = "info"
HELP = (
    "Show a checkpoint's format, architecture, exact parameter counts, heads "
    "and vocabulary, and whether everything in it was understood."
)
EXAMPLE = "keras-bert info uncased_L-2_H-128_A-2"


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="folder, file, checkpoint prefix, preset name or hf://owner/name",
    )


def run(args):
    from keras_bert.checkpoints import describe

    result = describe(args.source)
    _show("format", result["format"])
    _show("task", result["task"] or "none (backbone)")
    _show("heads", ", ".join(result["heads"]) or "none")
    if result["labels"]:
        _show("labels", ", ".join(result["labels"]))
    for name, value in result["architecture"].items():
        _show(name, value)
    for part, count in result["parameters"].items():
        _show(f"parameters, {part}", f"{count:,}")
    _show("type of numbers", result["dtype"])
    if result["vocabulary_size"] is None:
        _show("vocabulary", "none")
    else:
        _show("vocabulary", f"{result['vocabulary_size']:,} tokens")
        _show("lower-casing", "yes" if result["lowercase"] else "no")
    _show("understood", "everything" if result["understood"] else "not all:")
    for sentence in (*result["problems"], *result["notes"]):
        print(f"  - {sentence}")
    return result


def _show(name, value):
    print(f"{name:28}{value}")
