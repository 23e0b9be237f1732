"""Activations, initializer, LayerNorm and dropout of the layers."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert import _backend
from keras_bert.layers import BertEmbeddings
from keras_bert.layers import BertEncoderBlock
from keras_bert.layers import _parts


@pytest.mark.parametrize(
    ("name", "at_one"),
    [
        # spec/bert.md A.3: gelu(1) = 0.841345 erf / 0.841192 tanh.
        ("gelu", 0.841345),
        ("gelu_new", 0.841192),
        ("gelu_approximate", 0.841192),
        ("gelu_pytorch_tanh", 0.841192),
        ("relu", 1.0),
        ("tanh", 0.761594),
        ("linear", 1.0),
    ],
)
def test_activations_by_name(name, at_one):
    x = ops.convert_to_tensor(np.array([1.0, -9.0], "float32"))
    got = ops.convert_to_numpy(_parts.activation_function(name)(x))
    assert abs(got[0] - at_one) < 2e-6
    lowest = {"tanh": -1.0, "linear": -9.0}.get(name, 0.0)
    assert abs(got[1] - lowest) < 1e-6


@pytest.mark.parametrize("name", ["gelu2", "", None, 3])
def test_unknown_activation_is_refused_by_name(name):
    with pytest.raises(ValueError, match="`activation`.*gelu_new"):
        BertEncoderBlock(2, 8, 16, activation=name)


def test_initial_weights_are_cut_at_two_deviations():
    """spec/bert.md A.3: standard deviation 0.02 becomes 0.017593."""
    layer = BertEmbeddings(5000, 64)
    layer.build()
    table = ops.convert_to_numpy(layer.token_embedding.embeddings)
    assert abs(table.std() - 0.017593) < 1e-4
    # Keras on PyTorch redraws a value four times at most: one in 200,000
    # may lie outside.
    assert (np.abs(table) > 0.04 + 1e-6).mean() < 1e-4
    assert abs(table.mean()) < 2e-4


def test_no_two_weights_start_equal():
    """One Keras initializer used twice gives the same values."""
    layer = BertEmbeddings(16, 8, max_sequence_length=16)
    layer.build()
    token = ops.convert_to_numpy(layer.token_embedding.embeddings)
    position = ops.convert_to_numpy(layer.position_embedding.embeddings)
    assert not np.allclose(token, position)


def test_layer_norm_epsilon_reaches_every_norm():
    block = BertEncoderBlock(2, 8, 16, layer_norm_epsilon=1e-7)
    assert block.self_attention_layer_norm.epsilon == 1e-7
    assert block.feedforward_layer_norm.epsilon == 1e-7
    assert BertEmbeddings(9, 8).layer_norm.epsilon == 1e-12


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layer_norm_is_float32_inside(dtype):
    """A variance of 1e-8 is 0 in float16, and 1e-12 as well: 0/0."""
    norm = _parts.layer_norm(1e-12, f"mixed_{dtype}", "norm")
    x = ops.cast(np.array([[1e-4, -1e-4, 1e-4, -1e-4]]), dtype)
    got = ops.convert_to_numpy(ops.cast(norm(x), "float32"))
    np.testing.assert_allclose(got, [[1, -1, 1, -1]], atol=1e-2)


@pytest.mark.parametrize("rate", [-0.1, 1.0, "0.1"])
def test_rates_outside_the_range_are_refused(rate):
    with pytest.raises(ValueError, match="`dropout`"):
        BertEmbeddings(9, 8, dropout=rate)
    with pytest.raises(ValueError, match="`attention_dropout`"):
        BertEncoderBlock(2, 8, 16, attention_dropout=rate)


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_sizes_below_one_are_refused(size):
    with pytest.raises(ValueError, match="`vocabulary_size`"):
        BertEmbeddings(size, 8)


def test_dropout_keeps_the_mean_and_changes_each_time():
    keras.utils.set_random_seed(1)
    dropout = _parts.Dropout(0.25)
    x = np.ones((100, 100), "float32")
    first = ops.convert_to_numpy(dropout(x, training=True))
    second = ops.convert_to_numpy(dropout(x, training=True))
    values = sorted(set(first.ravel().tolist()))
    np.testing.assert_allclose(values, [0, 1 / 0.75], atol=1e-6)
    assert abs((first == 0).mean() - 0.25) < 0.02
    assert (first != second).any()
    np.testing.assert_array_equal(
        ops.convert_to_numpy(dropout(x, training=False)), x
    )


def test_dropout_drops_the_share_it_is_told():
    keras.utils.set_random_seed(0)
    x = np.ones((500, 401), "float32")
    for rate in (0.1, 0.5):
        layer = _parts.Dropout(rate)
        y = ops.convert_to_numpy(layer(x, training=True))
        # 200,500 draws: the deviation of their share is below 0.0012.
        assert abs((y == 0).mean() - rate) < 0.005
        np.testing.assert_allclose(y[y != 0], 1 / (1 - rate), rtol=1e-3)
        assert abs(y.mean() - 1) < 0.01
        again = ops.convert_to_numpy(layer(x, training=True))
        assert ((y == 0) != (again == 0)).mean() > rate * (1 - rate)
        # Neighbours are independent, though several come from one number.
        both = ((y[:, 1:] == 0) & (y[:, :-1] == 0)).mean()
        assert abs(both - rate**2) < 0.005


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "float16"])
def test_normalize_is_the_layer_of_keras(policy):
    """Source: keras.layers.LayerNormalization, which it may go round."""
    layer = _parts.layer_norm(1e-12, policy, "norm")
    layer.build((None, None, 24))
    random = np.random.default_rng(0)
    layer.gamma.assign(random.normal(size=24))
    layer.beta.assign(random.normal(size=24))
    x = ops.cast(random.normal(size=(2, 5, 24)), layer.compute_dtype)
    expected, found = layer(x), _backend.normalize(layer, x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        ops.convert_to_numpy(ops.cast(found, "float32")),
        ops.convert_to_numpy(ops.cast(expected, "float32")),
        atol=1e-6,
    )
