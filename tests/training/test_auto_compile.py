"""compile("auto"): the recipe, what replaces it, what a file keeps."""

import keras
import numpy as np
import pytest

from keras_bert.training import AdamW
from keras_bert.training import MaskedLMLoss
from keras_bert.training import WarmupDecay


def data(batches):
    """Batches of two for a OneWeight."""
    return np.zeros((2 * batches, 1), "float32")


def line(start, total, warmup, peak):
    """The rates of steps start..total-1 by hand."""
    rates = [
        t / warmup if t < warmup else (total - t) / (total - warmup)
        for t in range(start, total)
    ]
    return peak * np.array(rates)


def fit(model, recorder, batches, **arguments):
    x = data(batches)
    model.fit(x, x, batch_size=2, callbacks=[recorder], **arguments)
    return recorder.values


def test_recipe_values(pretrainer, one_weight):
    """Peaks of the paper, 10% warm-up, decay 0.01, epsilon 1e-6, clip 1."""
    for model, peak in ((pretrainer, 1e-4), (one_weight, 2e-5)):
        config = model.optimizer.get_config()
        assert isinstance(model.optimizer, AdamW)
        assert config["learning_rate"]["config"]["peak"] == peak
        assert config["learning_rate"]["config"]["warmup"] == 0.1
        assert config["weight_decay"] == 0.01
        assert config["epsilon"] == 1e-6
        assert config["global_clipnorm"] == 1.0
        assert config["bias_correction"] is True


def test_each_fit_has_its_own_line_inside_the_compiled_step(one_weight, rates):
    one_weight.compile(learning_rate=0.1, metrics=None)
    one_weight.optimizer.weight_decay = None
    for batches in (10, 20):
        got = fit(one_weight, rates(), batches)
        expected = line(0, batches, batches // 10, 0.1)
        np.testing.assert_allclose(got, expected, atol=2e-6)


def test_later_epoch_goes_on_with_the_old_line(one_weight, rates):
    one_weight.compile(learning_rate=0.1)
    one_weight.optimizer.weight_decay = None
    whole = line(0, 20, 2, 0.1)
    # Stopped after the first of two epochs, then taken up.
    stop = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: setattr(
            one_weight, "stop_training", True
        )
    )
    first, second = rates(), rates()
    one_weight.fit(
        data(10), data(10), batch_size=2, epochs=2, callbacks=[first, stop]
    )
    np.testing.assert_allclose(first.values, whole[:10], atol=2e-6)
    got = fit(one_weight, second, 10, epochs=2, initial_epoch=1)
    np.testing.assert_allclose(got, whole[10:], atol=2e-6)


def test_later_epoch_of_a_new_model_begins_inside_the_line(one_weight, rates):
    one_weight.compile(learning_rate=0.1)
    one_weight.optimizer.weight_decay = None
    got = fit(one_weight, rates(), 10, epochs=2, initial_epoch=1)
    np.testing.assert_allclose(got, line(10, 20, 2, 0.1), atol=2e-6)


def test_going_on_past_the_end_of_the_line_warns(one_weight, rates):
    one_weight.fit(data(4), data(4), batch_size=2)
    with pytest.warns(UserWarning, match="initial_epoch=1.*the rate is 0"):
        fit(one_weight, rates(), 4, epochs=2, initial_epoch=1)


def test_line_counts_updates_where_gradients_are_accumulated(one_weight, rates):
    one_weight.compile(
        AdamW(
            WarmupDecay(0.1, warmup=2),
            weight_decay=None,
            gradient_accumulation_steps=2,
        )
    )
    got = fit(one_weight, rates(), 12)
    np.testing.assert_allclose(got[0::2], 0.0)
    np.testing.assert_allclose(got[1::2], line(0, 6, 2, 0.1), atol=2e-6)


def test_schedule_lives_in_an_optimizer_of_keras_too(one_weight, rates):
    """SGD does not track the span; the step is compiled anew instead."""
    schedule = WarmupDecay(0.1, warmup=1)
    one_weight.compile(keras.optimizers.SGD(schedule))
    assert not schedule.is_tracked_by(one_weight.optimizer)
    for batches in (4, 8):
        got = fit(one_weight, rates(), batches)
        np.testing.assert_allclose(got, line(0, batches, 1, 0.1), atol=1e-6)


def test_total_steps_of_the_user_stay(one_weight, rates):
    one_weight.compile(
        AdamW(WarmupDecay(0.1, 2, total_steps=8), weight_decay=None)
    )
    whole = line(0, 8, 2, 0.1)
    np.testing.assert_allclose(fit(one_weight, rates(), 3), whole[:3], 0, 2e-6)
    np.testing.assert_allclose(fit(one_weight, rates(), 3), whole[3:6], 0, 2e-6)


def test_learning_rate_may_be_a_schedule(one_weight, rates):
    constant = keras.optimizers.schedules.PiecewiseConstantDecay(
        [1], [0.1, 0.2]
    )
    one_weight.compile(learning_rate=constant)
    one_weight.optimizer.weight_decay = None
    got = fit(one_weight, rates(), 3)
    np.testing.assert_allclose(got, [0.1, 0.1, 0.2], atol=1e-5)


