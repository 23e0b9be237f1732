"""Batches from the original's static records."""

import os

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data import generators
from keras_bert.data.generators import generator
from keras_bert.data.google_records import LABEL
from keras_bert.data.google_records import count_records
from keras_bert.data.google_records import first_lengths
from keras_bert.data.google_records import read_google_records
from keras_bert.data.whole_batches import whole_batches

# Records in memory at a time, 4 kB each at 128 tokens.
_SLICE = 2**16


class StaticBatches:
    """The batches of every epoch from records that are masked already.

    What `PretrainingBatches` is for documents: every record once an epoch,
    the files in an order that follows (seed, epoch), and so the records of
    each slice of 65,536 of a file; the masks stay as they are.

    Args:
        files: paths of TFRecord files.
        tokenizer: to check the ids, or `None`.
        sequence_length: integer: what the records must have.
        batch_size: integer.
        seed: integer.
        next_sentence: `False` leaves out the labels of the pairs.

    Raises:
        ValueError: for records of another length than `sequence_length`.
    """

    max_sequences_per_row = 1
    widths = None

    def __init__(
        self,
        files,
        tokenizer,
        sequence_length,
        batch_size=32,
        seed=1,
        next_sentence=None,
    ):
        self.files = list(files)
        self.next_sentence = next_sentence is not False
        self.sequence_length, self.max_predictions = first_lengths(
            self.files[0]
        )
        if sequence_length != self.sequence_length:
            raise invalid(
                "sequence_length",
                f"{self.sequence_length}, the length of the records in "
                f"{self.files[0]}",
                sequence_length,
            )
        self.batch_size = batch_size
        self.seed = seed
        self._vocabulary_size = tokenizer and tokenizer.vocabulary_size()
        self._counts = [count_records(path) for path in self.files]
        self.batches_per_epoch = max(1, sum(self._counts) // batch_size)

    def blocks(self, epoch, skip=0, most=16):
        """Yield the batches of one pass (see `PretrainingBatches.blocks`)."""
        order = generator(
            self.seed, epoch, generators.ORDER_OF_SHARDS
        ).permutation(len(self.files))

        def parts():
            rows_to_skip = skip * self.batch_size
            # Records fewer than a batch are read again.
            while True:
                for file in order.tolist():
                    count = self._counts[file]
                    if rows_to_skip >= count:
                        rows_to_skip -= count
                        continue
                    yield from self._rows(file, epoch, rows_to_skip)
                    rows_to_skip = 0

        missing = self.batches_per_epoch - skip
        for rows in whole_batches(parts(), self.batch_size, missing, most):
            yield self._block(rows)

    def _rows(self, file, epoch, skip):
        """Yield the rows of a file but the first, a slice at a time."""
        slices = read_google_records(
            self.files[file], self.sequence_length, self.max_predictions, _SLICE
        )
        for number, rows in enumerate(slices):
            count = len(rows["input_ids"])
            if skip >= count:
                skip -= count
                continue
            self._check_ids(rows)
            order = generator(
                self.seed, epoch, generators.RECORDS, file, number
            ).permutation(count)[skip:]
            skip = 0
            yield {name: value[order] for name, value in rows.items()}

    def _check_ids(self, rows):
        largest = int(rows["input_ids"].max())
        if self._vocabulary_size and largest >= self._vocabulary_size:
            raise invalid(
                "tokenizer",
                f"the vocabulary of the records, whose largest id is {largest}",
                f"a tokenizer of {self._vocabulary_size} tokens",
            )

    def _block(self, rows):
        size = self.batch_size
        count = len(rows["input_ids"]) // size

        def take(name):
            return rows[name].reshape(count, size, -1)

        x = {
            "token_ids": take("input_ids"),
            "segment_ids": take("segment_ids"),
            "padding_mask": take("input_mask"),
            "mask_positions": take("masked_lm_positions"),
            "cls_positions": np.zeros((count, size, 1), np.int32),
        }
        y = {"mask_ids": take("masked_lm_ids"), "next_sentence": take(LABEL)}
        weight = {
            "mask_ids": take("masked_lm_weights"),
            "next_sentence": np.ones((count, size, 1), np.float32),
        }
        if not self.next_sentence:
            y, weight = y["mask_ids"], weight["mask_ids"]
        return keras.tree.map_structure(np.ascontiguousarray, (x, y, weight))


def google_files(files):
    """The paths, if `files` names static records of the original."""
    paths = [
        path
        for name in ([files] if isinstance(files, str | os.PathLike) else files)
        for path in _paths(str(name))
    ]
    if not paths or not all(_is_record_file(path) for path in paths):
        return None
    return paths if first_lengths(paths[0]) else None


def _paths(name):
    if filesystem.is_dir(name):
        return filesystem.files_below(name, "*.tfrecord*")
    return [name] if filesystem.is_file(name) else filesystem.match(name)


def _is_record_file(path):
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    return ".tfrecord" in name or ".tf_record" in name
