"""`keras-bert fill-mask`: the likeliest words for each mask."""

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "Show the likeliest words for each mask of a text."
EXAMPLE = 'keras-bert fill-mask run "Paris is the [MASK] of France."'


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="run, folder, checkpoint prefix, preset name or hf://owner/name, "
        "with a masked-language-model head",
    )
    parser.add_argument(
        "text", metavar="TEXT", help="a text with one [MASK] or more"
    )
    parser.add_argument(
        "--top-k",
        type=_common.positive_int,
        default=5,
        metavar="N",
        help="words to show for each mask (default: 5)",
    )


def run(args):
    from keras_bert.models import BertMaskedLM

    model = BertMaskedLM.from_preset(args.source)
    if any("mlm_head" in name for name in model.load_report.newly_initialised):
        raise invalid(
            "source",
            "a checkpoint with a masked-language-model head",
            args.source,
        )
    masks = model.fill_mask(args.text, top_k=args.top_k)
    for number, mask in enumerate(masks, 1):
        _common.print_table(
            [
                (f"mask {number}", "probability"),
                *((one["token"], one["score"]) for one in mask),
            ]
        )
    return {"masks": masks}