def test_learning_rate_with_an_own_optimizer_is_refused(one_weight):
    with pytest.raises(ValueError, match="`learning_rate`.*1e-05"):
        one_weight.compile(keras.optimizers.SGD(0.1), learning_rate=1e-5)
    with pytest.raises(ValueError, match="`learning_rate`.*above 0"):
        one_weight.compile(learning_rate=0)


def test_unknown_length_is_refused_only_for_an_open_schedule(one_weight):
    def batches():
        while True:
            yield data(1), data(1)

    with pytest.raises(ValueError, match="`steps_per_epoch`"):
        one_weight.fit(batches())
    one_weight.fit(batches(), steps_per_epoch=2)
    assert one_weight.optimizer.schedule.known_span == (0, 2)


def test_what_the_user_passes_is_used_as_passed(pretrainer):
    optimizer = keras.optimizers.SGD(0.5)
    loss = {"mask_ids": MaskedLMLoss(), "next_sentence": None}
    pretrainer.compile(optimizer, loss, metrics=None, run_eagerly=True)
    assert pretrainer.optimizer is optimizer
    assert pretrainer.loss["mask_ids"] is loss["mask_ids"]
    assert pretrainer.run_eagerly


def test_compile_in_the_words_of_keras_hub(pretrainer, pretraining_batch):
    x, y, _ = pretraining_batch
    pretrainer.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.Adam(5e-5),
        # torch's compiler needs a C++ compiler and half a minute.
        jit_compile=keras.config.backend() != "torch",
    )
    assert pretrainer.fit(x, y).history["loss"][0] > 0


def test_file_keeps_optimizer_schedule_and_next_loss(
    pretrainer, pretraining_batch, tmp_path
):
    x, y, weight = pretraining_batch
    pretrainer.compile(learning_rate=0.02)
    pretrainer.fit(x, y, sample_weight=weight, batch_size=4, epochs=2)
    pretrainer.save(tmp_path / "m.keras")
    other = keras.models.load_model(tmp_path / "m.keras")
    assert isinstance(other.optimizer, AdamW)
    assert other.optimizer.schedule.known_span == (0, 8)
    for a, b in zip(
        pretrainer.optimizer.variables, other.optimizer.variables, strict=True
    ):
        a, b = map(keras.ops.convert_to_numpy, (a, b))
        assert np.array_equal(a, b)
    # A line with a rate that is not 0, or every model would repeat its loss.
    losses = []
    for model in (pretrainer, other):
        model.optimizer.schedule.set_span(7, 20)
        losses.append(
            [float(model.train_on_batch(x, y, weight)[0]) for _ in range(4)]
        )
    assert losses[0] == losses[1]
    assert len(set(losses[0])) == 4
    # Still the recipe: the next fit lays a new line.
    other._prepare_fit(x, batch_size=8)
    assert other.optimizer.schedule.known_span == (12, 2)


def test_file_from_before_the_first_step_loads_without_a_warning(
    pretrainer, pretraining_batch, tmp_path, recwarn
):
    pretrainer.save(tmp_path / "m.keras")
    other = keras.models.load_model(tmp_path / "m.keras")
    assert not [w for w in recwarn if "optimizer" in str(w.message)]
    other._prepare_fit(pretraining_batch[0])
    assert other.optimizer.schedule.known_span == (0, 1)


def test_file_keeps_which_arguments_were_auto(pretrainer, tmp_path):
    config = pretrainer.get_compile_config()
    assert config["loss"] == config["metrics"] == "auto"
    # "auto" is answered by the backend that loads, not the one that saved.
    assert config["jit_compile"] == "auto"
    pretrainer.compile(
        keras.optimizers.Adam(0.25), metrics=None, jit_compile=False
    )
    pretrainer.save(tmp_path / "m.keras")
    other = keras.models.load_model(tmp_path / "m.keras")
    assert type(other.optimizer) is type(pretrainer.optimizer)
    assert other.optimizer.get_config()["learning_rate"] == 0.25
    again = other.get_compile_config()
    assert again["loss"] == "auto"
    assert again["metrics"] is None
    assert again["auto_optimizer"] is False
    assert again["jit_compile"] is False


def test_float16_model_keeps_its_schedule_below_the_loss_scale(
    pretrainer, pretraining_batch
):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = type(pretrainer)()
    finally:
        keras.config.set_dtype_policy("float32")
    model.compile(learning_rate=0.02)
    x, y, weight = pretraining_batch
    first = model.fit(x, y, sample_weight=weight, batch_size=4).history["loss"]
    inner = model.optimizer.inner_optimizer
    assert inner.schedule.known_span == (0, 4)
    assert inner.schedule.is_tracked_by(model.optimizer)
    last = model.fit(x, y, sample_weight=weight, batch_size=4, epochs=8)
    assert last.history["loss"][-1] < first[0]


def test_epoch_is_told_to_the_data_that_asks(one_weight):
    """As `pretraining_dataset` does, whose order follows the epoch."""

    class Batches(keras.utils.PyDataset):
        def __init__(self):
            super().__init__()
            self.keras_bert_epoch = Holder()

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return data(1), data(1)

    class Holder:
        def __init__(self):
            self.seen = []

        value = property(fset=lambda self, epoch: self.seen.append(epoch))

    batches = Batches()
    one_weight.fit(batches, epochs=4, initial_epoch=2)
    assert batches.keras_bert_epoch.seen == [2, 3]
