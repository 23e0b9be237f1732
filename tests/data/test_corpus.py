from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import corpus as corpus_module


def test_documents_become_flat_ids_with_bounds(tokenizer):
    corpus = Corpus.from_documents(
        [["w0 w1", "w2"], ["w3 w4 w5."], ["w0"]], tokenizer
    )
    assert corpus.ids.tolist() == [5, 6, 7, 8, 9, 10, 25, 5]
    assert corpus.ids.dtype == np.uint16
    assert corpus.sentence_bounds.tolist() == [0, 2, 3, 7, 8]
    assert corpus.document_bounds.tolist() == [0, 2, 3, 4]
    assert repr(corpus) == "<Corpus of 3 documents, 4 sentences, 8 tokens>"


def test_sentences_and_documents_without_tokens_are_dropped(tokenizer):
    corpus = Corpus.from_documents(
        [["\x07"], ["w0", "\u200b", "w1"], [], ["w2"]], tokenizer
    )
    assert corpus.ids.tolist() == [5, 6, 7]
    assert corpus.sentence_bounds.tolist() == [0, 1, 2, 3]
    assert corpus.document_bounds.tolist() == [0, 2, 3]


def test_documents_survive_the_borders_of_tokenizer_batches(tokenizer):
    documents = [["w0"] * 700, ["w1"] * 700, ["w2"] * 700]
    corpus = Corpus.from_documents(documents, tokenizer)
    assert corpus.document_bounds.tolist() == [0, 700, 1400, 2100]
    assert corpus.ids.tolist() == [5] * 700 + [6] * 700 + [7] * 700


def test_calls_of_the_tokenizer_are_bounded_by_characters(
    tokenizer, monkeypatch
):
    monkeypatch.setattr("keras_bert.data.corpus._CHARACTERS_PER_CALL", 10)
    sizes = []

    def counting(sentences, *arguments):
        sizes.append(sum(map(len, sentences)))
        return tokenize(sentences, *arguments)

    tokenize = corpus_module.tokenize_sentences
    monkeypatch.setattr(corpus_module, "tokenize_sentences", counting)
    documents = [["w1 w2", "w3 w4", "w5 w6"], ["w7", "w8 w9"]]
    corpus = Corpus.from_documents(documents, tokenizer)
    # As soon as there are more than ten.
    assert sizes == [15, 7]
    assert corpus.ids.tolist() == [6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert corpus.document_bounds.tolist() == [0, 3, 5]


def test_ids_above_65535_take_four_bytes():
    def tokenizer(texts):
        ids = np.array([int(text) for text in texts])
        return SimpleNamespace(
            flat_values=ids, row_lengths=lambda: np.ones(len(ids), int)
        )

    corpus = Corpus.from_documents([["65535"], ["65536"]], tokenizer)
    assert corpus.ids.tolist() == [65535, 65536]
    assert corpus.ids.dtype == np.uint32


def test_an_empty_corpus_is_refused(tokenizer, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n \n")
    with pytest.raises(ValueError, match="argument `files`.*empty.txt"):
        Corpus.from_files(path, tokenizer)
    with pytest.raises(ValueError, match="argument `documents`"):
        Corpus.from_documents([[""], []], tokenizer)


@pytest.mark.parametrize("bounds", [[0, 2], [1, 3], [0, 2, 2, 3], [0]])
def test_bounds_that_do_not_cover_the_ids_are_refused(bounds):
    with pytest.raises(ValueError, match="argument `sentence_bounds`"):
        Corpus([7, 8, 9], bounds, [0, len(bounds) - 1])
