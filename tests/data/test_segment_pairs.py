import numpy as np
import pytest

from keras_bert.data.segment_pairs import segment_pairs
from keras_bert.data.segment_pairs import single_segments


def rng(seed=0):
    return np.random.default_rng(seed)


def all_pairs(corpus, document, length, passes, short_seq_prob=0.1):
    return np.concatenate(
        [
            segment_pairs(corpus, document, rng(i), length, short_seq_prob)
            for i in range(passes)
        ]
    )


def test_label_0_follows_and_label_1_comes_from_another_document(corpus_of):
    corpus = corpus_of([3, 4, 5, 6], [7, 8], [9])
    pairs = all_pairs(corpus, 0, 64, passes=300, short_seq_prob=0)
    follows = pairs[pairs[:, 4] == 0]
    random = pairs[pairs[:, 4] == 1]
    # Nothing is truncated here: the document has 18 tokens.
    assert (follows[:, 1] == follows[:, 2]).all()
    assert (follows[:, 3] == 18).all()
    assert (random[:, 2] >= 18).all()
    # Random segments start at any sentence of any other document.
    assert sorted(np.unique(random[:, 2])) == [18, 25, 33]
    assert len(follows) and len(random)


def test_users_14_a_random_next_never_comes_from_the_same_document(corpus_of):
    corpus = corpus_of([5, 5, 5], [5, 5, 5])
    for document, own in ((0, (0, 15)), (1, (15, 30))):
        pairs = all_pairs(corpus, document, 16, passes=1000)
        random = pairs[pairs[:, 4] == 1]
        inside = (random[:, 2] >= own[0]) & (random[:, 3] <= own[1])
        assert len(random) > 1000
        assert not inside.any()


def test_unused_sentences_are_put_back(corpus_of):
    # Every sentence is in exactly one segment A or true B of a pass.
    # Sentences of one token: nothing is truncated.
    corpus = corpus_of([1] * 120, [1] * 100)
    for seed in range(50):
        pairs = segment_pairs(corpus, 0, rng(seed), 64, 0)
        covered = np.zeros(120, dtype=int)
        for a_start, a_end, b_start, b_end, is_random in pairs:
            covered[a_start:a_end] += 1
            if not is_random:
                covered[b_start:b_end] += 1
        assert (covered == 1).all()


def truncate_one_by_one(a, b, room):
    """The loop of the original: lengths only."""
    while a + b > room:
        if a > b:
            a -= 1
        else:
            b -= 1
    return a, b


@pytest.mark.parametrize("length", [5, 6, 12, 13])
def test_truncation_ends_where_dropping_one_by_one_ends(corpus_of, length):
    sizes = range(1, 15)
    corpus = corpus_of(*([[size] for size in sizes]))
    seen = set()
    for document in range(len(corpus.document_bounds) - 1):
        for seed in range(40):
            # One sentence: A is the sentence, B is another document.
            (pair,) = segment_pairs(corpus, document, rng(seed), length, 0)
            a = int(pair[1] - pair[0])
            b = int(pair[3] - pair[2])
            other = int(np.searchsorted(corpus.sentence_bounds, pair[3]))
            size_a, size_b = document + 1, other
            assert (a, b) == truncate_one_by_one(size_a, size_b, length - 3)
            seen.add((size_a, size_b))
    assert len(seen) > 100


def test_tokens_are_dropped_at_both_ends_alike(corpus_of):
    corpus = corpus_of([40], [40])
    pairs = all_pairs(corpus, 0, 23, passes=2000, short_seq_prob=0)
    # 30 of 40 tokens go, each from the front with probability 1/2: the mean
    # start is 15, with a standard deviation of sqrt(30) / 2.
    assert (pairs[:, 1] - pairs[:, 0] == 10).all()
    error = np.sqrt(30 / 4 / 2000)
    assert abs(pairs[:, 0].mean() - 15) < 4 * error
    assert abs(pairs[:, 0].var() - 30 / 4) < 1


def test_users_16_pairs_fill_the_length(corpus_of):
    corpus = corpus_of([5] * 100, [5] * 100)
    pairs = all_pairs(corpus, 0, 64, passes=20, short_seq_prob=0)
    lengths = pairs[:, 1] - pairs[:, 0] + pairs[:, 3] - pairs[:, 2] + 3
    assert lengths.mean() >= 55
    assert lengths.max() == 64


def test_single_segments_hold_every_token_once(corpus_of):
    corpus = corpus_of([7, 100, 3], [5], [90])
    for document, (start, end) in enumerate([(0, 110), (110, 115), (115, 205)]):
        starts = set()
        for seed in range(30):
            parts = single_segments(corpus, document, rng(seed), 32)
            assert parts[0, 0] == start
            assert parts[-1, 1] == end
            assert (parts[1:, 0] == parts[:-1, 1]).all()
            lengths = parts[:, 1] - parts[:, 0]
            assert lengths.min() >= 1
            assert lengths.max() <= 30
            # Between the first and the last, all have the target length.
            assert len(set(lengths[1:-1].tolist())) <= 1
            assert not parts[:, 2:].any()
            starts.add(int(parts[0, 1]))
        # Borders differ from pass to pass, unless the document fits whole.
        assert (len(starts) > 5) == (end - start > 30)
