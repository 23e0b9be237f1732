"""Windows over long texts, and the rows that are cut from them."""

from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.data.segment_rows import SegmentRows
from keras_bert.data.segment_rows import Slices
from keras_bert.data.token_windows import best_windows
from keras_bert.data.token_windows import window_starts
from keras_bert.data.word_windows import word_outputs
from keras_bert.data.word_windows import word_targets
from keras_bert.data.word_windows import word_windows

IDS = SimpleNamespace(cls_token_id=2, sep_token_id=3, pad_token_id=0)


def test_users_26_the_stride_is_how_far_a_window_moves():
    # By hand, and what the loop of run_squad.py gives.
    assert window_starts(10, room=6, stride=4) == [0, 4]


@pytest.mark.parametrize("stride", [1, 4, 6])
def test_users_25_every_token_lies_in_some_window(stride):
    covered = set()
    for start in window_starts(20, room=6, stride=stride):
        covered |= set(range(start, min(start + 6, 20)))
    assert covered == set(range(20))


def test_users_25_a_stride_that_skips_tokens_is_refused():
    with pytest.raises(ValueError, match="`stride`.* 1 to 6.* 20 tokens.*=7"):
        window_starts(20, room=6, stride=7)


def test_a_text_that_fits_has_one_window_whatever_the_stride():
    assert window_starts(6, room=6, stride=99) == [0]
    assert window_starts(0, room=6, stride=99) == [0]


def test_a_token_is_read_where_the_nearer_edge_is_farthest():
    # Windows 0-5 and 4-9. Token 4: one from the end of the first, none from
    # the start of the second. Token 5: none and one.
    expected = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert best_windows(10, 6, [0, 4]).tolist() == expected


def test_the_longer_window_and_then_the_first_win_a_tie():
    # Windows 0-3 and 2-4 of 5 tokens, room 4: token 3 is at the edge of the
    # first (0 + 0.04) and in the middle of the second (1 + 0.03); token 2 has
    # 1 + 0.04 in the first and 0 + 0.03 in the second.
    assert best_windows(5, 4, [0, 2]).tolist() == [0, 0, 0, 1, 1]
    # Both windows show token 3 alike: 0-6 and 0-6.
    assert best_windows(7, 7, [0, 0]).tolist() == [0] * 7


def test_rows_are_made_of_slices():
    a = Slices(np.array([7, 8, 9]), np.array([0, 1]), np.array([1, 2]))
    b = Slices(np.array([5, 6]), np.array([0, 0]), np.array([2, 0]))
    rows = SegmentRows(IDS, a, b).batch([1, 0], 8)
    assert rows["token_ids"].tolist() == [
        [2, 8, 9, 3, 3, 0, 0, 0],
        [2, 7, 3, 5, 6, 3, 0, 0],
    ]
    assert rows["segment_ids"].tolist() == [
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 0, 0],
    ]
    assert rows["padding_mask"].tolist() == [
        [1, 1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1, 1, 0, 0],
    ]


def _windows():
    # Text 0: words of 1, 2, 0 and 3 pieces; text 1: no word; text 2: 1 piece.
    return word_windows(IDS, np.arange(5, 12), [1, 2, 0, 3, 1], [4, 0, 1], 6, 2)


def test_words_are_read_at_their_first_piece():
    windows = _windows()
    # Room 4, stride 2: pieces 0-3 and 2-5 of text 0, then text 2.
    assert windows.rows.batch([0, 1, 2], 6)["token_ids"].tolist() == [
        [2, 5, 6, 7, 8, 3],
        [2, 7, 8, 9, 10, 3],
        [2, 11, 3, 0, 0, 0],
    ]
    # The fourth word starts with piece 3: at the edge of row 0, inside row 1.
    assert windows.row.tolist() == [0, 0, -1, 1, 2]
    assert windows.column.tolist() == [1, 2, -1, 2, 1]


def test_users_30_other_pieces_and_lost_words_have_no_label():
    y, weight = word_targets(
        _windows(), np.array([1, 2, 3, 4, 5]), None, [1, 0, 2], 6
    )
    assert y.tolist() == [
        [0, 0, 4, 0, 0, 0],
        [0, 1, 2, 0, 0, 0],
        [0, 5, 0, 0, 0, 0],
    ]
    assert weight.tolist() == (y > 0).tolist()


def test_outputs_come_back_in_the_order_of_the_words():
    windows = _windows()
    # The output of a position tells its row and column.
    batches = [
        (
            np.array(numbers),
            np.array([[[n, c] for c in range(6)] for n in numbers], "float32"),
        )
        for numbers in ([2], [1, 0])
    ]
    outputs = word_outputs(windows, batches, 2)
    assert [o.tolist() for o in outputs] == [
        [[0, 1], [0, 2], [0, 0], [1, 2]],
        [],
        [[2, 1]],
    ]
    assert [o.shape for o in outputs] == [(4, 2), (0, 2), (1, 2)]
