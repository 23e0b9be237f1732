"""`keras-bert attention`: who looks at whom, as a page to click through."""

import html
import json
from importlib import resources

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "write a page that shows the attention of every head on a text"
EXAMPLE = 'keras-bert attention run "The fox saw itself." -o page.html'


def add_arguments(parser):
    parser.add_argument("source", help="run, preset or checkpoint")
    parser.add_argument("text", help="a text; [MASK] in it is a mask")
    parser.add_argument("-o", "--output", required=True, help="page to write")
    parser.add_argument("--text-pair", help="a second text")


def run(args):
    import keras

    from keras_bert.models import BertBackbone
    from keras_bert.models.masked_row import masked_row
    from keras_bert.tokenizers import BertTokenizer

    _common.check_new(args.output)
    tokenizer = BertTokenizer.from_preset(args.source)
    backbone = BertBackbone.from_preset(args.source)
    texts = [args.text, *([args.text_pair] if args.text_pair else [])]
    ids, segments = masked_row(tokenizer, texts)
    longest = backbone.max_sequence_length
    if len(ids) > longest:
        raise invalid(
            "text",
            f"at most {longest} tokens with [CLS] and [SEP]",
            f"{len(ids)} tokens",
        )
    row = {"token_ids": ids[None], "segment_ids": segments[None]}
    scores = [
        keras.ops.convert_to_numpy(layer)[0]
        for layer in backbone.attention_scores(row)
    ]
    tokens = [tokenizer.id_to_token(int(index)) for index in ids]
    page = attention_page(tokens, scores, title=args.text)
    with _common.new_file(args.output) as staging:
        staging.write_text(page, encoding="utf-8")
    print(f"written: {args.output}")
    layers, (heads, length) = len(scores), scores[0].shape[:2]
    return {
        "path": args.output,
        "tokens": tokens,
        "layers": layers,
        "heads": heads,
        "length": length,
    }


def attention_page(tokens, scores, title):
    """A page that needs nothing but a browser.

    Args:
        tokens: list of str.
        scores: per layer an array `[heads, to, from]` of weights that sum to
            1 over the last axis.
        title: str.
    """
    page = resources.files("keras_bert.cli").joinpath("attention.html")
    data = {
        "tokens": tokens,
        # Thousandths: three digits a weight keep the page small.
        "scores": [
            (layer * 1000).round().astype(int).tolist() for layer in scores
        ],
    }
    # "<" could end the script that holds the data.
    data = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = page.read_text("utf-8")
    page = page.replace("TITLE", html.escape(title), 2)
    return page.replace('"DATA"', data, 1)
