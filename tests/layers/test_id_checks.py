"""Ids and lengths out of range are refused wherever they can be read."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert._backend import is_concrete
from keras_bert._tensorflow import tensorflow
from keras_bert.layers import check_ids

LIMITS = {"vocabulary_size": 10, "num_segments": 2, "max_sequence_length": 4}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("token_ids", [[0, 10]], "below vocabulary_size=10.*10"),
        ("token_ids", [[0, -1]], "at least 0.*-1"),
        ("token_ids", [[0] * 5], "max_sequence_length=4.*5"),
        ("token_ids", [[0.5, 1]], "integers"),
        ("token_ids", [["a"]], "integers"),
        ("segment_ids", [[0, 2]], "below num_segments=2.*2"),
        ("segment_ids", [[0, -1]], "at least 0"),
        ("segment_ids", [[0, 0, 0]], "shape of token_ids"),
        ("padding_mask", [[1, -1]], "at least 0"),
        ("padding_mask", [[1, 0.5]], "integers"),
        ("padding_mask", [1, 1], "shape of token_ids"),
        ("cls_positions", [[0, 2]], "row length=2"),
        ("cls_positions", [[-1]], "at least 0"),
        ("mask_positions", [[2]], "row length=2"),
    ],
)
def test_out_of_range_is_an_error_that_names_all(name, value, message):
    inputs = {"token_ids": np.array([[1, 2]]), name: np.array(value)}
    with pytest.raises(ValueError, match=f"`{name}`.*{message}"):
        check_ids(inputs, **LIMITS)


def test_what_is_in_range_passes():
    check_ids(
        {
            "token_ids": np.array([[0, 9, 1, 1]]),
            "segment_ids": np.array([[0, 1, 1, 1]]),
            "padding_mask": np.array([[1.0, 1.0, 0.0, 0.0]]),
            "cls_positions": np.array([[3]]),
            "mask_positions": None,
        },
        **LIMITS,
    )
    check_ids({"token_ids": np.zeros((0, 0), "int32")}, **LIMITS)


def test_leading_axes_do_not_matter():
    """Rows of several choices: [batch, choices, length]."""
    with pytest.raises(ValueError, match="token_ids"):
        check_ids({"token_ids": np.full((2, 3, 4), 10)}, **LIMITS)


def test_values_that_cannot_be_read_are_passed_over():
    check_ids({"token_ids": keras.Input((9,), dtype="int32")}, **LIMITS)


def test_concrete_is_what_can_be_read_now():
    assert is_concrete(np.zeros(2)) and is_concrete([1])
    assert is_concrete(ops.zeros((2,), dtype="int32"))
    assert is_concrete(keras.Variable([1.0]))
    assert not is_concrete(None)
    assert not is_concrete(keras.KerasTensor((2,)))


def test_a_compiled_step_is_not_concrete():
    seen = []

    class Probe(keras.Model):
        def call(self, x):
            seen.append(is_concrete(x))
            return x

    model = Probe()
    model.predict(np.ones((2, 2), "float32"), verbose=0)
    # PyTorch runs its steps eagerly: there the values can be read.
    assert seen[-1] == (keras.config.backend() == "torch")


def test_elements_of_tf_data_are_concrete_only_outside_the_graph():
    tf = tensorflow()
    seen = []

    def look(x):
        seen.append(is_concrete(x))
        return x

    dataset = tf.data.Dataset.from_tensors(np.zeros(2)).map(look)
    assert seen and not any(seen)
    assert is_concrete(next(iter(dataset)))
