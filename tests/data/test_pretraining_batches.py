"""Batches in plain numpy: passes, windows, memory."""

import tracemalloc

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import MemoryShards
from keras_bert.data import PretrainingBatches
from keras_bert.data import batch_counts
from keras_bert.data.masking import Masking


def test_every_pass_has_the_length_of_the_first(file, tokenizer):
    batches = PretrainingBatches(
        Corpus.from_files(file, tokenizer), tokenizer, 16, 2
    )
    wanted = batches.batches_per_epoch
    assert wanted == batches.rows_of_first_epoch // 2
    rows = [
        sum(window.layout.num_rows for window in batches.windows(0, epoch))
        for epoch in range(12)
    ]
    # Some passes are topped up, some are cut.
    assert min(rows) < 2 * wanted < max(rows)
    for epoch in range(12):
        blocks = list(batches.blocks(epoch))
        assert sum(len(x["token_ids"]) for x, _, _ in blocks) == wanted
    assert len(list(batches.epoch(0))) == wanted


def test_windows_do_not_change_what_is_drawn(file, tokenizer, monkeypatch):
    corpus = Corpus.from_files(file, tokenizer)

    def rows():
        batches = PretrainingBatches(corpus, tokenizer, 64, 1, packing=False)
        found = [x["token_ids"][0].tolist() for x, _, _ in batches.epoch(0)]
        return sorted(found)

    whole = rows()
    monkeypatch.setattr("keras_bert.data.windows.WINDOW_TOKENS", 300)
    assert rows() == whole


def test_users_12_memory_does_not_grow_with_the_text(
    tmp_path, tokenizer, corpus_of, monkeypatch
):
    # 200,000 lines: two bytes a token and eight a sentence are kept.
    path = tmp_path / "large.txt"
    with open(path, "w") as file:
        for number in range(200_000):
            file.write("w1 w2 w3 w4 w5\n" if number % 200 else "\n")
    corpus = Corpus.from_files(str(path), tokenizer)
    arrays = (corpus.ids, corpus.sentence_bounds, corpus.document_bounds)
    assert sum(array.nbytes for array in arrays) < 4_000_000

    # What is built for batches is a window, whatever the number of documents.
    monkeypatch.setattr("keras_bert.data.windows.WINDOW_TOKENS", 20_000)

    def peak(documents):
        corpus = corpus_of(*[[50] * 20] * documents)
        corpus.ids %= len(tokenizer.vocabulary)
        tracemalloc.start()
        batches = PretrainingBatches(corpus, tokenizer, 64, 32)
        for _ in batches.blocks(0):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)  # what is imported at the first use does not count
    small = peak(60)
    assert peak(240) < 1.3 * small


def test_users_17_padding_stays_padding_and_specials_stay(tokenizer):
    corpus = Corpus.from_documents([["w0"], ["w1 w2 w3"]], tokenizer)
    batches = PretrainingBatches(
        corpus,
        tokenizer,
        12,
        1,
        packing=False,
        next_sentence=False,
        masking=Masking(1.0, 1.0, 0.0, max_predictions=12),
        short_seq_prob=0,
    )
    rows = sorted(
        (x["token_ids"].tolist()[0], x["padding_mask"].tolist()[0])
        for x, _, _ in batches.epoch(0)
    )
    assert rows == [
        ([2, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1] + [0] * 9),
        ([2, 4, 4, 4, 3, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1] + [0] * 7),
    ]


def test_batches_are_counted_once_and_only_when_asked_for(
    tokenizer, monkeypatch
):
    counted = []
    count = batch_counts._count
    monkeypatch.setattr(
        batch_counts, "_count", lambda *a: counted.append(a) or count(*a)
    )
    corpus = Corpus(np.arange(5, 25), [0, 5, 10, 15, 20], [0, 2, 4])
    shards = MemoryShards([corpus])
    given = {"sequence_length": 32, "batch_size": 1}
    first = PretrainingBatches(shards, tokenizer, **given)
    assert not counted
    number = first.batches_per_epoch
    assert len(list(first.epoch(0))) == number
    again = PretrainingBatches(shards, tokenizer, **given)
    assert (again.batches_per_epoch, again.fill) == (number, first.fill)
    assert len(counted) == 1
    # Other settings and other documents are counted anew.
    for changed in (
        {"batch_size": 2}, {"seed": 2}, {"sequence_length": 48},
        {"packing": False}, {"next_sentence": False},
    ):  # fmt: skip
        before = len(counted)
        other = PretrainingBatches(shards, tokenizer, **{**given, **changed})
        assert other.batches_per_epoch > 0
        assert len(counted) == before + 1
    shards = MemoryShards([corpus])
    assert PretrainingBatches(shards, tokenizer, **given).fill == first.fill
    assert len(counted) == 7


def test_a_tokenizer_too_small_for_the_corpus_is_refused(tokenizer):
    corpus = Corpus([5, 900, 6], [0, 2, 3], [0, 1, 2])
    with pytest.raises(ValueError, match="argument `tokenizer`.*900.*28 tok"):
        next(PretrainingBatches(corpus, tokenizer).epoch(0))
