"""Rows of like length share a batch; like means in tokens, not in bytes."""

import numpy as np

import keras_bert as kb
from keras_bert.models import _texts


def preprocessor():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "abcdefghij", "a"]
    tokenizer = kb.BertTokenizer([*words, "##a"])
    return kb.BertTextClassifier.preprocessor_class(tokenizer, 16)


def test_lengths_are_tokens():
    texts = _texts.text_arrays(["abcdefghij", "aaaa", "a a a", "", "a " * 40])
    found = _texts.text_lengths(texts, preprocessor())
    # [CLS] and [SEP] count; a row is cut at 16.
    np.testing.assert_array_equal(found, [3, 6, 5, 2, 16])
    pairs = _texts.text_arrays((["a a", "a"], ["a", "aaaa"]))
    np.testing.assert_array_equal(
        _texts.text_lengths(pairs, preprocessor()), [6, 8]
    )


def test_many_texts_are_counted_in_pieces(monkeypatch):
    monkeypatch.setattr(_texts, "_COUNTED", 3)
    texts = _texts.text_arrays([" a" * n for n in range(8)])
    found = _texts.text_lengths(texts, preprocessor())
    np.testing.assert_array_equal(found, np.arange(8) + 2)
