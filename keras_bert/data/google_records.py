"""The original's static training records: pairs drawn and masked beforehand.

A `tf.train.Example` of seven features, all of fixed length:

    input_ids input_mask segment_ids                     int64 [length]
    masked_lm_positions masked_lm_ids masked_lm_weights  [predictions]
    next_sentence_labels                                 int64 [1]

Source: `write_instance_to_example_files` of
https://github.com/google-research/bert/blob/master/create_pretraining_data.py
"""

import dataclasses
import hashlib
import itertools
import struct

import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.data import filesystem
from keras_bert.data.masking import Masking
from keras_bert.data.pretraining_batches import PretrainingBatches
from keras_bert.data.pretraining_batches import default_max_predictions
from keras_bert.data.shard_file import checksum
from keras_bert.data.shard_file import write_records

LENGTH_FEATURES = ("input_ids", "input_mask", "segment_ids")
MASK_FEATURES = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
LABEL = "next_sentence_labels"

_RECORDS_PER_CALL = 1024


@dataclasses.dataclass(frozen=True)
class GoogleSettings:
    """How the static records are made; the defaults are the original's.

    Args:
        max_length: integer: tokens of a record.
        max_predictions: integer or `None`: 15% of the length.
        duplicates: integer: passes over the documents, each with other pairs
            and masks (the original's dupe_factor).
        masking: "pieces", "whole_words" or "spans".
        mask_rate, short_seq_prob: see `pretraining_dataset`.
    """

    max_length: int = 128
    max_predictions: int | None = None
    duplicates: int = 10
    masking: str = "pieces"
    mask_rate: float = 0.15
    short_seq_prob: float = 0.1

    def check(self):
        if not isinstance(self.duplicates, int) or self.duplicates < 1:
            raise invalid("duplicates", "an integer from 1", self.duplicates)
        if not isinstance(self.max_length, int) or self.max_length < 5:
            raise invalid("max_length", "an integer from 5", self.max_length)
        self.mask_settings().check()

    def mask_settings(self):
        most = self.max_predictions or default_max_predictions(
            self.max_length, self.mask_rate
        )
        return Masking(self.mask_rate, max_predictions=most, unit=self.masking)


def write_google_records(path, corpus, tokenizer, settings, seed):
    """Draw, mask and write the records of a corpus; gives its index entry."""
    if corpus.num_documents < 2:
        raise invalid(
            "files",
            "at least two documents in every shard, since a random next "
            "segment comes from another one (is shard_bytes too small?)",
            f"one document for {path}",
        )
    batches = PretrainingBatches(
        corpus,
        tokenizer,
        sequence_length=settings.max_length,
        seed=seed,
        packing=False,
        masking=settings.mask_settings(),
        short_seq_prob=settings.short_seq_prob,
    )
    count = 0

    def records():
        nonlocal count
        for epoch in range(settings.duplicates):
            for rows in batches.rows_of_pass(epoch):
                count += len(rows["token_ids"])
                yield from _examples(rows)

    write_records(path, records())
    return {
        **checksum(path),
        "documents": corpus.num_documents,
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "records": count,
    }


def _examples(rows):
    train = tensorflow().train
    columns = {
        "input_ids": rows["token_ids"],
        "input_mask": rows["padding_mask"],
        "segment_ids": rows["segment_ids"],
        "masked_lm_positions": rows["mask_positions"],
        "masked_lm_ids": rows["mask_ids"],
        "masked_lm_weights": rows["mask_weights"],
        LABEL: rows["next_sentence"],
    }
    columns = {name: value.tolist() for name, value in columns.items()}
    for values in zip(*columns.values(), strict=True):
        feature = {}
        for name, value in zip(columns, values, strict=True):
            if name == "masked_lm_weights":
                feature[name] = train.Feature(
                    float_list=train.FloatList(value=value)
                )
            else:
                feature[name] = train.Feature(
                    int64_list=train.Int64List(value=value)
                )
        example = train.Example(features=train.Features(feature=feature))
        yield example.SerializeToString(deterministic=True)


def first_lengths(path):
    """Tokens and predictions of the first record; `None` for another file."""
    tf = tensorflow()
    try:
        for record in tf.data.TFRecordDataset(path).take(1):
            features = tf.train.Example.FromString(record.numpy()).features
            if "input_ids" not in features.feature:
                return None
            return tuple(
                len(features.feature[name].int64_list.value)
                for name in ("input_ids", "masked_lm_positions")
            )
    except tf.errors.OpError as error:
        raise invalid(
            "files_or_dir", f"whole TFRecord files ({error.message})", path
        ) from None
    raise invalid("files_or_dir", "records (the file has none)", path)


def count_records(path):
    """The number of records, from the frames alone."""
    return sum(1 for _ in _record_checksums(path))


def record_file_entry(path):
    """What tells a file from another one, wherever it lies."""
    digest = hashlib.sha256()
    for checksum_of_record in _record_checksums(path):
        digest.update(checksum_of_record)
    return {
        "name": path.replace("\\", "/").rsplit("/", 1)[-1],
        "bytes": filesystem.size(path),
        "checksums": digest.hexdigest(),
    }


def _record_checksums(path):
    """Yields the checksum that stands after each record; reads no record."""
    total = filesystem.size(path)
    with filesystem.open_bytes(path) as file:
        position = 0
        while position < total:
            frame = file.read(12)
            if len(frame) < 12:
                break
            length = struct.unpack("<Q", frame[:8])[0]
            file.seek(position + 12 + length)
            yield file.read(4)
            position += 16 + length
    if position != total:
        raise invalid(
            "files_or_dir", "whole TFRecord files (this is cut off)", path
        )


def read_google_records(path, length, predictions, most):
    """Yield the records of a file as dicts of arrays, up to `most` at a time.

    Raises:
        ValueError: naming the file, for records of other lengths.
    """
    tf = tensorflow()
    features = {
        name: tf.io.FixedLenFeature([length], tf.int64)
        for name in LENGTH_FEATURES
    }
    features |= {
        name: tf.io.FixedLenFeature(
            [predictions],
            tf.float32 if name == "masked_lm_weights" else tf.int64,
        )
        for name in MASK_FEATURES
    }
    features[LABEL] = tf.io.FixedLenFeature([1], tf.int64)
    records = iter(tf.data.TFRecordDataset(path).batch(_RECORDS_PER_CALL))
    calls = max(1, most // _RECORDS_PER_CALL)
    while parts := _parsed(itertools.islice(records, calls), features, path):
        yield {
            name: np.concatenate([part[name] for part in parts])
            for name in features
        }


def _parsed(batches, features, path):
    """The arrays of batches of serialized records."""
    tf = tensorflow()
    parts = []
    try:
        for records in batches:
            found = tf.io.parse_example(records, features)
            part = {name: value.numpy() for name, value in found.items()}
            parts.append(
                {
                    name: value.astype(np.int32)
                    if value.dtype == np.int64
                    else value
                    for name, value in part.items()
                }
            )
    except tf.errors.OpError as error:
        length = features["input_ids"].shape[0]
        predictions = features["masked_lm_ids"].shape[0]
        raise invalid(
            "files_or_dir",
            f"records of {length} tokens and {predictions} predictions "
            f"({error.message.splitlines()[0]})",
            path,
        ) from None
    return parts
