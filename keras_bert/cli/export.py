"""`keras-bert export`: a model in a format that servers read."""

from keras_bert.cli import _common

HELP = "export a model for serving"
EXAMPLE = "keras-bert export run saved_model --format tf_saved_model"


def add_arguments(parser):
    parser.add_argument("source", help="run, preset or checkpoint")
    parser.add_argument("path", help="folder or file to write")
    parser.add_argument(
        "--format",
        default="tf_saved_model",
        choices=("tf_saved_model", "saved_model", "onnx", "litert"),
    )


def run(args):
    from keras_bert.models import load

    _common.check_new(args.path, "path")
    model = load(args.source)
    model.export(args.path, format=args.format)
    print(f"written: {args.path}")
    return {"path": args.path, "format": args.format}
