"""Overlapping windows over tokens, in the TensorFlow graph.

The same windows as `keras_bert.data.token_windows`, which draws them, for
several texts at once and without Python: a SavedModel cannot call it. The
positions of all windows lie in one flat array:

    owner   0 0 1        which text each window is of
    start   0 4 0
    size    6 6 3
    row     0 0 0 0 0 0 1 1 1 1 1 1 2 2 2      flat: the window
    left    0 1 2 3 4 5 0 1 2 3 4 5 0 1 2      flat: the place in the window
"""

from typing import Any
from typing import NamedTuple

from keras_bert._tensorflow import tensorflow


class GraphWindows(NamedTuple):
    """Int64 tensors: `owner`, `start`, `size` `[windows]`; `row`, `left`."""

    owner: Any
    start: Any
    size: Any
    row: Any
    left: Any


def graph_windows(totals, rooms, stride, empty):
    """Windows over texts of `totals` tokens.

    Args:
        totals: int64 `[texts]`.
        rooms: int64 `[texts]`, how many tokens a window holds.
        stride: int, how far the start moves.
        empty: int, how many windows (0 or 1) a text without a token has.
    """
    tf = tensorflow()
    more = -(-(totals - rooms) // stride)
    counts = 1 + tf.maximum(more, 0)
    counts = tf.where(totals > 0, counts, empty)
    owner = tf.repeat(tf.range(tf.size(totals, tf.int64)), counts)
    start = stride * tf.ragged.range(counts).values
    size = tf.minimum(tf.gather(rooms, owner), tf.gather(totals, owner) - start)
    inside = tf.ragged.range(size)
    return GraphWindows(
        owner, start, size, inside.value_rowids(), inside.values
    )


def read_here(windows, token, count):
    """Bool, flat: whether the token is read in this window.

    Args:
        windows: `GraphWindows`.
        token: int64, flat: the number of each token, over all texts.
        count: int64, how many tokens there are.
    """
    tf = tensorflow()
    size = tf.gather(windows.size, windows.row)
    around = tf.cast(
        tf.minimum(windows.left, size - 1 - windows.left), "double"
    )
    score = around + 0.01 * tf.cast(size, "double")
    best = tf.math.unsorted_segment_max(score, token, count)
    # The first window wins a tie.
    row = tf.where(score == tf.gather(best, token), windows.row, 2**60)
    first = tf.math.unsorted_segment_min(row, token, count)
    return windows.row == tf.gather(first, token)


def joined_rows(tokenizer, segments):
    """Rows `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, nothing cut.

    Args:
        tokenizer: has the ids of [CLS], [SEP] and [PAD].
        segments: ragged int32 ids `[rows, (ids)]`, one or two of them.

    Returns a dict of int32 `token_ids`, `segment_ids` and `padding_mask`.
    """
    tf = tensorflow()
    count = segments[0].nrows()
    ids = [tf.fill([count, 1], tokenizer.cls_token_id)]
    types = [tf.zeros([count, 1], tf.int32)]
    end = tf.fill([count, 1], tokenizer.sep_token_id)
    for index, segment in enumerate(segments):
        ids += [segment, end]
        types += [tf.ones_like(part) * index for part in (segment, end)]
    ids, types = tf.concat(ids, axis=1), tf.concat(types, axis=1)
    return {
        "token_ids": dense(ids, tokenizer.pad_token_id),
        "segment_ids": dense(types),
        "padding_mask": dense(tf.ones_like(ids)),
    }


def dense(ragged, default=0):
    """`[rows, length]`; without rows one column, for no model takes none."""
    tf = tensorflow()
    values = ragged.to_tensor(default)
    missing = tf.maximum(1 - tf.shape(values)[1], 0)
    return tf.pad(values, [[0, 0], [0, missing]])
