"""What self-attention does on torch alone must not change what it learns."""

import keras
import numpy as np

from keras_bert import _backend
from keras_bert.layers import BertSelfAttention


def test_long_rows_train_alike_when_weights_are_computed_twice(monkeypatch):
    """The gradients under dropout are those of keeping the weights."""

    def gradients(long):
        monkeypatch.setattr(_backend, "_LONG", long)
        keras.utils.set_random_seed(1)
        inputs = keras.Input((6, 8))
        mask = keras.ops.ones((1, 6, 6), "bool")
        layer = BertSelfAttention(2, 8, dropout=0.5, initializer_range=0.5)
        model = keras.Model(inputs, layer(inputs, mask))
        model.compile(keras.optimizers.SGD(1.0), loss="mse")
        before = model.get_weights()
        x = np.random.default_rng(0).normal(size=(4, 6, 8))
        model.train_on_batch(x, np.ones((4, 6, 8)))
        return [a - b for a, b in zip(before, model.get_weights(), strict=True)]

    twice, once = gradients(1), gradients(1000)
    for a, b in zip(twice, once, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert max(np.abs(a).max() for a in once) > 1e-3


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
