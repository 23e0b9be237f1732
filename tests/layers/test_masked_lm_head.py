"""The masked-language-model head."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers import MaskedLMHead
from keras_bert.testing import gradients


@pytest.fixture
def table():
    table = keras.layers.Embedding(7, 4)
    table.build(None)
    return table


@pytest.fixture
def sequence():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 5, 4)).astype("float32")


def test_scores_only_the_masked_positions(table, sequence):
    head = MaskedLMHead(table)
    every = ops.convert_to_numpy(head(sequence))
    some = ops.convert_to_numpy(head(sequence, np.array([[4, 0], [2, 2]])))
    assert every.shape == (2, 5, 7)
    np.testing.assert_allclose(some[0], every[0, [4, 0]], atol=1e-6)
    np.testing.assert_allclose(some[1], every[1, [2, 2]], atol=1e-6)


def test_follows_the_table_and_does_not_own_it(table, sequence):
    head = MaskedLMHead(table)
    head.build()
    assert sorted(v.path.split("/", 1)[1] for v in head.weights) == [
        "intermediate_dense/bias",
        "intermediate_dense/kernel",
        "intermediate_layer_norm/beta",
        "intermediate_layer_norm/gamma",
        "output_bias",
    ]
    before = ops.convert_to_numpy(head(sequence))
    table.embeddings.assign(2 * table.embeddings.value)
    after = ops.convert_to_numpy(head(sequence))
    # The bias starts at zero.
    np.testing.assert_allclose(after, 2 * before, rtol=1e-5, atol=1e-6)


def test_the_table_learns_through_the_head(table, sequence):
    head = MaskedLMHead(table)
    head.build()

    def loss():
        return ops.sum(ops.square(head(sequence)))

    _, (grad,) = gradients(loss, [table.embeddings])
    assert np.all(np.any(grad != 0, axis=1))


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32_and_not_rounded(table, sequence, dtype):
    head = MaskedLMHead(table, dtype=dtype)
    logits = head(sequence)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    values = ops.convert_to_numpy(logits)
    half = dtype.removeprefix("mixed_")
    rounded = ops.convert_to_numpy(ops.cast(ops.cast(values, half), "float32"))
    assert np.any(rounded != values)


@pytest.mark.parametrize("length", [5, 1])
def test_gradients_in_bfloat16_are_those_in_float32_rounded(table, length):
    """Source: the same head in float32."""
    sequence = np.random.default_rng(0).normal(size=(2, length, 4))
    places = np.zeros((2, 3), "int32")
    found = []
    for dtype in ("float32", "mixed_bfloat16"):
        keras.utils.set_random_seed(1)
        head = MaskedLMHead(table, initializer_range=0.5, dtype=dtype)
        head.build()
        variables = [table.embeddings, *head.trainable_variables]
        variables = list({id(v): v for v in variables}.values())

        def loss(head=head):
            return ops.sum(ops.square(head(sequence, places) - 1.0))

        found.append(gradients(loss, variables)[1])
    for exact, rounded in zip(*found, strict=True):
        exact, rounded = map(ops.convert_to_numpy, (exact, rounded))
        assert rounded.dtype == "float32"
        assert np.abs(exact).max() > 0
        np.testing.assert_allclose(
            rounded, exact, atol=0.03 * np.abs(exact).max()
        )


def test_takes_activation_and_epsilon_of_the_backbone(table, sequence):
    head = MaskedLMHead(table, activation="relu", layer_norm_epsilon=0.5)
    assert head.intermediate_layer_norm.epsilon == 0.5
    logits = ops.convert_to_numpy(head(sequence))
    # By hand: dense, relu, LayerNorm, product with the table.
    kernel = ops.convert_to_numpy(head.intermediate_dense.kernel)
    x = np.maximum(sequence @ kernel, 0)
    centred = x - x.mean(-1, keepdims=True)
    x = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5)
    expected = x @ ops.convert_to_numpy(table.embeddings).T
    np.testing.assert_allclose(logits, expected, atol=1e-5)


@pytest.mark.parametrize("position", [-1, 5])
def test_positions_outside_the_row_are_refused(table, sequence, position):
    head = MaskedLMHead(table)
    with pytest.raises(ValueError, match="`mask_positions`"):
        head(sequence, np.array([[0], [position]]))
