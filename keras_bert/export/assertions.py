"""The checks of ids and lengths as part of an exported graph.

In the process that trains, `keras_bert.layers.id_checks` reads the values and
raises. A SavedModel has nobody to do that: TensorFlow on a GPU or under XLA
clamps or zero-fills such an id silently, so the graph itself must refuse it.
"""

from keras_bert._tensorflow import tensorflow


def checked_ids(inputs, model):
    """The inputs, each behind assertions that hold both numbers.

    Args:
        inputs: dict of int tensors `[..., length]`.
        model: an object with `vocabulary_size`, `num_segments` and
            `max_sequence_length`, or one whose `backbone` has them.
    """
    tf = tensorflow()
    limits = getattr(model, "backbone", model)
    length = tf.shape(inputs["token_ids"])[-1]
    checks = [
        tf.debugging.assert_less_equal(
            length,
            limits.max_sequence_length,
            message=_message(
                "token_ids",
                "rows of at most max_sequence_length="
                f"{limits.max_sequence_length}",
            ),
        )
    ]
    for name, x in inputs.items():
        # Of an empty batch these are the largest and the smallest integer.
        low, high = tf.reduce_min(x), tf.reduce_max(x)
        checks.append(
            tf.debugging.assert_non_negative(
                low, message=_message(name, "numbers of at least 0")
            )
        )
        limit, limit_name = {
            "token_ids": (
                limits.vocabulary_size,
                f"vocabulary_size={limits.vocabulary_size}",
            ),
            "segment_ids": (
                limits.num_segments,
                f"num_segments={limits.num_segments}",
            ),
            "mask_positions": (length, "the row length"),
            "cls_positions": (length, "the row length"),
        }.get(name, (None, None))
        if limit is not None:
            checks.append(
                tf.debugging.assert_less(
                    high,
                    limit,
                    message=_message(name, f"numbers below {limit_name}"),
                )
            )
        if name in ("segment_ids", "padding_mask"):
            checks.append(
                tf.debugging.assert_equal(
                    tf.shape(x),
                    tf.shape(inputs["token_ids"]),
                    message=_message(name, "the shape of token_ids"),
                )
            )
    with tf.control_dependencies(checks):
        return {name: tf.identity(x) for name, x in inputs.items()}


def _message(name, expected):
    return (
        f"Invalid value received for argument `{name}`. Expected {expected}. "
        "Received (x below):"
    )
