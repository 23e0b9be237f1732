"""Texts given as words: windows over their pieces, and the way back.

    words     Jim    Henson        -
    pieces    jim    hen   ##son   -
    labels    B      I     none    O

The first piece of a word carries its label and gives its prediction, in the
window that shows most of what stands around it (see `token_windows`); the
other pieces carry none. A word of which the tokenizer keeps nothing (control
characters) has no piece and no label, and does not shift the words after it.

Source: Devlin et al. (2018), section 5.3.
"""

from typing import NamedTuple

import numpy as np

from keras_bert.data.segment_rows import SegmentRows
from keras_bert.data.segment_rows import Slices
from keras_bert.data.token_windows import best_windows
from keras_bert.data.token_windows import window_starts


class WordWindows(NamedTuple):
    """Rows of pieces, and where each word is read.

    `rows`: `SegmentRows`. `word_counts` int `[texts]`. `row` and `column` int
    `[words]`, -1 for a word without a piece, words of all texts in order.
    `by_row` int `[words]`: their numbers, sorted by row.
    """

    rows: SegmentRows
    word_counts: np.ndarray
    row: np.ndarray
    column: np.ndarray
    by_row: np.ndarray


def word_windows(tokenizer, ids, piece_counts, word_counts, length, stride):
    """Cuts texts of words into rows of at most `length` tokens.

    Args:
        tokenizer: has the ids of [CLS], [SEP] and [PAD].
        ids: int32 `[pieces]`, all words of all texts.
        piece_counts: int `[words]`.
        word_counts: int `[texts]`.
        length: int, [CLS] and [SEP] included.
        stride: int, how far the start of a window moves.

    Returns `WordWindows`. A text without a piece has no row.
    """
    room = length - 2
    piece_counts = np.asarray(piece_counts, "int64")
    word_counts = np.asarray(word_counts, "int64")
    word_ends = np.concatenate([[0], np.cumsum(word_counts)])
    first_piece = np.cumsum(piece_counts) - piece_counts
    row = np.full(len(piece_counts), -1, "int64")
    column = np.full(len(piece_counts), -1, "int64")
    starts, lengths = [], []
    for begin, end in zip(word_ends, word_ends[1:], strict=False):
        total = int(piece_counts[begin:end].sum())
        if not total:
            continue
        offset = first_piece[begin]
        cuts = window_starts(total, room, stride)
        words = begin + np.flatnonzero(piece_counts[begin:end])
        place = first_piece[words] - offset
        window = best_windows(total, room, cuts)[place]
        row[words] = len(starts) + window
        column[words] = 1 + place - np.asarray(cuts)[window]
        starts += [offset + cut for cut in cuts]
        lengths += [min(room, total - cut) for cut in cuts]
    rows = SegmentRows(
        tokenizer,
        Slices(
            np.asarray(ids, "int32"),
            np.asarray(starts, "int64"),
            np.asarray(lengths, "int64"),
        ),
    )
    by_row = np.argsort(row, kind="stable")
    return WordWindows(rows, word_counts, row, column, by_row)


def word_targets(windows, labels, weights, rows, width):
    """Labels and weights of the positions of some rows.

    Args:
        windows: `WordWindows`.
        labels: int `[words]`.
        weights: float `[words]`, or `None` for ones.
        rows: ints `[batch]`.
        width: int.

    Returns int32 labels and float32 weights, `[batch, width]`: 0 wherever no
    word is read.
    """
    y = np.zeros((len(rows), width), "int32")
    sample_weight = np.zeros((len(rows), width), "float32")
    words, place = _words_of(windows, rows)
    columns = windows.column[words]
    y[place, columns] = labels[words]
    sample_weight[place, columns] = 1 if weights is None else weights[words]
    return y, sample_weight


def word_outputs(windows, batches, size):
    """Outputs per word from outputs per position.

    Args:
        windows: `WordWindows`.
        batches: iterable of (rows `[batch]`, outputs
            `[batch, width, size]`), all rows once, in any order.
        size: int.

    Returns per text a float32 array `[words, size]`; zeros for a word
    without a piece.
    """
    result = np.zeros((len(windows.row), size), "float32")
    for rows, outputs in batches:
        words, place = _words_of(windows, rows)
        result[words] = outputs[place, windows.column[words]]
    return np.split(result, np.cumsum(windows.word_counts)[:-1])


def _words_of(windows, rows):
    """The words that are read in some rows, and the place of each's row."""
    order = windows.by_row
    ordered = windows.row[order]
    begin = np.searchsorted(ordered, rows)
    counts = np.searchsorted(ordered, np.asarray(rows) + 1) - begin
    inside = np.arange(counts.sum())
    inside -= np.repeat(np.cumsum(counts) - counts, counts)
    return (
        order[np.repeat(begin, counts) + inside],
        np.repeat(np.arange(len(rows)), counts),
    )
