import numpy as np
import pytest

from keras_bert.data.masking import Masking
from keras_bert.data.masking import draw
from keras_bert.data.masking import mask
from keras_bert.data.masking import mask_counts

MASK = 4


def apply(token_ids, candidates, masking, seed=0, vocabulary_size=100):
    token_ids = np.asarray(token_ids, dtype=np.int32)
    candidates = np.asarray(candidates, dtype=bool)
    rng = np.random.default_rng(seed)
    draws = draw(rng, *token_ids.shape, vocabulary_size, masking)
    counts = mask_counts(candidates.sum(axis=1), masking)
    return mask(token_ids, candidates, counts, draws, MASK, masking)


def test_counts_round_halves_to_even_as_the_original():
    # spec: 10 -> 2, 30 -> 4, 128 -> 19, 512 -> 77; at least 1; capped.
    lengths = [3, 10, 30, 128, 512]
    masking = Masking(max_predictions=80)
    assert mask_counts(lengths, masking).tolist() == [1, 2, 4, 19, 77]
    masking = Masking(max_predictions=20)
    assert mask_counts(lengths, masking).tolist() == [1, 2, 4, 19, 20]
    assert mask_counts(lengths, Masking(mask_rate=0)).tolist() == [0] * 5


def test_all_candidates_and_nothing_else_become_mask_tokens():
    masked, positions, labels, chosen = apply(
        [[2, 50, 51, 3, 52, 3, 0], [2, 60, 3, 0, 0, 0, 0]],
        [[0, 1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0, 0]],
        Masking(1.0, 1.0, 0.0, max_predictions=4),
    )
    assert masked.tolist() == [[2, 4, 4, 3, 4, 3, 0], [2, 4, 3, 0, 0, 0, 0]]
    assert positions.tolist() == [[1, 2, 4, 0], [1, 0, 0, 0]]
    assert labels.tolist() == [[50, 51, 52, 0], [60, 0, 0, 0]]
    assert chosen.tolist() == [[True] * 3 + [False], [True] + [False] * 3]


def test_kept_tokens_are_chosen_but_not_changed():
    token_ids = np.arange(10, 30).reshape(1, 20)
    masked, positions, labels, chosen = apply(
        token_ids, np.ones((1, 20)), Masking(0.5, 0.0, 0.0)
    )
    assert masked.tolist() == token_ids.tolist()
    assert chosen.sum() == 10
    assert (labels[chosen] == token_ids[0, positions[chosen]]).all()


def test_random_tokens_come_from_the_whole_vocabulary():
    masked, *_ = apply(
        np.full((200, 20), 50),
        np.ones((200, 20)),
        Masking(1.0, 0.0, 1.0),
        vocabulary_size=7,
    )
    assert sorted(np.unique(masked)) == list(range(7))


def test_default_rates_give_80_10_10():
    size = (3000, 100)
    token_ids = np.full(size, 50)
    masked, _, _, chosen = apply(
        token_ids, np.ones(size), Masking(), vocabulary_size=10**6
    )
    count = 3000 * 15
    assert chosen.sum() == count
    for value, share in (
        ((masked == MASK).sum(), 0.8),
        (((masked != MASK) & (masked != 50)).sum(), 0.1),
    ):
        error = np.sqrt(share * (1 - share) / count)
        assert abs(value / count - share) < 4 * error


def test_every_candidate_is_equally_likely():
    candidates = np.ones((8000, 10))
    candidates[:, [0, 5]] = 0
    _, positions, _, chosen = apply(
        np.full((8000, 10), 50), candidates, Masking(0.25, 1.0, 0.0)
    )
    hits = np.bincount(positions[chosen], minlength=10)
    assert hits[[0, 5]].tolist() == [0, 0]
    # 2 of 8 each time; binomial sampling error of 8,000 draws.
    error = np.sqrt(8000 * 0.25 * 0.75)
    assert (abs(np.delete(hits, [0, 5]) - 2000) < 4 * error).all()


def test_fewer_candidates_than_wanted_is_no_error():
    masking = Masking(1.0, 1.0, 0.0, max_predictions=3)
    draws = draw(np.random.default_rng(0), 2, 4, 100, masking)
    masked, positions, _, chosen = mask(
        np.array([[2, 50, 3, 0], [2, 3, 0, 0]], np.int32),
        np.array([[0, 1, 0, 0], [0, 0, 0, 0]], bool),
        np.array([3, 3]),
        draws,
        MASK,
        masking,
    )
    assert masked.tolist() == [[2, 4, 3, 0], [2, 3, 0, 0]]
    assert chosen.sum(axis=1).tolist() == [1, 0]
    assert positions.tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "values, argument",
    [
        ({"mask_rate": 1.5}, "mask_rate"),
        ({"mask_token_rate": -0.1}, "mask_token_rate"),
        ({"random_token_rate": 0.3}, "random_token_rate"),
        ({"max_predictions": 0}, "max_predictions"),
    ],
)
def test_rates_outside_their_range_are_refused(values, argument):
    with pytest.raises(ValueError, match=f"argument `{argument}`"):
        Masking(**values).check()
