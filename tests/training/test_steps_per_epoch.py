"""How many batches an epoch has, for everything that fit takes."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

from keras_bert.training.recipes import recipe_optimizer
from keras_bert.training.recipes import steps_per_epoch_of


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        return np.zeros(1)


NUMBERS = tf.data.Dataset.range(10)


@pytest.mark.parametrize(
    "x, expected",
    [
        (np.zeros((10, 3)), 3),
        (["a"] * 9, 3),
        ((["a"] * 8, ["b"] * 8), 2),
        ({"token_ids": np.zeros((5, 2))}, 2),
        (tf.zeros((10, 3)), 3),
        (torch.zeros((10, 3)), 3),
        (NUMBERS.batch(4), 3),
        (Batches(), 7),
        (torch.utils.data.DataLoader(list(range(10)), batch_size=5), 2),
    ],
    ids=[
        "array", "texts", "pairs", "dict", "tensor", "torch tensor",
        "tf.data", "PyDataset", "DataLoader",
    ],
)  # fmt: skip
def test_steps_come_from_the_data(x, expected):
    assert steps_per_epoch_of(x, batch_size=4) == expected
    assert steps_per_epoch_of(x, batch_size=4, steps_per_epoch=5) == 5


def test_batch_size_is_32_and_a_validation_split_is_taken_off():
    assert steps_per_epoch_of(np.zeros((65, 1))) == 3
    assert steps_per_epoch_of(np.zeros((65, 1)), validation_split=0.1) == 2


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from range(10)


@pytest.mark.parametrize(
    "x",
    [
        NUMBERS.repeat(),
        NUMBERS.filter(lambda i: i > 2),
        iter([1, 2]),
        torch.utils.data.DataLoader(Stream()),
    ],
    ids=["infinite", "unknown", "generator", "stream"],
)
def test_unknown_length_needs_steps_per_epoch(x):
    with pytest.raises(ValueError, match="`steps_per_epoch`"):
        steps_per_epoch_of(x)
    assert steps_per_epoch_of(x, steps_per_epoch=2) == 2


def test_steps_per_epoch_of_zero_is_refused():
    with pytest.raises(ValueError, match="`steps_per_epoch`.*at least 1"):
        steps_per_epoch_of(np.zeros(3), steps_per_epoch=0)


def test_unknown_recipe_names_the_known_ones():
    with pytest.raises(ValueError, match="`kind`.*fine_tuning.*pretraining"):
        recipe_optimizer("training")
