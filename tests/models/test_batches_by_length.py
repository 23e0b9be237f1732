"""Rows of like length share a batch; like means in tokens, not in bytes."""

import numpy as np
import pytest

import keras_bert as kb
from keras_bert.models import _texts
from keras_bert.models import _token_rows
from keras_bert.models._token_rows import TokenRows


def preprocessor():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "abcdefghij", "a"]
    tokenizer = kb.BertTokenizer([*words, "##a"])
    return kb.BertTextClassifier.preprocessor_class(tokenizer, 16)


def test_lengths_are_tokens():
    texts = _texts.text_arrays(["abcdefghij", "aaaa", "a a a", "", "a " * 40])
    found = TokenRows(texts, preprocessor()).lengths
    # [CLS] and [SEP] count; a row is cut at 16.
    np.testing.assert_array_equal(found, [3, 6, 5, 2, 16])
    pairs = _texts.text_arrays((["a a", "a"], ["a", "aaaa"]))
    np.testing.assert_array_equal(
        TokenRows(pairs, preprocessor()).lengths, [6, 8]
    )


def test_many_texts_are_counted_in_pieces(monkeypatch):
    monkeypatch.setattr(_token_rows, "_AT_ONCE", 3)
    texts = _texts.text_arrays([" a" * n for n in range(8)])
    found = TokenRows(texts, preprocessor()).lengths
    np.testing.assert_array_equal(found, np.arange(8) + 2)


@pytest.mark.parametrize("pair", [False, True])
def test_kept_tokens_are_the_rows_of_the_preprocessor(pair, monkeypatch):
    texts = [" a" * (n % 20) + "abcdefghij" for n in range(30)]
    x = (texts, texts[::-1]) if pair else texts
    made = preprocessor()
    tokenized = TokenRows(_texts.text_arrays(x), made)
    numbers = np.array([7, 3, 29])
    part = tuple([one[n] for n in numbers] for one in (x if pair else (x,)))
    expected = _texts.trim(made.rows(part if pair else part[0]), (4, 8, 12))
    found = tokenized.gather(numbers, (4, 8, 12))
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == "int32"
    # More than may be kept: only the lengths are.
    monkeypatch.setattr(_token_rows, "_KEPT", 20)
    many = TokenRows(_texts.text_arrays(x), made)
    assert tokenized.kept and not many.kept
    np.testing.assert_array_equal(many.lengths, tokenized.lengths)


def single_examples(count=200):
    import tensorflow as tf

    texts = [" a" * (1 + n * 7 % 13) for n in range(count)]
    labels = ["yes" if n % 3 else "no" for n in range(count)]
    return tf.data.Dataset.from_tensor_slices((texts, labels))


@pytest.fixture
def classifier(make_backbone):
    made = preprocessor()
    backbone = make_backbone(vocabulary_size=made.tokenizer.vocabulary_size())
    return kb.BertTextClassifier(
        backbone, labels=["no", "yes"], preprocessor=made
    )


def batches_of(classifier, dataset, shuffle):
    """What `fit(dataset, batch_size=8)` trains on: lengths and targets."""
    found = classifier._data(dataset, None, None, 8, shuffle)["x"]
    return [
        (np.count_nonzero(x["padding_mask"], axis=1), y.ravel())
        for x, y in found.as_numpy_iterator()
    ]


def test_a_dataset_of_single_texts_is_batched_by_length(classifier):
    found = batches_of(classifier, single_examples(), True)
    assert [len(lengths) for lengths, _ in found] == [8] * 25
    # Thirteen lengths in sorted batches of eight: one or two in each.
    assert max(np.ptp(lengths) for lengths, _ in found) <= 1
    seen = sorted(
        (int(length), int(target))
        for of_batch in found
        for length, target in zip(*of_batch, strict=True)
    )
    # Every text once, its target with it.
    assert seen == sorted((3 + n * 7 % 13, int(n % 3 > 0)) for n in range(200))
    kept = np.concatenate(
        [x for x, _ in batches_of(classifier, single_examples(20), False)]
    )
    assert list(kept) == [3 + n * 7 % 13 for n in range(20)]


def test_fit_reads_single_texts(classifier):
    history = classifier.fit(
        single_examples(), batch_size=8, epochs=2, verbose=0
    )
    assert len(history.history["loss"]) == 2
    # 25 batches an epoch.
    assert int(classifier.optimizer.iterations) == 50


def test_predict_on_single_texts_is_that_of_lists(classifier):
    texts = [" a" * (1 + n * 7 % 13) for n in range(20)]
    single = single_examples(20)
    np.testing.assert_allclose(
        classifier.predict(single.map(lambda x, y: x), batch_size=8, verbose=0),
        classifier.predict(texts, batch_size=8, verbose=0),
        atol=1e-6,
    )
    with pytest.raises(ValueError, match="batch_size"):
        classifier.fit(single, verbose=0)
