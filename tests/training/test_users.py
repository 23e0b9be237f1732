"""Reports of users of BERT libraries (the numbers are those of the list)."""

import keras
import numpy as np


def test_users_19_loss_moves_with_decay_and_schedule(
    pretrainer, pretraining_batch
):
    """google-research/bert#1151: it stood still until the decay was off."""
    x, y, weight = pretraining_batch
    pretrainer.compile(learning_rate=0.02)
    seen = []
    rate = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(
            float(pretrainer.optimizer.learning_rate)
        )
    )
    history = pretrainer.fit(
        x, y, sample_weight=weight, epochs=20, callbacks=[rate]
    ).history["loss"]
    assert history[-1] < 0.8 * history[0]
    # 20 steps, 2 of warm-up; seen after each of them.
    expected = [0.01, 0.02, *(0.02 * (20 - t) / 18 for t in range(3, 21))]
    np.testing.assert_allclose(seen, expected, rtol=1e-5, atol=1e-9)


def test_users_21_starting_from_weights_asks_for_no_slots(
    pretrainer, pretraining_batch, tmp_path
):
    """google-research/bert#888: "adam_m not found"."""
    x, y, weight = pretraining_batch
    pretrainer.optimizer.build(pretrainer.trainable_variables)
    pretrainer.optimizer.iterations.assign(7)
    pretrainer.save_weights(tmp_path / "m.weights.h5")
    other = type(pretrainer)()
    other.load_weights(tmp_path / "m.weights.h5")
    assert int(other.optimizer.iterations) == 0
    other.fit(x, y, sample_weight=weight, epochs=2)
    assert other.optimizer.schedule.known_span == (0, 2)


def test_users_23_recipe_warms_up_decays_and_spares_norms_and_biases(
    pretrainer, pretraining_batch
):
    """bojone/bert4keras#59: 1% less accuracy without that recipe."""
    pretrainer._prepare_fit(pretraining_batch[0], batch_size=4, epochs=5)
    optimizer = pretrainer.optimizer
    undecayed = {
        v.name
        for v in pretrainer.trainable_variables
        if not optimizer.decays(v)
    }
    assert undecayed == {"gamma", "beta", "bias"}
    decayed = {
        v.name for v in pretrainer.trainable_variables if optimizer.decays(v)
    }
    assert decayed == {"kernel", "embeddings"}
    rates = [float(optimizer.schedule(step)) for step in range(21)]
    expected = [0.0, 0.5e-4, *(1e-4 * (20 - t) / 18 for t in range(2, 21))]
    np.testing.assert_allclose(rates, expected, rtol=1e-5, atol=1e-12)
