"""What self-attention does on torch alone must not change what it learns."""

import keras
import numpy as np
import pytest

from keras_bert import _backend
from keras_bert import _torch_attention
from keras_bert.layers import BertSelfAttention


def gradients(**settings):
    """What one step of SGD at rate 1 takes from the weights of a layer."""
    keras.utils.set_random_seed(1)
    inputs = keras.Input((16, 8))
    mask = keras.ops.ones((1, 16, 16), "bool")
    layer = BertSelfAttention(2, 8, initializer_range=0.5, **settings)
    model = keras.Model(inputs, layer(inputs, mask))
    model.compile(keras.optimizers.SGD(1.0), loss="mse")
    before = model.get_weights()
    x = np.random.default_rng(0).normal(size=(4, 16, 8))
    model.train_on_batch(x, np.ones((4, 16, 8)))
    return [a - b for a, b in zip(before, model.get_weights(), strict=True)]


def test_long_rows_train_alike_when_weights_are_computed_twice(monkeypatch):
    """The gradients under dropout are those of keeping the weights."""
    monkeypatch.setattr(_backend, "_LONG", 1)
    twice = gradients(dropout=0.5)
    monkeypatch.setattr(_backend, "_LONG", 1000)
    once = gradients(dropout=0.5)
    for a, b in zip(twice, once, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert max(np.abs(a).max() for a in once) > 1e-3


def test_bfloat16_trains_alike_through_the_fused_kernel(monkeypatch):
    """Source: the kernel, which torch leaves in the training of short rows."""
    calls = []
    for name, kernel in list(_backend._FUSED.items()):

        def counted(*inputs, kernel=kernel):
            calls.append(1)
            return kernel(*inputs)

        monkeypatch.setitem(_backend._FUSED, name, counted)
    plain = gradients(dropout=0.0, dtype="mixed_bfloat16")
    left = len(calls)
    monkeypatch.setattr(_torch_attention, "_SHORT", 0)
    fused = gradients(dropout=0.0, dtype="mixed_bfloat16")
    if keras.config.backend() == "torch":
        # Building the model asks for the kernel, training does not.
        assert len(calls) - left > left
    for a, b in zip(plain, fused, strict=True):
        np.testing.assert_allclose(a, b, atol=0.01 * np.abs(b).max())
    assert max(np.abs(a).max() for a in fused) > 1e-2


@pytest.mark.parametrize("length", [1, 5, 16, 20])
def test_the_way_with_dropout_is_the_fused_kernel_where_none_drops(length):
    """Source: the attention kernel of the backend, which takes another way."""
    random = np.random.default_rng(0)
    query, key, value = (
        keras.ops.convert_to_tensor(
            random.normal(size=(3, length, 2, 4)).astype("float32")
        )
        for _ in range(3)
    )
    mask = random.random((3, length, length)) < 0.7
    mask[1, 0] = False
    mask = keras.ops.convert_to_tensor(mask)

    class KeepAll:
        rate = 0.0

        @staticmethod
        def call(weights, training):
            return weights

    plain = _backend.attention(query, key, value, mask, KeepAll)
    fused = _backend.attention(query, key, value, mask)
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(plain),
        keras.ops.convert_to_numpy(fused),
        atol=1e-6,
    )


def test_an_adapted_projection_is_asked_itself():
    """LoRA adds to the kernel what a product of our own must not miss."""
    keras.utils.set_random_seed(1)
    layer = BertSelfAttention(2, 8)
    x = np.random.default_rng(0).normal(size=(1, 4, 8)).astype("float32")
    mask = np.ones((1, 4, 4), "bool")
    plain = keras.ops.convert_to_numpy(layer(x, mask))
    layer.query_key_value.enable_lora(2)
    for weight in layer.query_key_value.trainable_weights:
        weight.assign(np.ones(weight.shape))
    adapted = keras.ops.convert_to_numpy(layer(x, mask))
    assert np.abs(plain - adapted).max() > 0.01
