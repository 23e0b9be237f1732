"""`keras-bert ablate NAME`: the paper's experiments on its own parts.

Each ablation is a module of `cli/ablations/` with `HELP`, `EXAMPLE`,
`add_arguments(parser)` and `run(args)`, as a verb is.
"""

import argparse
import importlib

HELP = "repeat an ablation of the paper"
EXAMPLE = (
    "keras-bert ablate feature-based --data conll --model bert_base -o table"
)
NAMES = (
    "pretraining",
    "masking",
    "size",
    "steps",
    "feature-based",
    "stability",
)


def module_of(name):
    return importlib.import_module(
        "keras_bert.cli.ablations." + name.replace("-", "_")
    )


def add_arguments(parser):
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in NAMES:
        module = module_of(name)
        sub = names.add_parser(
            name,
            help=module.HELP,
            description=module.HELP,
            epilog="example: " + module.EXAMPLE,
        )
        module.add_arguments(sub)
        # As every verb has it; what stands before NAME is not overwritten.
        sub.add_argument(
            "--json",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print the result as JSON on the last line",
        )


def run(args):
    return module_of(args.name).run(args)
