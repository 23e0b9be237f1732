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
    import numpy as np

    from keras_bert.models import BertBackbone
    from keras_bert.tokenizers import BertTokenizer

    _common.check_new(args.output)
    tokenizer = BertTokenizer.from_preset(args.source)
    backbone = BertBackbone.from_preset(args.source)
    ids, segments = _row(tokenizer, args.text, args.text_pair)
    longest = backbone.max_sequence_length
    if len(ids) > longest:
        raise invalid(
            "text",
            f"at most {longest} tokens with [CLS] and [SEP]",
            f"{len(ids)} tokens",
        )
    row = {
        "token_ids": np.array([ids], "int32"),
        "segment_ids": np.array([segments], "int32"),
    }
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


def _row(tokenizer, text, pair):
    """Ids and segment ids of [CLS] A [SEP], or of a pair."""
    import numpy as np

    mask = tokenizer.id_to_token(tokenizer.mask_token_id)
    ids, segments = [tokenizer.cls_token_id], [0]
    for segment, part in enumerate([text] if not pair else [text, pair]):
        for index, piece in enumerate(part.split(mask)):
            if index:
                ids.append(tokenizer.mask_token_id)
            ids += np.asarray(tokenizer(piece)).tolist()
        ids.append(tokenizer.sep_token_id)
        segments += [segment] * (len(ids) - len(segments))
    return ids, segments


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
