"""Table 6: how much larger encoders are better."""

from keras_bert._errors import invalid
from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._runs import Column

HELP = "sizes of the encoder (table 6)"
EXAMPLE = (
    "keras-bert ablate size corpus/*.txt -o table6 --vocab vocab.txt "
    "--held-out held_out.txt --finetune sst-2=glue/SST-2"
)
COLUMNS = [
    Column("MNLI-m", "mnli"),
    Column("MRPC", "mrpc"),
    Column("SST-2", "sst-2"),
]
# Not a score of a task, but a column of the paper's own: the perplexity of
# held-out text, blank without --held-out.
PERPLEXITY = "LM ppl"
# Layers, width and heads; the paper's row.
ROWS = (
    ((3, 768, 12), (5.84, 77.9, 79.8, 88.4)),
    ((6, 768, 3), (5.24, 80.6, 82.2, 90.7)),
    ((6, 768, 12), (4.68, 81.9, 84.8, 91.3)),
    ((12, 768, 12), (3.99, 84.4, 86.7, 92.9)),
    ((12, 1024, 16), (3.54, 85.7, 86.9, 93.3)),
    ((24, 1024, 16), (3.23, 86.6, 87.8, 93.7)),
)
# The same proportions for a laptop.
SMALL = "1:96:12,2:96:3,2:96:12,4:96:12,4:128:16,8:128:16"


def add_arguments(parser):
    _runs.add_arguments(parser, COLUMNS, config=False)
    parser.add_argument(
        "--sizes",
        default=SMALL,
        help="layers:width:heads of the six rows (the paper's divided by "
        f"about 3 and 8: {SMALL})",
    )


def run(args):
    sizes = _sizes(args.sizes)
    experiment = _runs.Experiment(args, COLUMNS)
    headers = [PERPLEXITY, *experiment.headers]
    rows = []
    for (layers, width, heads), (paper_size, paper) in zip(
        sizes, ROWS, strict=True
    ):
        pretrained, result = experiment.pretrained(
            f"{layers} layers {width} wide {heads} heads",
            # The name gives what the sizes leave open, such as dropout.
            config="bert_tiny",
            backbone={
                "num_layers": layers,
                "hidden_dim": width,
                "num_heads": heads,
                "intermediate_dim": 4 * width,
            },
        )
        ours = experiment.scores(pretrained.path)
        if "held_out" in result:
            ours = {PERPLEXITY: result["held_out"]["perplexity"], **ours}
        size = "/".join(map(str, paper_size))
        rows.append(
            {
                "cells": [layers, width, heads, size],
                "ours": ours,
                "paper": dict(zip(headers, paper, strict=True)),
            }
        )
    return experiment.report(
        "Table 6: model size",
        ["L", "H", "A", "paper L/H/A"],
        rows,
        scale="the sizes L/H/A",
        paper="the sizes L/H/A",
    )


def _sizes(text):
    try:
        sizes = [tuple(map(int, part.split(":"))) for part in text.split(",")]
        ok = len(sizes) == len(ROWS) and all(
            min(size) > 0 and size[1] % size[2] == 0 and len(size) == 3
            for size in sizes
        )
    except (ValueError, IndexError):
        ok = False
    if not ok:
        raise invalid(
            "--sizes",
            "six of LAYERS:WIDTH:HEADS, the heads dividing the width",
            text,
        )
    return sizes
