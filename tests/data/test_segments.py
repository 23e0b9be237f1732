"""Kinds of segments besides the original's pairs, and length buckets."""

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import PretrainingBatches
from keras_bert.data import pretraining_dataset
from keras_bert.data.segment_pairs import full_sentences
from keras_bert.data.segment_pairs import segment_pairs


def pairs_of(corpus, document, seeds, length=64, **options):
    return np.concatenate(
        [
            segment_pairs(
                corpus, document, np.random.default_rng(seed), length, **options
            )
            for seed in range(seeds)
        ]
    )


@pytest.mark.parametrize("rate", [0.5, 0.2])
def test_the_share_of_random_pairs_is_the_rate(corpus_of, rate):
    # Paper, section 3.1: "50% of the time B is the actual next sentence".
    corpus = corpus_of([9, 30, 2, 61, 5, 5, 70], [8] * 5)
    found = pairs_of(corpus, 0, 2000, random_next_rate=rate)
    error = 4 * np.sqrt(rate * (1 - rate) / len(found))
    assert abs(found[:, 4].mean() - rate) < error
    # The original's rule gives more: the code of the original, spec D.
    assert pairs_of(corpus, 0, 500)[:, 4].mean() > 0.55


def test_a_lone_sentence_is_cut_where_b_has_to_follow(corpus_of):
    corpus = corpus_of([10], [8] * 5)
    options = {"random_next_rate": 0.0, "short_seq_prob": 0.0}
    found = pairs_of(corpus, 0, 200, **options)
    assert not found[:, 4].any()
    assert (found[:, 0] == 0).all()
    assert (found[:, 1] == found[:, 2]).all()
    assert (found[:, 3] == 10).all()
    assert set(found[:, 1].tolist()) == set(range(1, 10))
    # One token cannot be cut: its next segment is a random one.
    assert pairs_of(corpus_of([1], [8]), 0, 5, **options)[:, 4].all()


def test_users_14_a_random_next_never_comes_from_the_document(corpus_of):
    # One document of 3 lines among others, 1,000 draws.
    corpus = corpus_of([6, 6, 6], [5, 5], [4])
    found = pairs_of(corpus, 0, 1000, length=32)
    random = found[found[:, 4] == 1]
    assert len(random) > 300
    assert (random[:, 2] >= 18).all()
    follows = found[found[:, 4] == 0]
    assert (follows[:, 1] == follows[:, 2]).all()


def test_users_16_sentences_fill_the_sequence(tokenizer):
    # 100 sentences of five tokens, max 64, short_seq_prob 0: mean >= 55.
    documents = [["w1 w2 w3 w4 w5"] * 100] * 2
    corpus = Corpus.from_documents(documents, tokenizer)
    for packing in (False, True):
        batches = PretrainingBatches(
            corpus, tokenizer, 64, 1, packing=packing, short_seq_prob=0.0
        )
        lengths = np.concatenate(
            [
                window.layout.lengths
                for epoch in range(20)
                for window in batches.windows(0, epoch)
            ]
        )
        assert lengths.mean() >= 55
        assert lengths.max() <= 64


def test_full_sentences_are_not_cut(corpus_of):
    corpus = corpus_of([5, 3, 4, 12, 2, 2], [1])
    rng = np.random.default_rng(0)
    found = full_sentences(corpus, 0, rng, 12, short_seq_prob=0.0)
    # Room 10: 5+3 | 4 | 10 of the 12 | its rest, 2 and 2.
    assert found[:, :2].tolist() == [
        [0, 8],
        [8, 12],
        [12, 22],
        [22, 28],
    ]
    assert not found[:, 2:].any()
    alone = full_sentences(corpus, 1, rng, 12)
    assert alone[:, :2].tolist() == [[28, 29]]


def test_kinds_of_segments_differ_and_fit_the_labels(file, tokenizer):
    shapes = {}
    for kind in ("single", "full_sentences"):
        dataset = pretraining_dataset(
            file, tokenizer, 32, 2, next_sentence=False, segments=kind
        )
        shapes[kind] = next(dataset.as_numpy_iterator())[0]["token_ids"]
    assert (shapes["single"] != shapes["full_sentences"]).any()
    for wrong in (
        {"segments": "single", "next_sentence": True},
        {"segments": "pairs", "next_sentence": False},
        {"segments": "words"},
    ):
        with pytest.raises(ValueError, match="argument `segments`"):
            pretraining_dataset(file, tokenizer, **wrong)
    with pytest.raises(ValueError, match="argument `random_next_rate`"):
        pretraining_dataset(file, tokenizer, random_next_rate=1.5)


def test_buckets_hold_sequences_of_about_one_length(file, tokenizer):
    dataset = pretraining_dataset(
        file, tokenizer, 64, 2, packing=False, buckets=(16, 32)
    )
    assert dataset.element_spec[0]["token_ids"].shape.as_list() == [2, None]
    found = list(dataset.as_numpy_iterator())
    assert len(found) == len(dataset)
    seen = set()
    for x, y, _ in found:
        width = x["token_ids"].shape[1]
        seen.add(width)
        lengths = (x["padding_mask"] > 0).sum(1)
        low = {16: 1, 32: 17, 64: 33}[width]
        assert (low <= lengths).all()
        assert (lengths <= width).all()
        assert x["segment_ids"].shape == x["padding_mask"].shape
        assert y["mask_ids"].shape == (2, 10)
    assert seen == {16, 32, 64}
    # And a run goes on at any batch here too.
    rest = pretraining_dataset(
        file, tokenizer, 64, 2, packing=False, buckets=(16, 32),
        start_epoch=0, skip=3,
    )  # fmt: skip
    for one, other in zip(found[3:], rest.as_numpy_iterator(), strict=True):
        assert (one[0]["token_ids"] == other[0]["token_ids"]).all()


@pytest.mark.parametrize("buckets", [(32, 16), (0, 16), (128,), "a"])
def test_bad_buckets_are_refused(file, tokenizer, buckets):
    with pytest.raises(ValueError, match="argument `buckets`"):
        pretraining_dataset(
            file, tokenizer, 64, 2, packing=False, buckets=buckets
        )
    with pytest.raises(ValueError, match="argument `buckets`"):
        pretraining_dataset(file, tokenizer, 64, 2, buckets=(16,))
