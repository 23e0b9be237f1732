import numpy as np

from keras_bert.data.row_layout import RowLayout
from keras_bert.data.row_layout import assemble
from keras_bert.data.row_layout import sequence_lengths

# a_start, a_end, b_start, b_end, is_random
SEQUENCES = np.array([[0, 2, 2, 5, 0], [4, 5, 0, 0, 0], [5, 6, 7, 8, 1]])
IDS = np.arange(50, 60, dtype=np.uint16)


def test_sequences_are_copied_between_special_tokens():
    assert sequence_lengths(SEQUENCES).tolist() == [8, 3, 5]
    token_ids, segment_ids, in_text = assemble(IDS, SEQUENCES, 2, 3, 0)
    assert token_ids.tolist() == [
        [2, 50, 51, 3, 52, 53, 54, 3],
        [2, 54, 3, 0, 0, 0, 0, 0],
        [2, 55, 3, 57, 3, 0, 0, 0],
    ]
    assert segment_ids.tolist() == [
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 0, 0],
    ]
    assert in_text.tolist() == (token_ids >= 50).tolist()


def layout():
    # Sequence 0 alone in row 1; sequences 2 and 1 share row 0.
    return RowLayout(
        row_of=np.array([1, 0, 0]),
        column_of=np.array([0, 5, 0]),
        place_of=np.array([0, 1, 0]),
        lengths=np.array([8, 3, 5]),
        row_length=9,
    )


def test_sequences_are_laid_out_in_rows():
    token_ids, segment_ids, _ = assemble(IDS, SEQUENCES, 2, 3, 0)
    rows = layout().columns([token_ids, segment_ids], [99, 0])
    assert rows[0].tolist() == [
        [2, 55, 3, 57, 3, 2, 54, 3, 99],
        [2, 50, 51, 3, 52, 53, 54, 3, 99],
    ]
    assert rows[1].tolist() == [
        [0, 0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1, 0],
    ]
    assert layout().sequence_numbers().tolist() == [
        [1, 1, 1, 1, 1, 2, 2, 2, 0],
        [1, 1, 1, 1, 1, 1, 1, 1, 0],
    ]


def test_chosen_positions_move_with_their_sequence():
    positions, labels, weights = layout().slots(
        positions=np.array([[1, 4], [1, 0], [1, 3]]),
        labels=np.array([[50, 52], [54, 0], [55, 57]]),
        chosen=np.array([[1, 1], [1, 0], [1, 1]], dtype=bool),
        size=4,
    )
    assert positions.tolist() == [[1, 3, 6, 0], [1, 4, 0, 0]]
    assert labels.tolist() == [[55, 57, 54, 0], [50, 52, 0, 0]]
    assert weights.tolist() == [[1, 1, 1, 0], [1, 1, 0, 0]]


def test_one_number_a_sequence_goes_to_its_place():
    values, weights = layout().places(np.array([7, 8, 9]), 3)
    assert values.tolist() == [[9, 8, 0], [7, 0, 0]]
    assert weights.tolist() == [[1, 1, 0], [1, 0, 0]]
