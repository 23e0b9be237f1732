"""What a signature of strings is made of."""

from typing import Any
from typing import NamedTuple

from keras_bert._tensorflow import tensorflow


class Signature(NamedTuple):
    """`function`, a tf.function; `example`, a value for each of its inputs.

    The example is what a server runs once when it starts (`warmup.py`).
    """

    function: Any
    example: dict


def assert_all(condition, message, *values):
    """An assertion inside the graph; its message ends with the values."""
    tf = tensorflow()
    return tf.debugging.Assert(tf.reduce_all(condition), [message, *values])


def one_per_row(values, count, argument, rows_of):
    """`values` once per row, one value standing for all rows.

    Args:
        values: string tensor of rank 1.
        count: how many rows there are.
        argument: its name in the message of the assertion.
        rows_of: the name of the argument that has a row each.
    """
    tf = tensorflow()
    size = tf.size(values)
    check = assert_all(
        (size == 1) | (size == count),
        f"Invalid value received for argument `{argument}`. Expected one "
        f"string, or as many as `{rows_of}` has. Received (sizes):",
        size,
        count,
    )
    with tf.control_dependencies([check]):
        return tf.broadcast_to(values, [count])
