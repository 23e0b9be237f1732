"""The private attention function against the formula."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert import _backend
from keras_bert.layers import BertSelfAttention
from keras_bert.layers._parts import Dropout
from keras_bert.testing import gradients


def random(*shape, scale=1.0):
    rng = np.random.default_rng(len(shape))
    return ops.convert_to_tensor(
        (scale * rng.normal(size=shape)).astype("float32")
    )


def packed_mask():
    """Two sequences and one padding in a row of five; a row of padding."""
    numbers = np.array([[1, 1, 2, 2, 0], [0, 0, 0, 0, 0]])
    same = numbers[:, :, None] == numbers[:, None, :]
    return ops.convert_to_tensor(same & (numbers > 0)[:, :, None])


def by_hand(q, k, v, mask):
    """softmax(q k / sqrt(d)) v over the allowed keys, in float64."""
    q, k, v, mask = (ops.convert_to_numpy(x) for x in (q, k, v, mask))
    out = np.zeros(v.shape)
    for b, i, n in np.ndindex(q.shape[:3]):
        keys = np.flatnonzero(mask[b, i])
        if len(keys):
            logits = k[b, keys, n].astype("float64") @ q[b, i, n]
            weights = np.exp(logits / np.sqrt(q.shape[-1]))
            out[b, i, n] = weights / weights.sum() @ v[b, keys, n]
    return out


def test_equals_the_formula_and_gives_zeros_where_no_key(attention_form):
    q, k, v = (
        random(2, 5, 2, 4),
        random(2, 5, 2, 4, scale=2),
        random(2, 5, 2, 4),
    )
    mask = packed_mask()
    context = ops.convert_to_numpy(_backend.attention(q, k, v, mask))
    np.testing.assert_allclose(context, by_hand(q, k, v, mask), atol=1e-5)
    assert np.all(context[0, 4] == 0) and np.all(context[1] == 0)


def test_weights_of_masked_keys_are_exactly_zero():
    q = random(2, 5, 2, 4, scale=1e3)
    scores = ops.convert_to_numpy(
        _backend.attention_scores(q, q, packed_mask())
    )
    mask = ops.convert_to_numpy(packed_mask())[:, None]
    assert np.all(scores[~np.broadcast_to(mask, scores.shape)] == 0)
    np.testing.assert_allclose(scores[0, :, :4].sum(-1), 1, atol=1e-6)


def test_a_huge_masked_value_does_not_leak(attention_form):
    """An additive mask of -10000 would be out-scored here (users 48)."""
    q = random(1, 3, 1, 4, scale=1e3)
    mask = ops.convert_to_tensor([[[True, False, True]] * 3])
    v = np.ones((1, 3, 1, 4), "float32")
    v[:, 1] = 1e30
    v = ops.convert_to_tensor(v)
    context = ops.convert_to_numpy(_backend.attention(q, q, v, mask))
    np.testing.assert_allclose(context, 1.0, atol=1e-5)


def test_float16_logits_past_65504_stay_finite(attention_form):
    """|q| |k| = 300 * 300 * 64 would overflow float16 before the softmax."""
    q = ops.full((1, 2, 1, 64), 300.0, dtype="float16")
    v = ops.convert_to_tensor(np.ones((1, 2, 1, 64), "float16"))
    mask = ops.ones((1, 2, 2), dtype="bool")
    context = ops.convert_to_numpy(_backend.attention(q, q, v, mask))
    np.testing.assert_array_equal(context, np.ones((1, 2, 1, 64)))


def test_dropout_acts_on_the_weights():
    q = random(1, 3, 1, 4)
    mask = ops.ones((1, 3, 3), dtype="bool")
    dropout = SimpleNamespace(rate=0.5, call=lambda w, training: w * 0)
    context = _backend.attention(q, q, q, mask, dropout=dropout)
    assert np.all(ops.convert_to_numpy(context) == 0)


def test_a_weight_is_dropped_or_scaled_up():
    """Read off with one-hot values: 0, or the weight over 1 - rate."""
    rate, length = 0.25, 64
    q = random(2, length, 2, length)
    one_hot = ops.broadcast_to(
        ops.eye(length)[None, :, None], (2, length, 2, length)
    )
    mask = ops.ones((2, length, length), dtype="bool")
    plain, dropped = (
        ops.convert_to_numpy(_backend.attention(q, q, one_hot, mask, dropout))
        for dropout in (None, Dropout(rate))
    )
    kept = dropped > 0
    # 16,384 draws: four standard deviations are 0.0135.
    assert abs(kept.mean() - (1 - rate)) < 0.0135
    expected = np.where(kept, plain / (1 - rate), 0)
    np.testing.assert_allclose(dropped, expected, rtol=1e-3, atol=1e-6)


def layer(rate):
    return BertSelfAttention(1, 8, dropout=rate, initializer_range=0.3)


def test_attention_dropout_only_in_training():
    attention = layer(0.5)
    x, mask = random(1, 6, 8), np.ones((1, 6, 6), "bool")
    calm = [
        ops.convert_to_numpy(attention(x, mask, training=False))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*calm)
    wild = ops.convert_to_numpy(attention(x, mask, training=True))
    assert np.abs(wild - calm[0]).max() > 1e-3


def test_inactive_dropout_takes_the_fused_kernel(monkeypatch):
    """Keras' own layer never does when its rate is above 0 (speed.md 2.2)."""
    calls = []

    def fused(query, key, value, mask):
        calls.append(1)
        return value

    monkeypatch.setattr(_backend, "_FUSED", {keras.config.backend(): fused})
    x, mask = random(1, 3, 8), np.ones((1, 3, 3), "bool")
    layer(0.1)(x, mask, training=False)
    layer(0.0)(x, mask, training=True)
    assert len(calls) == 2
    layer(0.1)(x, mask, training=True)
    assert len(calls) == 2


def test_one_matrix_holds_query_key_and_value():
    attention = layer(0.0)
    attention.build()
    shapes = {v.path.split("/", 1)[1]: v.shape for v in attention.weights}
    assert shapes == {
        "query_key_value/kernel": (8, 3, 1, 8),
        "query_key_value/bias": (3, 1, 8),
        "attention_output/kernel": (1, 8, 8),
        "attention_output/bias": (8,),
    }


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="hidden_dim"):
        BertSelfAttention(3, 8)


def test_gradients_of_a_row_without_keys_are_finite(attention_form):
    attention = layer(0.0)
    attention.build()
    x = random(2, 5, 8)

    def loss():
        return ops.sum(ops.square(attention(x, packed_mask())))

    value, grads = gradients(loss, attention.trainable_variables)
    assert np.isfinite(value)
    assert all(np.isfinite(grad).all() for grad in grads)
