"""The shape of every variable, from the config alone.

Lets a checkpoint be checked, and parameters be counted, without building a
model of any size.
"""

import math

from keras_bert.checkpoints import names


def expected_shapes(backbone_config, parts=names.BACKBONE_PARTS, classes=None):
    """{our name: shape} of the given parts, in the table's order.

    Args:
        backbone_config: `BertBackbone` arguments.
        parts: which parts; the pooler only counts where the config has one.
        classes: outputs of the `classifier` part.
    """
    size = backbone_config
    vocabulary, width = size["vocabulary_size"], size["hidden_dim"]
    inner, heads = size["intermediate_dim"], size["num_heads"]
    each = width // heads
    by_end = {
        "embeddings/token_embedding/embeddings": (vocabulary, width),
        "embeddings/segment_embedding/embeddings": (
            size["num_segments"],
            width,
        ),
        "embeddings/position_embedding/embeddings": (
            size["max_sequence_length"],
            width,
        ),
        "query_key_value/kernel": (width, 3, heads, each),
        "query_key_value/bias": (3, heads, each),
        "attention_output/kernel": (heads, each, width),
        "feedforward_intermediate_dense/kernel": (width, inner),
        "feedforward_intermediate_dense/bias": (inner,),
        "feedforward_output_dense/kernel": (inner, width),
        "pooled_dense/kernel": (width, width),
        "mlm_head/intermediate_dense/kernel": (width, width),
        "mlm_head/output_bias": (vocabulary,),
        "next_sentence/kernel": (width, 2),
        "next_sentence/bias": (2,),
        "logits/kernel": (width, classes or 2),
        "logits/bias": (classes or 2,),
    }
    found = {}
    for entry in names.entries("huggingface", size["num_layers"]):
        if entry.part not in parts:
            continue
        if entry.part == "pooler" and not size["pooler"]:
            continue
        # Every other variable is a bias or a norm of the model's width.
        found[entry.name] = next(
            (
                shape
                for end, shape in by_end.items()
                if entry.name.endswith(end)
            ),
            (width,),
        )
    return found


def count(shapes):
    """The number of parameters of {name: shape}."""
    return sum(math.prod(shape) for shape in shapes.values())


def problems(checkpoint):
    """Sentences on variables that are missing or misshapen.

    The whole backbone has to be there, and of each head all or nothing.
    """
    missing, wrong = [], []
    heads = checkpoint.heads()
    expected = expected_shapes(
        checkpoint.backbone_config,
        (*names.BACKBONE_PARTS, *heads),
        _classes(checkpoint),
    )
    for name, shape in expected.items():
        if name not in checkpoint:
            if names.part_of(name) in names.BACKBONE_PARTS:
                missing.append(name)
            else:
                wrong.append(f"a head is incomplete: `{name}` is missing")
            continue
        try:
            found = checkpoint.shape(name)
        except ValueError as error:
            wrong.append(str(error))
            continue
        if found != shape:
            wrong.append(
                f"`{name}` (`{' '.join(checkpoint.foreign_names(name))}`) has "
                f"shape {found}, its config says {shape}"
            )
    if missing:
        wrong.append(
            f"{len(missing)} variables of the backbone are missing: "
            f"{', '.join(missing[:5])}"
        )
        if checkpoint.unused:
            wrong.append(f"names not understood: {checkpoint.unused[:3]}")
    return wrong


def _classes(checkpoint):
    """How many outputs the classifier has, by its kernel."""
    try:
        return checkpoint.shape("logits/kernel")[-1]
    except (KeyError, ValueError):
        return None
