"""A batch in parts has the gradient of the whole."""

import keras
import numpy as np
import pytest

from keras_bert.training import Accumulation
from tests.training.conftest import TinyPretrainer


class Accumulating(Accumulation, TinyPretrainer):
    pass


def _trained(batch, next_sentence_weight=True, **compile_arguments):
    x, y, weight = batch
    keras.utils.set_random_seed(1)
    model = Accumulating()
    # Plain gradient descent shows every difference of the gradients.
    model.compile(keras.optimizers.SGD(0.5), **compile_arguments)
    logs = None
    for _ in range(2):
        logs = model.train_on_batch(x, y, weight, return_dict=True)
    return np.concatenate([w.ravel() for w in model.get_weights()]), logs


@pytest.fixture
def uneven(pretraining_batch):
    """Nearly all masked tokens lie in every fourth row, some rows have none."""
    x, y, weight = pretraining_batch
    masks = np.zeros((16, 5), "float32")
    masks[::4] = 1.0
    masks[1, 0] = 1.0
    pairs = np.ones(16, "float32")
    pairs[2::4] = 0.0
    return x, y, {"mask_ids": masks, "next_sentence": pairs}


def test_parts_give_the_update_and_the_figures_of_the_whole(uneven):
    # The undivided batch is the outside source; its loss is checked by hand
    # in test_losses.
    whole, logs = _trained(uneven)
    for parts in (2, 4):
        found, part_logs = _trained(uneven, accumulate=parts)
        np.testing.assert_allclose(found, whole, atol=1e-6)
        for name in logs:
            np.testing.assert_allclose(part_logs[name], logs[name], rtol=1e-5)
    # The control: a mean of the means of the parts is another gradient.
    x, y, weight = uneven
    keras.utils.set_random_seed(1)
    model = Accumulating()
    model.compile(keras.optimizers.SGD(0.5, gradient_accumulation_steps=4))
    rows = np.arange(16).reshape(4, 4).T
    for part in [*rows, *rows]:
        take = lambda a, part=part: a[part]  # noqa: E731
        model.train_on_batch(*keras.tree.map_structure(take, (x, y, weight)))
    means = np.concatenate([w.ravel() for w in model.get_weights()])
    assert np.abs(means - whole).max() > 1e-3


def test_parts_of_a_batch_without_weights(pretraining_batch):
    x, y, _ = pretraining_batch
    whole, _ = _trained((x, y, None))
    found, _ = _trained((x, y, None), accumulate=4)
    np.testing.assert_allclose(found, whole, atol=1e-6)


def test_nothing_masked_anywhere_is_loss_0(uneven):
    x, y, weight = uneven
    weight = {name: np.zeros_like(value) for name, value in weight.items()}
    _, logs = _trained((x, y, weight), accumulate=2)
    assert logs["loss"] == 0.0


def test_parts_survive_saving(uneven, tmp_path):
    model = Accumulating()
    model.compile(accumulate=2)
    assert model.get_compile_config()["accumulate"] == 2
    model.compile_from_config(model.get_compile_config())
    assert model.accumulate == 2


def test_refused_arguments(uneven):
    x, y, weight = uneven
    model = Accumulating()
    for value in (0, 1.5, True):
        with pytest.raises(ValueError, match="`accumulate`"):
            model.compile(accumulate=value)
    with pytest.raises(ValueError, match="`accumulate`"):
        model.compile(loss="mse", accumulate=2)
    model.compile(accumulate=3)
    with pytest.raises(ValueError, match="divisor of the batch of 16 rows"):
        model.train_on_batch(x, y, weight)
