"""The original's static records: written as it writes them, and read."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.data import GoogleSettings
from keras_bert.data import Preparation
from keras_bert.data import prepare
from keras_bert.data import pretraining_dataset
from keras_bert.tokenizers import BertTokenizer

LENGTHS = {
    "input_ids": 32,
    "input_mask": 32,
    "segment_ids": 32,
    "masked_lm_positions": 5,
    "masked_lm_ids": 5,
    "masked_lm_weights": 5,
    "next_sentence_labels": 1,
}


@pytest.fixture(scope="module")
def records(file, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("google") / "out"
    google = GoogleSettings(32, duplicates=2)
    prepare(
        Preparation((file,), shard_bytes=900, google=google), tokenizer, folder
    )
    return folder


def parsed(folder):
    for path in sorted(folder.glob("*.tfrecord")):
        for record in tf.data.TFRecordDataset(str(path)):
            features = tf.train.Example.FromString(record.numpy()).features
            yield {
                name: np.array(value.float_list.value or value.int64_list.value)
                for name, value in features.feature.items()
            }


def test_the_seven_features_have_the_lengths_of_the_original(
    records, tokenizer
):
    found = list(parsed(records))
    index = json.loads((records / "index.json").read_text())
    assert index["format"] == "google"
    assert index["records"] == len(found) > 80
    for one in found:
        assert {name: len(value) for name, value in one.items()} == LENGTHS
        size = one["input_mask"].sum()
        ids = one["input_ids"]
        assert (ids[size:] == 0).all()
        assert ids[0] == tokenizer.cls_token_id
        assert ids[size - 1] == tokenizer.sep_token_id
        chosen = one["masked_lm_weights"] > 0
        positions = one["masked_lm_positions"]
        assert (np.diff(positions[chosen]) > 0).all()
        assert (positions[chosen] < size).all()
        assert not positions[~chosen].any()
        assert one["next_sentence_labels"][0] in (0, 1)


def test_written_records_are_read_again_every_one_once(records, tokenizer):
    wanted = sorted(tuple(one["input_ids"]) for one in parsed(records))
    dataset = pretraining_dataset(str(records), tokenizer, 32, 1)
    for _ in range(2):
        found = [x["token_ids"][0] for x, _, _ in dataset.as_numpy_iterator()]
        assert sorted(map(tuple, found)) == wanted
    # Without the labels of the pairs y and the weights are arrays.
    pairs = next(iter(dataset))
    alone = next(
        iter(pretraining_dataset(str(records), tokenizer, 32, 1,
                                 next_sentence=False, start_epoch=0))
    )  # fmt: skip
    assert alone[0]["token_ids"].shape == pairs[0]["token_ids"].shape
    assert alone[1].shape == pairs[1]["mask_ids"].shape
    assert alone[2].shape == pairs[2]["mask_ids"].shape


def test_a_large_file_is_read_in_slices(records, tokenizer, monkeypatch):
    wanted = sorted(tuple(one["input_ids"]) for one in parsed(records))
    monkeypatch.setattr("keras_bert.data.static_batches._SLICE", 4)
    monkeypatch.setattr("keras_bert.data.google_records._RECORDS_PER_CALL", 2)

    def rows(**where):
        dataset = pretraining_dataset(
            str(records), tokenizer, 32, 1, start_epoch=1, **where
        )
        return [
            tuple(x["token_ids"][0]) for x, _, _ in dataset.as_numpy_iterator()
        ]

    found = rows()
    assert sorted(found) == wanted
    assert found != wanted
    for skip in (1, 4, 11, len(wanted) - 1):
        assert rows(skip=skip) == found[skip:]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampling", 0.7),
        ("masking", "spans"),
        ("mask_rate", 0.3),
        ("mask_token_rate", 1.0),
        ("random_token_rate", 0.0),
        ("max_predictions", 3),
        ("segments", "single"),
        ("random_next_rate", 0.5),
        ("short_seq_prob", 0.5),
        ("max_sequences_per_row", 2),
        ("buckets", [16, 32]),
        ("file_format", "lines"),
    ],
)
def test_what_the_records_have_already_cannot_be_asked_for(
    records, tokenizer, name, value
):
    for files in (str(records), sorted(map(str, records.glob("*.tfrecord")))):
        with pytest.raises(ValueError, match=f"argument `{name}`"):
            pretraining_dataset(files, tokenizer, 32, 1, **{name: value})


def test_the_originals_own_file_is_read(shared, uncased):
    # 45 records, 128 tokens, 20 predictions: shared data, README.
    path = str(shared / "tfrecord" / "sample_text.tfrecord")
    dataset = pretraining_dataset(path, uncased, 128, 15)
    assert len(dataset) == 3
    first, second = (list(dataset.as_numpy_iterator()) for _ in range(2))
    assert not (first[0][0]["token_ids"] == second[0][0]["token_ids"]).all()
    for x, y, weight in first:
        assert x["token_ids"].shape == (15, 128)
        assert y["mask_ids"].shape == (15, 20)
        # What is masked there stands in the row or is [MASK].
        now = np.take_along_axis(x["token_ids"], x["mask_positions"], 1)
        masks = (now == uncased.mask_token_id) & (weight["mask_ids"] > 0)
        share = masks.sum() / weight["mask_ids"].sum()
        assert 0.7 < share < 0.9
        assert (x["token_ids"][:, 0] == uncased.cls_token_id).all()
        assert not x["cls_positions"].any()
    rest = pretraining_dataset(path, uncased, 128, 15, start_epoch=0, skip=2)
    (last,) = rest.as_numpy_iterator()
    assert (last[0]["token_ids"] == first[2][0]["token_ids"]).all()


def test_records_that_do_not_fit_are_refused(records, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="`sequence_length`.*32"):
        pretraining_dataset(str(records), tokenizer, 64)
    mixed = tmp_path / "mixed.tfrecord"
    other = tmp_path / "other"
    google = GoogleSettings(16, 2, duplicates=1)
    text = tmp_path / "a.txt"
    text.write_text("w1 w2\nw3\n\nw4\nw5 w6\n")
    prepare(Preparation((str(text),), google=google), tokenizer, other)
    words = tokenizer.vocabulary
    swapped = BertTokenizer([*words[:-2], *words[:-3:-1]], lowercase=True)
    with pytest.raises(ValueError, match="`tokenizer`.*fingerprint"):
        pretraining_dataset(str(other), swapped, 16)
    paths = [*sorted(records.glob("*.tfrecord")), *other.glob("*.tfrecord")]
    mixed.write_bytes(b"".join(path.read_bytes() for path in paths))
    dataset = pretraining_dataset(str(mixed), tokenizer, 32, 2)
    with pytest.raises(Exception, match="records of 32 tokens"):
        list(dataset)
    torn = tmp_path / "torn.tfrecord"
    torn.write_bytes(paths[0].read_bytes()[:-5])
    with pytest.raises(ValueError, match="`files_or_dir`.*cut off"):
        pretraining_dataset(str(torn), tokenizer, 32)
    small = type(tokenizer)(tokenizer.vocabulary[:9], lowercase=True)
    with pytest.raises(Exception, match="vocabulary of the records"):
        list(pretraining_dataset(str(paths[0]), small, 32, 1))


def test_one_document_cannot_give_records(tokenizer, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("w1 w2\nw3\n")
    preparation = Preparation((str(text),), google=GoogleSettings(16))
    with pytest.raises(ValueError, match="`files`.*two documents"):
        prepare(preparation, tokenizer, tmp_path / "o")


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"max_length": 4}, "max_length"),
        ({"duplicates": 0}, "duplicates"),
        ({"masking": "words"}, "masking"),
        ({"mask_rate": 2.0}, "mask_rate"),
    ],
)
def test_bad_settings_are_refused(tokenizer, tmp_path, settings, name):
    preparation = Preparation(("a.txt",), google=GoogleSettings(**settings))
    with pytest.raises(ValueError, match=f"argument `{name}`"):
        prepare(preparation, tokenizer, tmp_path)
