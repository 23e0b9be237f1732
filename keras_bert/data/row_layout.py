"""Planned sequences -> rows of arrays.

    sequences   [CLS] A [SEP] B [SEP]  one a row, padded     `assemble`
    rows        1 1 1 1 1 2 2 2 0 0    several in a row      `RowLayout`

Plain numpy on whole blocks of sequences; nothing here is random.
"""

import numpy as np


def sequence_lengths(sequences):
    """Tokens of planned sequences, special ones counted."""
    length_a = sequences[:, 1] - sequences[:, 0]
    length_b = sequences[:, 3] - sequences[:, 2]
    return length_a + length_b + 2 + (length_b > 0)


def assemble(ids, sequences, cls_token_id, sep_token_id, pad_token_id):
    """Copy planned sequences out of the corpus.

    Args:
        ids: the corpus' token ids.
        sequences: int64 array `[sequences, 5]` (see `segment_pairs`).

    Returns:
        token ids (int32), segment ids (int32) and "is a token of the text"
        (bool), each `[sequences, longest]`.
    """
    lengths = sequence_lengths(sequences)
    column = np.arange(int(lengths.max(initial=0)), dtype=np.int64)
    length_a = (sequences[:, 1] - sequences[:, 0])[:, None]
    b_column = length_a + 2
    is_a = (column >= 1) & (column <= length_a)
    is_b = (column >= b_column) & (
        column < b_column + (sequences[:, 3] - sequences[:, 2])[:, None]
    )
    source = np.where(
        is_a,
        sequences[:, :1] - 1 + column,
        sequences[:, 2:3] - b_column + column,
    )
    in_text = is_a | is_b
    source[~in_text] = 0
    token_ids = ids[source].astype(np.int32)
    token_ids[~in_text] = pad_token_id
    every = np.arange(len(sequences))
    token_ids[:, 0] = cls_token_id
    token_ids[every, length_a[:, 0] + 1] = sep_token_id
    token_ids[every, lengths - 1] = sep_token_id
    segment_ids = (column >= b_column) & (column < lengths[:, None])
    return token_ids, segment_ids.astype(np.int32), in_text


class RowLayout:
    """Where each sequence of a block stands among the rows.

    Args:
        row_of: int array `[sequences]`: the row of each sequence.
        column_of: int array: the column where it starts.
        place_of: int array: its place among the row's sequences.
        lengths: int array: its tokens.
        row_length: columns of a row.
    """

    def __init__(self, row_of, column_of, place_of, lengths, row_length):
        self.row_of = row_of
        self.column_of = column_of
        self.place_of = place_of
        self.lengths = lengths
        self.row_length = row_length
        self.num_rows = int(row_of.max(initial=-1)) + 1

    def row_lengths(self):
        """Tokens in each row."""
        return np.bincount(
            self.row_of, self.lengths, minlength=self.num_rows
        ).astype(np.int64)

    def columns(self, values, fill):
        """Lay `[sequences, longest]` arrays out in `[rows, row_length]`.

        Args:
            values: list of arrays.
            fill: list of what stands where no sequence is.
        """
        width = values[0].shape[1]
        column = np.arange(width)
        is_real = column < self.lengths[:, None]
        start = self.row_of * self.row_length + self.column_of
        target = (start[:, None] + column)[is_real]
        rows = []
        for value, empty in zip(values, fill, strict=True):
            row = np.full(self.num_rows * self.row_length, empty, np.int32)
            row[target] = value[is_real]
            rows.append(row.reshape(self.num_rows, self.row_length))
        return rows

    def sequence_numbers(self):
        """The padding mask: 1, 2, ... for the row's sequences, 0 for none."""
        number = np.broadcast_to(
            self.place_of[:, None] + 1,
            (len(self.lengths), int(self.lengths.max(initial=0))),
        )
        return self.columns([number], [0])[0]

    def places(self, value, size):
        """Lay one number a sequence out in `[rows, size]`, and its weight."""
        rows = np.zeros((self.num_rows, size), dtype=np.int32)
        weight = np.zeros((self.num_rows, size), dtype=np.float32)
        rows[self.row_of, self.place_of] = value
        weight[self.row_of, self.place_of] = 1
        return rows, weight

    def slots(self, positions, labels, chosen, size):
        """Lay chosen positions out in `[rows, size]`, row by row.

        Returns:
            positions in the row, labels (int32) and weights (float32).
        """
        counts = chosen.sum(axis=1)
        order = np.lexsort((self.place_of, self.row_of))
        before = np.cumsum(counts[order]) - counts[order]
        first = np.searchsorted(self.row_of[order], self.row_of[order])
        offset = np.empty_like(before)
        offset[order] = before - before[first]
        sequence, place = np.nonzero(chosen)
        row = self.row_of[sequence]
        slot = offset[sequence] + place
        shape = (self.num_rows, size)
        row_positions = np.zeros(shape, dtype=np.int32)
        row_labels = np.zeros(shape, dtype=np.int32)
        weights = np.zeros(shape, dtype=np.float32)
        row_positions[row, slot] = (
            positions[sequence, place] + self.column_of[sequence]
        )
        row_labels[row, slot] = labels[sequence, place]
        weights[row, slot] = 1
        return row_positions, row_labels, weights
