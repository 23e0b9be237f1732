"""Padding and packing change nothing for a sequence."""

import keras
import numpy as np
from keras import ops

from keras_bert.testing.gradients import gradients

# All different, so that the gradient of a token's row of the table is the
# gradient of the input at that token's place.
_FIRST = [2, 5, 6, 7, 8, 3]
_SECOND = [9, 10, 11, 12]
_OTHER = [13, 14, 15, 16]


def check_padding_invariance(model, columns=(8, 16, 32)):
    """Assert that a sequence of six gets the same outputs in wider rows.

    Args:
        model: a backbone, or a model with outputs per example or per
            position; at least 17 token ids and two heads of any kind.
        columns: the row lengths to compare.
    """
    reference = None
    for length in columns:
        row = _row(_FIRST, [], length)
        # What stands in the padding must not matter either.
        row["token_ids"][0, len(_FIRST) :] = 9
        outputs = [
            x[:, : len(_FIRST)] if x.ndim == 3 and x.shape[1] == length else x
            for x in _numpy(model(row, training=False))
        ]
        reference = reference or outputs
        for output, wanted in zip(outputs, reference, strict=True):
            np.testing.assert_allclose(
                output, wanted, rtol=0, atol=1e-5, err_msg=f"{length} columns"
            )


def check_packing_invariance(model, token_embedding, extra=None):
    """Assert that the second sequence of a row does not touch the first.

    With every token of the second sequence exchanged, the outputs of the
    first and its input gradients stay within 1e-6; both are within 1e-5 of
    what the first sequence gives alone. All dropout rates have to be 0.

    Args:
        model: callable on a dict of ids. Of each output of rank 3 the first
            sequence's part is compared: its columns where the axis is as
            long as the row, else the first entry (of `cls_positions`, of
            `mask_positions`).
        token_embedding: the layer whose `embeddings` the model reads.
        extra: dict of further inputs, such as `mask_positions` `[[1, 8]]`.
    """
    length = len(_FIRST) + len(_SECOND)
    packed = _row(_FIRST, _SECOND, length)
    exchanged = _row(_FIRST, _OTHER, length)
    alone = _row(_FIRST, [], len(_FIRST))
    for row in (packed, exchanged):
        row.update(extra or {})
    alone.update({name: x[:, :1] for name, x in (extra or {}).items()})

    outputs, grads = _first_part(model, token_embedding, packed)
    other = _first_part(model, token_embedding, exchanged)
    single = _first_part(model, token_embedding, alone)
    for (got, got_grads), tolerance, what in (
        (other, 1e-6, "second sequence exchanged"),
        (single, 1e-5, "first sequence alone"),
    ):
        for a, b in zip([*got, got_grads], [*outputs, grads], strict=True):
            np.testing.assert_allclose(
                a, b, rtol=0, atol=tolerance, err_msg=what
            )
    assert np.abs(grads).max() > 1e-4, "the input gradients are all zero"


def _row(first, second, length):
    count = len(first) + len(second)
    numbers = [1] * len(first) + [2] * len(second) + [0] * (length - count)
    columns = [0] if not second else [0, len(first)]
    return {
        "token_ids": np.array([first + second + [0] * (length - count)]),
        "padding_mask": np.array([numbers]),
        "cls_positions": np.array([columns]),
    }


def _numpy(outputs):
    return [ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)]


def _first_part(model, token_embedding, row):
    length = row["token_ids"].shape[1]

    def first():
        flat = keras.tree.flatten(model(row, training=False))
        return [
            x[:, : len(_FIRST)] if x.shape[1] == length else x[:, :1]
            for x in flat
        ]

    outputs = _numpy(first())
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=x.shape).astype("float32") for x in outputs]

    def loss():
        return sum(
            ops.sum(ops.multiply(x, w))
            for x, w in zip(first(), weights, strict=True)
        )

    table = token_embedding.trainable_variables[0]
    return outputs, gradients(loss, [table])[1][0][_FIRST]


def check_fully_padded_row(build, policies=None):
    """Assert finite outputs and gradients when a row is all padding.

    Args:
        build: callable that takes `dtype` and makes a model on a dict of
            `token_ids` and `padding_mask`.
        policies: dtype policies to try.
    """
    policies = policies or ("float32", "mixed_bfloat16", "mixed_float16")
    row = {
        "token_ids": np.array([[2, 5, 6, 3], [0, 0, 0, 0]]),
        "padding_mask": np.array([[1, 1, 1, 0], [0, 0, 0, 0]]),
    }
    for policy in policies:
        model = build(dtype=policy)

        def loss(model=model):
            flat = keras.tree.flatten(model(row, training=False))
            return sum(
                ops.mean(ops.square(ops.cast(x, "float32"))) for x in flat
            )

        for output in keras.tree.flatten(model(row, training=False)):
            output = ops.convert_to_numpy(ops.cast(output, "float32"))
            assert np.isfinite(output).all(), policy
        value, grads = gradients(loss, model.trainable_variables)
        assert np.isfinite(value), policy
        for variable, grad in zip(
            model.trainable_variables, grads, strict=True
        ):
            if grad is not None:
                finite = np.isfinite(grad.astype("float32")).all()
                assert finite, f"{policy}: {variable.path}"
