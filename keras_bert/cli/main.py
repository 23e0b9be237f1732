"""The command `keras-bert`: one verb, one file.

Each verb's module has `HELP`, `EXAMPLE`, `add_arguments(parser)` and
`run(args)`, which returns the result as a dict. Exit codes: 0 done, 2 bad
input (one line that names the argument), 1 a failure, 130 interrupted, 143
terminated.
"""

import argparse
import importlib
import json
import os
import sys
import traceback

from keras_bert.cli._signals import Terminated
from keras_bert.cli._signals import unwinding

VERBS = (
    "vocab",
    "prepare",
    "pretrain",
    "finetune",
    "evaluate",
    "predict",
    "fill-mask",
    "features",
    "convert",
    "info",
    "attention",
    "export",
    "serve",
    "ablate",
    "demo",
)


class _Parser(argparse.ArgumentParser):
    """argparse with the whole complaint on one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def build_parser():
    parser = _Parser(
        prog="keras-bert",
        description="BERT, end to end, in Keras 3. "
        "`keras-bert VERB --help` explains a verb.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        module = importlib.import_module(
            "keras_bert.cli." + verb.replace("-", "_")
        )
        sub = verbs.add_parser(
            verb,
            help=module.HELP,
            description=module.HELP,
            epilog="example: " + module.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.add_argument(
            "--json",
            action="store_true",
            help="print the result as JSON on the last line",
        )
        sub.set_defaults(run=module.run)
    return parser


def main(argv=None):
    # TensorFlow's start-up notes would bury the one line that matters.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    args = build_parser().parse_args(argv)
    try:
        with unwinding():
            result = args.run(args)
    except KeyboardInterrupt:
        print(f"keras-bert {args.verb}: interrupted", file=sys.stderr)
        return 130
    except Terminated as error:
        print(f"keras-bert {args.verb}: terminated", file=sys.stderr)
        return 128 + error.signal
    except (
        ValueError,
        FileNotFoundError,
        FileExistsError,
        IsADirectoryError,
        NotADirectoryError,
    ) as error:
        if os.environ.get("KERAS_BERT_TRACEBACK"):
            traceback.print_exc()
        message = " ".join(str(error).split())
        print(f"keras-bert {args.verb}: error: {message}", file=sys.stderr)
        return 2
    except Exception as error:
        # A full disk or a read-only folder is no fault of the program.
        if not isinstance(error, OSError) or os.environ.get(
            "KERAS_BERT_TRACEBACK"
        ):
            traceback.print_exc()
        print(f"keras-bert {args.verb}: failed: {error}", file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
