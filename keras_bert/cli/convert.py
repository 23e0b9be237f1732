"""`keras-bert convert`: from one checkpoint format to another."""

NAME = "convert"
HELP = (
    "Convert a checkpoint to another format. What was written is read back "
    "and compared, array by array, before the target appears."
)
EXAMPLE = (
    "keras-bert convert uncased_L-12_H-768_A-12.zip OUT --format huggingface"
)


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="folder, file, checkpoint prefix, preset name or hf://owner/name",
    )
    parser.add_argument("directory", metavar="DIR", help="folder to write")
    parser.add_argument(
        "--format",
        default="keras_bert",
        choices=("keras_bert", "huggingface", "google", "keras_hub"),
        help="format to write (default: keras_bert)",
    )


def run(args):
    from keras_bert.checkpoints import convert

    report = convert(args.source, args.directory, args.format)
    print(
        f"Wrote {report.directory} ({report.format}): "
        f"{len(report.written)} variables, read back and equal."
    )
    return {
        "directory": report.directory,
        "format": report.format,
        "written": len(report.written),
        "dropped": report.dropped,
        "notes": report.notes,
    }
