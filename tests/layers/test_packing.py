"""The one rule for padding and packing, design decision 2."""

import numpy as np
import pytest
from keras import ops

from keras_bert.layers import attention_mask
from keras_bert.layers import positions


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1, 1, 1, 1], [0, 1, 2, 3]),
        ([1, 1, 1, 0], [0, 1, 2, 0]),  # right-padded: the column itself
        ([1, 1, 2, 2], [0, 1, 0, 1]),  # packed: each counts from 0
        ([1, 0, 1, 1], [0, 0, 2, 3]),  # a hole keeps its column
        ([0, 0, 1, 1], [0, 1, 0, 1]),  # left-padded: from the first token
        ([3, 3, 7, 0], [0, 1, 0, 0]),  # any numbers
    ],
)
def test_a_position_is_the_column_minus_the_first_column(numbers, expected):
    got = ops.convert_to_numpy(positions(np.array([numbers])))
    assert got.tolist() == [expected]


def test_a_position_sees_those_with_its_own_non_zero_number():
    got = ops.convert_to_numpy(attention_mask(np.array([[1, 1, 2, 0]])))
    assert got.astype(int).tolist() == [
        [
            [1, 1, 0, 0],
            [1, 1, 0, 0],
            [0, 0, 1, 0],
            [0, 0, 0, 0],
        ]
    ]


@pytest.mark.parametrize("dtype", ["bool", "float32", "float16", "int64"])
def test_masks_of_every_dtype_are_read_alike(dtype):
    mask = np.array([[1, 1, 0]])
    cast = ops.convert_to_tensor(mask.astype(dtype))
    for rule in (positions, attention_mask):
        np.testing.assert_array_equal(
            ops.convert_to_numpy(rule(cast)), ops.convert_to_numpy(rule(mask))
        )


def test_more_than_256_sequences_stay_apart():
    """bfloat16 knows no 257: numbers must never be cast to it."""
    numbers = np.arange(1, 301)[None, :]
    mask = ops.convert_to_numpy(attention_mask(numbers))
    assert np.array_equal(mask[0], np.eye(300, dtype=bool))
