"""Sequences of different lengths -> full rows.

Best fit, longest sequence first, over all sequences of a window: each goes
to the row with the least room that still takes it. Rows are kept in one list
per free length and a bit mask says which lists are not empty, so placing a
sequence costs about a microsecond whatever the number of rows.
"""

import numpy as np


def pack(lengths, masks, row_length, max_masks, max_sequences):
    """Place sequences in rows.

    Deterministic: equal input, equal output.

    Args:
        lengths: int array `[sequences]`, each from 1 to row_length.
        masks: int array `[sequences]`: masked tokens of each, each at most
            max_masks.
        row_length: tokens of a row.
        max_masks: the most masked tokens in a row.
        max_sequences: the most sequences in a row.

    Returns:
        Three int64 arrays `[sequences]`: the row of each sequence, the column
        where it starts, and its place among the row's sequences (0, 1, ...).
        Rows are numbered 0, 1, 2, ... without gaps.
    """
    row_of = np.empty(len(lengths), dtype=np.int64)
    column_of = np.empty(len(lengths), dtype=np.int64)
    place_of = np.zeros(len(lengths), dtype=np.int64)
    order = np.argsort(-np.asarray(lengths), kind="stable")
    shortest = int(np.min(lengths, initial=row_length))

    # Sequences that share a row with nothing need no search.
    sorted_lengths = np.asarray(lengths)[order]
    alone = int(
        np.searchsorted(-sorted_lengths, -(row_length - shortest), "left")
    )
    if max_sequences == 1:
        alone = len(order)
    row_of[order[:alone]] = np.arange(alone)
    column_of[order[:alone]] = 0

    open_rows = [[] for _ in range(row_length + 1)]
    available = 0  # bit r is set when open_rows[r] is not empty
    masks = np.asarray(masks).tolist()
    used_masks, used_places = [], []
    for sequence in order[alone:].tolist():
        length = int(lengths[sequence])
        row = None
        fitting = available >> length
        while fitting:
            lowest = fitting & -fitting
            free = length + lowest.bit_length() - 1
            candidate = open_rows[free][-1]
            if used_masks[candidate] + masks[sequence] <= max_masks:
                row = candidate
                open_rows[free].pop()
                if not open_rows[free]:
                    available &= ~(1 << free)
                break
            fitting &= ~lowest
        if row is None:
            row = len(used_masks)
            free = row_length
            used_masks.append(0)
            used_places.append(0)
        row_of[sequence] = alone + row
        column_of[sequence] = row_length - free
        place_of[sequence] = used_places[row]
        used_masks[row] += masks[sequence]
        used_places[row] += 1
        free -= length
        if free >= shortest and used_places[row] < max_sequences:
            open_rows[free].append(row)
            available |= 1 << free
    return row_of, column_of, place_of
