import numpy as np
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_bert.data.packing import pack


def placed(lengths, masks=None, row_length=10, max_masks=9, max_sequences=9):
    masks = masks or [1] * len(lengths)
    return [
        part.tolist()
        for part in pack(lengths, masks, row_length, max_masks, max_sequences)
    ]


def test_the_longest_go_first_and_each_fits_best():
    # By hand: 10 alone; 6 opens a row, 5 opens one, the second 5 fills it,
    # 3 fits the 6 (4 free), 1 fills what the 3 left.
    row, column, place = placed([6, 3, 5, 5, 10, 1])
    assert row == [1, 1, 2, 2, 0, 1]
    assert column == [0, 6, 0, 5, 0, 9]
    assert place == [0, 1, 0, 1, 0, 2]


def test_limits_on_masks_and_sequences_open_new_rows():
    assert placed([4, 4], masks=[5, 5])[0] == [0, 1]
    assert placed([2, 2, 2], max_sequences=2)[0] == [0, 0, 1]
    assert placed([2, 2, 2], max_sequences=1)[0] == [0, 1, 2]


def test_nothing_to_pack_is_no_error():
    assert placed([]) == [[], [], []]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 32), st.integers(0, 5)), max_size=60),
    st.integers(5, 9),
    st.integers(1, 4),
)
def test_no_overlap_no_limit_broken_nothing_lost(items, most, places):
    lengths = np.array([length for length, _ in items], dtype=int)
    masks = np.array([count for _, count in items], dtype=int)
    row, column, place = pack(lengths, masks, 32, most, places)
    rows = int(row.max(initial=-1)) + 1
    used = np.zeros((rows, 32), dtype=int)
    for r, c, length in zip(row, column, lengths, strict=True):
        used[r, c : c + length] += 1
    assert used.max(initial=0) <= 1
    assert used.sum() == lengths.sum()
    assert (used.sum(axis=1) > 0).all()
    # Rows are filled from the left, without holes.
    assert (np.diff(used, axis=1) <= 0).all()
    for r in range(rows):
        inside = row == r
        assert masks[inside].sum() <= most
        order = np.argsort(column[inside])
        assert place[inside][order].tolist() == list(range(inside.sum()))
        assert inside.sum() <= places
