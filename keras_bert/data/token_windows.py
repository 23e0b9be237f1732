"""Overlapping windows over a sequence of tokens that is too long for a row.

    tokens     0 1 2 3 4 5 6 7 8 9      room 6, stride 4
    window 0   0 1 2 3 4 5
    window 1           4 5 6 7 8 9

The room is how many of the tokens fit into a row. The stride is how far the
start moves from one window to the next, as `doc_stride` of the original BERT;
elsewhere a "stride" is what two windows share (here 2). The last window ends
with the last token, so it may be shorter than the others.

A token that lies in several windows is read in the one that shows most of what
stands around it: the smaller of its distances to the two ends of the window,
plus 0.01 for each token of the window, is largest; the first window wins a tie.

Source: `convert_examples_to_features` and `_check_is_max_context` of
https://github.com/google-research/bert/blob/master/run_squad.py
"""

import numpy as np

from keras_bert._errors import invalid


def window_starts(length, room, stride, argument="stride"):
    """Starts of the windows over `length` tokens: `[0, stride, ...]`.

    Args:
        length: int. 0 gives one empty window.
        room: int, how many tokens a window holds.
        stride: int, how far the start moves.
        argument: name of the stride in the message of the error.

    Raises:
        ValueError: if more than one window is needed and the stride is larger
            than the room: tokens between the windows would be in none.
    """
    if length <= room:
        return [0]
    if not 1 <= stride <= room:
        raise invalid(
            argument,
            f"1 to {room}, the number of tokens that a window has room for: "
            f"a text of {length} tokens needs several windows, and none may "
            "be skipped",
            stride,
        )
    count = 1 + -(-(length - room) // stride)
    return [index * stride for index in range(count)]


def best_windows(length, room, starts):
    """For each token the index in `starts` of the window to read it in.

    Returns an int array `[length]`.
    """
    if len(starts) == 1:
        return np.zeros(length, "int64")
    best = np.full(length, -1.0)
    window = np.zeros(length, "int64")
    for index, start in enumerate(starts):
        size = min(room, length - start)
        left = np.arange(size)
        score = np.minimum(left, size - 1 - left) + 0.01 * size
        part = slice(start, start + size)
        better = score > best[part]
        best[part] = np.where(better, score, best[part])
        window[part] = np.where(better, index, window[part])
    return window
