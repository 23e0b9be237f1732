"""Which layers of an encoder learn, how fast, and from what start.

The functions take a backbone: an object with `embeddings`, `encoder_blocks`
(lowest first), `pooled_dense` (or None) and `initializer_range`.
"""

import keras

from keras_bert._errors import invalid


def layer_wise_factors(backbone, decay):
    """Factors of the learning rate, for `AdamW(rate_factors=...)`.

    The top block, the pooler and the head keep the rate; every block below
    has `decay` times the rate of the one above it, the embeddings likewise.

    Args:
        backbone: a `BertBackbone`.
        decay: float in (0, 1].
    """
    if not 0 < decay <= 1:
        raise invalid("layer_decay", "a factor above 0, at most 1", decay)
    blocks = backbone.encoder_blocks
    factors = {
        f"{block.name}/": decay ** (len(blocks) - 1 - i)
        for i, block in enumerate(blocks)
    }
    factors[f"{backbone.embeddings.name}/"] = decay ** len(blocks)
    return factors


def freeze_bottom(backbone, layers):
    """Freezes the embeddings and the lowest blocks. Compile afterwards.

    Args:
        backbone: a `BertBackbone`.
        layers: int. How many blocks; 0 freezes the embeddings alone.
    """
    count = len(backbone.encoder_blocks)
    if not 0 <= layers <= count:
        raise invalid("freeze_layers", f"0 to {count} blocks", layers)
    backbone.embeddings.trainable = False
    for block in backbone.encoder_blocks[:layers]:
        block.trainable = False


def reinitialise_top(backbone, layers):
    """Draws the pooler and the highest blocks anew.

    The top of a pretrained encoder is close to its old task; on small data
    sets a new one often learns better and more surely (Zhang et al., 2021).

    Args:
        backbone: a `BertBackbone`.
        layers: int. How many blocks, at least 1.
    """
    count = len(backbone.encoder_blocks)
    if not 1 <= layers <= count:
        raise invalid("reinitialise_layers", f"1 to {count} blocks", layers)
    parts = backbone.encoder_blocks[count - layers :]
    if backbone.pooled_dense is not None:
        parts = [*parts, backbone.pooled_dense]
    draw = keras.initializers.TruncatedNormal(
        stddev=backbone.initializer_range,
        seed=keras.random.SeedGenerator(),
    )
    for part in parts:
        for variable in part.weights:
            if variable.name == "kernel":
                value = draw(variable.shape, dtype=variable.dtype)
            elif variable.name == "gamma":
                value = keras.ops.ones(variable.shape, variable.dtype)
            elif variable.name in ("bias", "beta"):
                value = keras.ops.zeros(variable.shape, variable.dtype)
            else:  # The state of the dropout's random numbers.
                continue
            variable.assign(value)
