"""The 25 released sizes of BERT by name.

The 24 small sizes of 2020 have layers 2 to 12 and widths 128 to 768; five of
them have names of their own. All have heads of 64 and a feed-forward network
of four times the width.
"""

from keras_bert._errors import invalid

_NAMED = {
    (2, 128): "bert_tiny",
    (4, 256): "bert_mini",
    (4, 512): "bert_small",
    (8, 512): "bert_medium",
    (12, 768): "bert_base",
    (24, 1024): "bert_large",
}

_SHAPES = [
    (layers, hidden)
    for hidden in (128, 256, 512, 768)
    for layers in (2, 4, 6, 8, 10, 12)
] + [(24, 1024)]

# Name -> (layers, hidden width), smallest width first.
SIZES = {
    _NAMED.get(shape, f"bert_l{shape[0]}_h{shape[1]}"): shape
    for shape in _SHAPES
}


def size_arguments(name):
    """The arguments of `BertBackbone` that make up the named size."""
    if name not in SIZES:
        raise invalid("name", f"one of {', '.join(SIZES)}", name)
    layers, hidden = SIZES[name]
    return {
        "num_layers": layers,
        "num_heads": hidden // 64,
        "hidden_dim": hidden,
        "intermediate_dim": 4 * hidden,
    }
