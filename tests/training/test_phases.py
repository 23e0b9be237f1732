"""Lengths and shares of a run."""

import pytest

from keras_bert.training import phases


def test_the_papers_phases():
    # Devlin et al., A.2: 90% of the steps at 128, the rest at 512.
    found = phases.segments(
        phases.parse_phases("128:0.9,512:0.1"), [(0, 1_000_000)]
    )
    assert [(p.first, p.end, p.sequence_length) for p in found] == [
        (0, 900_000, 128),
        (900_000, 1_000_000, 512),
    ]
    assert {p.line for p in found} == {(0, 1_000_000)}


def test_added_steps_have_phases_and_a_line_of_their_own():
    found = phases.segments([(8, 0.5), (16, 0.5)], [(0, 10), (10, 14)])
    assert [(p.first, p.end, p.sequence_length, p.line) for p in found] == [
        (0, 5, 8, (0, 10)),
        (5, 10, 16, (0, 10)),
        (10, 12, 8, (10, 4)),
        (12, 14, 16, (10, 4)),
    ]


def test_each_segment_begins_with_an_epoch_that_none_has_seen():
    parts = phases.segments([(8, 0.5), (16, 0.5)], [(0, 10), (10, 14)])
    # 5 steps are 3 epochs of 2 batches, begun; 5 of 4 batches are 2.
    assert phases.positions(parts, {8: 2, 16: 4}) == [0, 3, 5, 6]


def test_a_share_too_small_for_a_step_is_left_out():
    found = phases.segments([(8, 0.99), (16, 0.01)], [(0, 3)])
    assert [(p.first, p.end) for p in found] == [(0, 3)]


@pytest.mark.parametrize(
    "text", ["128", "128:0.5", "128:0.9,512:0.2", "a:1", "0:1", "128:-1,8:2"]
)
def test_wrong_phases_are_refused(text):
    with pytest.raises(ValueError, match="`phases`"):
        phases.parse_phases(text)
