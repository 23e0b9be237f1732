"""Cross-entropy over the tokens and pairs that count."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.training import MaskedLMLoss
from keras_bert.training import NextSentenceLoss


def value(loss, y, logits, weight=None):
    return float(ops.convert_to_numpy(loss(y, logits, weight)))


def test_uniform_logits_cost_the_log_of_the_vocabulary():
    # Hand arithmetic: every token has the probability 1/4.
    assert value(MaskedLMLoss(), [[3, 0]], np.zeros((1, 2, 4))) == (
        pytest.approx(np.log(4))
    )


def test_loss_equals_torch_over_the_masked_tokens_of_the_whole_batch():
    import torch

    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (3, 4, 9)).astype("float32")
    labels = rng.integers(0, 9, (3, 4))
    # Rows with 4, 1 and 0 masked tokens: not the mean of the rows' means.
    weight = np.array([[1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], "float32")
    masked = np.where(weight > 0, labels, -100)
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(logits).reshape(-1, 9), torch.tensor(masked).reshape(-1)
    )
    got = value(MaskedLMLoss(), labels, logits, weight)
    assert got == pytest.approx(float(expected), rel=1e-5)


def test_weights_other_than_one_weigh():
    logits = np.log([[[0.5, 0.5], [0.25, 0.75]]])
    # (3 * log 2 + 1 * log 4) / 4
    got = value(MaskedLMLoss(), [[0, 0]], logits, [[3.0, 1.0]])
    assert got == pytest.approx(1.25 * np.log(2), rel=1e-5)


def test_one_weight_per_row_counts_for_all_its_tokens():
    logits = np.log([[[0.5, 0.5]] * 3, [[0.25, 0.75]] * 3])
    got = value(MaskedLMLoss(), np.zeros((2, 3)), logits, [0.0, 1.0])
    assert got == pytest.approx(np.log(4), rel=1e-5)


def test_nothing_masked_costs_zero_and_moves_nothing():
    model = keras.Sequential([keras.Input((2, 3)), keras.layers.Dense(4)])
    model.compile(keras.optimizers.SGD(1.0), MaskedLMLoss())
    before = model.get_weights()
    x, y = np.ones((2, 2, 3)), np.zeros((2, 2))
    assert model.train_on_batch(x, y, np.zeros((2, 2))) == 0.0
    for a, b in zip(before, model.get_weights(), strict=True):
        assert np.array_equal(a, b)
    # The control: with a weight they move.
    assert model.train_on_batch(x, y, np.ones((2, 2))) > 0
    assert not np.array_equal(before[0], model.get_weights()[0])


def test_infinite_loss_at_weight_zero_does_not_count():
    logits = np.array([[[0.0, 0.0], [-np.inf, 0.0]]], "float32")
    got = value(MaskedLMLoss(), [[0, 0]], logits, [[1.0, 0.0]])
    assert got == pytest.approx(np.log(2))


def test_half_precision_logits_are_summed_in_float32():
    # exp(12) is above the largest float16.
    logits = ops.cast(np.full((1, 1, 30), 12.0), "float16")
    loss = MaskedLMLoss()([[0]], logits)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    assert float(loss) == pytest.approx(np.log(30), rel=1e-6)


def test_next_sentence_loss_of_rows_and_of_packed_pairs():
    logits = np.log([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4]])
    labels = np.array([0, 1, 1, 0])
    chosen = -np.log([0.9, 0.8, 0.5, 0.6])
    loss = NextSentenceLoss()
    assert value(loss, labels, logits) == pytest.approx(chosen.mean(), 1e-5)
    packed = logits.reshape(2, 2, 2), labels.reshape(2, 2)
    weight = np.array([[1, 1], [1, 0]])
    got = value(loss, packed[1], packed[0], weight)
    assert got == pytest.approx(chosen[:3].mean(), rel=1e-5)


def test_losses_of_dict_outputs_train_by_name(pretrainer, pretraining_batch):
    x, y, weight = pretraining_batch
    pretrainer.compile(learning_rate=0.05)
    history = pretrainer.fit(
        x, y, sample_weight=weight, batch_size=8, epochs=15
    ).history
    total = np.add(history["mask_ids_loss"], history["next_sentence_loss"])
    np.testing.assert_allclose(history["loss"], total, rtol=1e-5)
    assert history["mask_ids_loss"][-1] < 0.5 * history["mask_ids_loss"][0]
    assert history["mask_ids_accuracy"][-1] > history["mask_ids_accuracy"][0]


@pytest.mark.parametrize("loss", [MaskedLMLoss(), NextSentenceLoss()])
def test_losses_are_registered(loss):
    config = keras.saving.serialize_keras_object(loss)
    assert config["registered_name"] == f"keras_bert>{type(loss).__name__}"
    other = keras.saving.deserialize_keras_object(config)
    assert type(other) is type(loss) and other.name == loss.name
