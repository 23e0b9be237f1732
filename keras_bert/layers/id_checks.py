"""Refuses ids and lengths that a table has no row for.

No backend does: TensorFlow under XLA clamps such an id, JAX returns NaN, and
-1 means the last row. So every path on which the values can be read calls
`check_ids` first. Values inside a compiled step cannot be read and are passed
over; `fit`, `evaluate` and `predict` check their arrays before.
"""

import numpy as np
from keras import ops

from keras_bert._backend import is_concrete
from keras_bert._errors import invalid


def check_ids(
    inputs,
    vocabulary_size=None,
    num_segments=None,
    max_sequence_length=None,
    length=None,
):
    """Raise a ValueError for an id or a length that is out of range.

    Args:
        inputs: dict with any of `token_ids`, `segment_ids`, `padding_mask`,
            `cls_positions`, `mask_positions`. Absent, `None` and symbolic
            values are passed over. Leading axes do not matter, so rows of
            several choices are checked as they are.
        vocabulary_size, num_segments, max_sequence_length: limits of the
            backbone; `None` is no limit.
        length: int. Row length that positions must stay below, where
            `inputs` has no `token_ids` to take it from.
    """
    token_ids = inputs.get("token_ids")
    if token_ids is not None and is_concrete(token_ids):
        token_ids = _numbers("token_ids", token_ids)
        length = token_ids.shape[-1] if token_ids.ndim else None
        if max_sequence_length is not None and length is not None:
            _check_length(length, max_sequence_length)
        _check_range("token_ids", token_ids, vocabulary_size, "vocabulary_size")
    for name in ("segment_ids", "padding_mask"):
        if is_concrete(inputs.get(name)):
            numbers = _numbers(name, inputs[name])
            limit = num_segments if name == "segment_ids" else None
            _check_range(name, numbers, limit, "num_segments")
            if (
                isinstance(token_ids, np.ndarray)
                and numbers.shape != token_ids.shape
            ):
                raise invalid(
                    name,
                    f"the shape of token_ids, {token_ids.shape}",
                    numbers.shape,
                )
    for name in ("cls_positions", "mask_positions"):
        if is_concrete(inputs.get(name)):
            numbers = _numbers(name, inputs[name])
            limit = length if isinstance(length, int) else None
            _check_range(name, numbers, limit, "the row length")


def _check_length(length, max_sequence_length):
    if length > max_sequence_length:
        raise invalid(
            "token_ids",
            f"rows of at most max_sequence_length={max_sequence_length}",
            f"rows of {length}",
        )


def _numbers(name, x):
    try:
        x = ops.convert_to_numpy(x)
    except (TypeError, ValueError):
        raise invalid(name, "an array of integers", x) from None
    if x.dtype.kind in "biu":
        return x
    # Whole floats are taken (a mask of 0.0 and 1.0); 0.5 has no meaning.
    if x.dtype.kind != "f" or not np.array_equal(x, np.floor(x)):
        raise invalid(name, "an array of integers", x)
    return x


def _check_range(name, x, limit, limit_name):
    if x.size == 0:
        return
    low = int(x.min())
    if low < 0:
        raise invalid(name, "numbers of at least 0", low)
    high = int(x.max())
    if limit is not None and high >= limit:
        raise invalid(name, f"numbers below {limit_name}={limit}", high)
