"""SegmentJoiner: the original's truncation, one result on every path."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.data.segment_joiner import SegmentJoiner
from keras_bert.tokenizers import BertTokenizer

IDS = {"pad_token_id": 9, "cls_token_id": 2, "sep_token_id": 3}


def truncated_as_the_original(a, b, room):
    """The loop of `_truncate_seq_pair`, a tie dropping from the second."""
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return a, b


def test_one_segment_and_a_pair_in_columns():
    joiner = SegmentJoiner(sequence_length=8, **IDS)
    one = joiner([5, 6])
    assert one["token_ids"].numpy().tolist() == [2, 5, 6, 3, 9, 9, 9, 9]
    assert one["segment_ids"].numpy().tolist() == [0, 0, 0, 0, 0, 0, 0, 0]
    assert one["padding_mask"].numpy().tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    two = joiner(([5, 6], [7]))
    assert two["token_ids"].numpy().tolist() == [2, 5, 6, 3, 7, 3, 9, 9]
    assert two["segment_ids"].numpy().tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert two["padding_mask"].numpy().tolist() == [1, 1, 1, 1, 1, 1, 0, 0]
    long = joiner([list(range(10, 30))])["token_ids"].numpy().tolist()
    assert long == [[2, 10, 11, 12, 13, 14, 15, 3]]
    for value in two.values():
        assert value.dtype == tf.int32


@pytest.mark.parametrize("length", range(3, 14))
def test_longest_first_drops_what_the_original_drops(length):
    joiner = SegmentJoiner(sequence_length=length, **IDS)
    sizes = [(a, b) for a in range(9) for b in range(9)]
    first = [list(range(100, 100 + a)) for a, _ in sizes]
    second = [list(range(200, 200 + b)) for _, b in sizes]
    rows = joiner((first, second))
    for a, b, ids, segments in zip(
        first,
        second,
        rows["token_ids"].numpy().tolist(),
        rows["segment_ids"].numpy().tolist(),
        strict=True,
    ):
        # convert_single_example: without tokens_b there is no second [SEP].
        if b:
            a, b = truncated_as_the_original(a, b, length - 3)
        row = [2, *a[: length - 2], 3, *([*b, 3] if b else [])]
        assert ids == row + [9] * (length - len(row))
        types = [0] * (row.index(3) + 1)
        types += [1] * (len(row) - len(types))
        assert segments == types + [0] * (length - len(row))


def test_only_second_keeps_the_first_segment_whole():
    joiner = SegmentJoiner(sequence_length=8, truncate="only_second", **IDS)
    ids = joiner(([5, 6, 7, 8], [10, 11, 12]))["token_ids"].numpy().tolist()
    assert ids == [2, 5, 6, 7, 8, 3, 10, 3]
    with pytest.raises(ValueError, match="only_second.*leaves 5 ids"):
        joiner(([5] * 6, [1]))
    dataset = tf.data.Dataset.from_tensors(([5] * 6, [1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="only_second"):
        list(dataset.map(lambda a, b: joiner((a, b))))


def test_direct_mapped_and_batched_rows_are_equal():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    tokenizer = BertTokenizer(words)
    joiner = SegmentJoiner(tokenizer, 6)
    first = ["a b", "", "a a a a a a"]
    second = ["c", "b", "b b b b"]

    def both(a, b):
        return joiner((tokenizer(a), tokenizer(b)))

    def values(batches):
        return {
            name: np.concatenate([np.atleast_2d(x[name]) for x in batches])
            for name in ("token_ids", "segment_ids", "padding_mask")
        }

    dataset = tf.data.Dataset.from_tensor_slices((first, second))
    direct = values([both(first, second)])
    results = [
        values([both(a, b) for a, b in zip(first, second, strict=True)]),
        values(dataset.map(both)),
        values(dataset.batch(2).map(both)),
    ]
    for result in results:
        for name, value in direct.items():
            np.testing.assert_array_equal(result[name], value)
    # Arrays and ragged tensors alike.
    array = joiner(np.array([[5, 6], [6, 7]]))["token_ids"].numpy().tolist()
    assert array == [[2, 5, 6, 3, 0, 0], [2, 6, 7, 3, 0, 0]]
    assert joiner(tokenizer([]))["token_ids"].shape == (0, 6)


def test_the_configuration_holds_the_ids():
    joiner = SegmentJoiner(sequence_length=7, truncate="only_second", **IDS)
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(joiner)
    )
    assert copy.get_config() == joiner.get_config()
    assert joiner([5], sequence_length=3)["token_ids"].shape == (3,)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"truncate": "first"}, "truncate"),
        ({"sequence_length": 2}, "sequence_length"),
        ({"sep_token_id": None}, "sep_token_id"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}`"):
        SegmentJoiner(**{**IDS, **arguments})


def test_mixed_or_wrong_segments_are_refused():
    joiner = SegmentJoiner(**IDS)
    for segments in (([5], [[6]]), ([5], [6], [7]), [[[5]]]):
        with pytest.raises(ValueError, match="`segments`"):
            joiner(segments)
