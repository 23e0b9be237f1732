"""Gradients of token tables by rows train exactly as dense ones do.

Only torch on a CPU has them; the other backends must not notice.
"""

import contextlib

import keras
import numpy as np

import keras_bert as kb
from keras_bert.training import auto_compile

IDS = np.array([[2, 7, 8, 3], [2, 7, 7, 3], [2, 9, 4, 3]])


def trained(steps=4, optimizer="auto", **settings):
    keras.utils.set_random_seed(3)
    model = kb.BertTextClassifier(
        kb.BertBackbone(
            vocabulary_size=20, num_layers=1, num_heads=2, hidden_dim=8,
            intermediate_dim=16, max_sequence_length=16,
        ),
        num_classes=2,
    )  # fmt: skip
    model.compile(optimizer, **settings)
    inputs = {"token_ids": IDS}
    losses = [
        model.train_on_batch(inputs, np.array([0, 1, 1])) for _ in range(steps)
    ]
    return model, losses


def schedule():
    return kb.WarmupDecay(0.05, warmup=0.0, total_steps=10)


def test_the_same_weights_as_with_dense_gradients(monkeypatch):
    rows, _ = trained(learning_rate=schedule())
    buffers = len(rows.optimizer.row_buffers)
    # Negative control: on torch the rows were really used.
    assert buffers == (keras.config.backend() == "torch")
    monkeypatch.setattr(
        auto_compile, "row_gradients", lambda _: contextlib.nullcontext()
    )
    dense, _ = trained(learning_rate=schedule())
    assert not dense.optimizer.row_buffers
    for a, b in zip(rows.get_weights(), dense.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    # Rows that no batch holds decay all the same.
    before, _ = trained(steps=0, learning_rate=schedule())
    table, first = (
        keras.ops.convert_to_numpy(
            one.backbone.token_embedding.embeddings
        )  # fmt: skip
        for one in (rows, before)
    )
    assert np.abs(table[15]).sum() < np.abs(first[15]).sum()


def test_an_optimizer_that_cannot_read_rows_gets_dense_ones():
    for optimizer in (
        keras.optimizers.Adam(),
        kb.AdamW(1e-3, bias_correction=False),
        kb.AdamW(1e-3, global_clipnorm=None),
        kb.AdamW(1e-3, gradient_accumulation_steps=2),
        keras.optimizers.LossScaleOptimizer(kb.AdamW(1e-3)),
    ):
        model, _ = trained(steps=2, optimizer=optimizer)
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        assert not getattr(inner, "row_buffers", None)
        assert all(np.isfinite(w).all() for w in model.get_weights())
