"""`keras-bert export`: a model in a format that servers read."""

from keras_bert.cli import _common

HELP = "Export a model, tokenizer included, for servers to load."
EXAMPLE = "keras-bert export run saved_model --format tf_saved_model"


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="run, folder, checkpoint prefix, preset name or hf://owner/name",
    )
    parser.add_argument(
        "path",
        metavar="PATH",
        help="new folder (tf_saved_model) or file (other formats) to write",
    )
    parser.add_argument(
        "--format",
        default="tf_saved_model",
        choices=("tf_saved_model", "saved_model", "onnx", "litert"),
        help="format to write (default: tf_saved_model)",
    )


def run(args):
    from keras_bert.models import load

    _common.check_new(args.path, "path")
    model = load(args.source)
    model.export(args.path, format=args.format)
    print(f"written: {args.path}")
    return {"path": args.path, "format": args.format}
