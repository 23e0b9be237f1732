"""`keras-bert features`: hidden states of texts, as JSON lines.

One line per line of the input, in the layout that extract_features.py of the
original wrote:

    {"linex_index": 0, "features": [
        {"token": "[CLS]", "layers": [
            {"index": -1, "values": [0.1, ...]}, ...]}, ...]}

Values are rounded to six decimals, layer -1 is the last block's output, and
`text_a ||| text_b` is a pair.
"""

import json
import re
from pathlib import Path

import numpy as np

from keras_bert._errors import invalid
from keras_bert.cli._common import counted
from keras_bert.cli._common import new_file
from keras_bert.cli._common import positive_int

NAME = "features"
HELP = "Write the hidden states of each token of a text file as JSON lines."
EXAMPLE = (
    "keras-bert features bert_tiny input.txt -o output.jsonl --layers -1,-2"
)
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="run, folder, checkpoint prefix, preset name or hf://owner/name",
    )
    parser.add_argument(
        "file", metavar="FILE", help="a text a line; `a ||| b` is a pair"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="new file of JSON lines to write",
    )
    parser.add_argument(
        "--layers",
        default="-1,-2,-3,-4",
        type=_layers,
        metavar="LIST",
        help="layers to write, counted from the end (default: -1,-2,-3,-4)",
    )
    parser.add_argument(
        "--sequence-length",
        type=positive_int,
        default=128,
        metavar="N",
        help="the most tokens of a line; the rest is cut off (default: 128)",
    )
    parser.add_argument(
        "--batch-size",
        type=positive_int,
        default=32,
        metavar="N",
        help="lines computed at once (default: 32)",
    )
    _accept_negative_list(parser)


def _layers(text):
    return [int(number) for number in text.split(",")]


_layers.__name__ = "list of layers"


def _accept_negative_list(parser):
    """Lets `--layers -1,-2` be written with a space.

    argparse takes a lone `-1` for a number but `-1,-2` for an option.
    """
    parse = parser.parse_known_args

    def parse_joined(args=None, namespace=None):
        joined = []
        for arg in args or []:
            if joined and joined[-1] == "--layers":
                joined[-1] = f"--layers={arg}"
            else:
                joined.append(arg)
        return parse(joined, namespace)

    parser.parse_known_args = parse_joined


def run(args):
    import keras

    from keras_bert.checkpoints import load_weights
    from keras_bert.checkpoints import open_source
    from keras_bert.data import SegmentJoiner
    from keras_bert.models import BertBackbone
    from keras_bert.tokenizers import BertTokenizer

    path = Path(args.file)
    if not path.is_file():
        raise invalid("FILE", "an existing text file", args.file)
    lines = path.read_bytes().decode("utf-8", "ignore").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    checkpoint = open_source(args.source)
    layers = checkpoint.backbone_config["num_layers"]
    wrong = [i for i in args.layers if not -layers <= i < layers]
    if wrong:
        raise invalid(
            "--layers", f"numbers from {-layers} to {layers - 1}", wrong
        )
    if checkpoint.tokenizer_arguments is None:
        raise invalid("SOURCE", "a checkpoint with a vocabulary", args.source)
    tokenizer = BertTokenizer(**checkpoint.tokenizer_arguments)
    longest = checkpoint.backbone_config["max_sequence_length"]
    joiner = SegmentJoiner(
        tokenizer, sequence_length=min(args.sequence_length, longest)
    )
    backbone = BertBackbone(**checkpoint.backbone_config)
    load_weights(backbone, checkpoint)
    # One compiled graph instead of one call per operation; the embeddings'
    # output is no layer here, as in the original.
    states = backbone.hidden_states(backbone.input)[1:]
    model = keras.Model(backbone.input, [states[i] for i in args.layers])
    with (
        new_file(args.output) as staging,
        staging.open("w", encoding="utf-8") as file,
    ):
        for start in range(0, len(lines), args.batch_size):
            batch = lines[start : start + args.batch_size]
            for offset, features in enumerate(
                _features(batch, model, tokenizer, joiner, args)
            ):
                line = {"linex_index": start + offset, "features": features}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            done = start + len(batch)
            print(f"{done:,} of {counted(len(lines), 'line')}")
    return {"output": str(args.output), "lines": len(lines)}


def _features(lines, model, tokenizer, joiner, args):
    """The `features` list of each line of one batch."""
    rows = [_row(line.strip(), tokenizer, joiner) for line in lines]
    # Every batch has the same number of rows and few different lengths, so
    # that few graphs are compiled.
    rows += [rows[-1]] * (args.batch_size - len(rows))
    ids = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    counts = ids["padding_mask"].sum(axis=1)
    longest = min(-(-int(counts.max()) // 32) * 32, len(rows[0]["token_ids"]))
    ids = {key: value[:, :longest] for key, value in ids.items()}
    outputs = model.predict_on_batch(ids)
    if not isinstance(outputs, list):
        outputs = [outputs]
    for row in range(len(lines)):
        yield [
            {
                "token": tokenizer.id_to_token(
                    int(ids["token_ids"][row, column])
                ),
                "layers": [
                    {
                        "index": index,
                        "values": [
                            round(float(value), 6)
                            for value in states[row, column]
                        ],
                    }
                    for index, states in zip(args.layers, outputs, strict=True)
                ],
            }
            for column in range(counts[row])
        ]


def _row(line, tokenizer, joiner):
    pair = _PAIR.match(line)
    if pair:
        parts = tuple(tokenizer(part) for part in pair.groups())
    else:
        parts = tokenizer(line)
    return {key: np.asarray(value) for key, value in joiner(parts).items()}
