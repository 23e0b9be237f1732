"""Documents -> masked batches, in plain numpy.

    shards in random order, one in memory at a time
      -> windows of about half a million tokens    `windows`
      -> rows, copied and masked                   `masked_rows`
      -> batches

Each shard gives a fixed number of batches in every epoch, so the place of a
batch among the shards is known without reading them.
"""

import functools
import math

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert.data import generators
from keras_bert.data.batch_counts import count_batches
from keras_bert.data.generators import generator
from keras_bert.data.length_buckets import LengthBuckets
from keras_bert.data.masked_rows import masked_rows
from keras_bert.data.masking import Masking
from keras_bert.data.memory_shards import MemoryShards
from keras_bert.data.segment_pairs import SEGMENTS
from keras_bert.data.whole_batches import whole_batches
from keras_bert.data.windows import Shard
from keras_bert.data.windows import windows_of
from keras_bert.tokenizers._group_factors import group_factors


class PretrainingBatches:
    """The batches of every epoch, as numpy arrays.

    `pretraining_dataset` is this class behind tf.data; see there for what
    the arguments mean and for the arrays of a batch.

    Args:
        shards: a `ShardFolder`, `MemoryShards` or a `Corpus`.
        tokenizer: a `BertTokenizer`: its special ids and vocabulary size.
        sequence_length: integer: columns of a row.
        batch_size: integer: rows of a batch.
        seed: integer.
        packing: boolean.
        next_sentence: boolean.
        masking: `Masking` settings.
        short_seq_prob: float.
        max_sequences_per_row: integer.
        segments: "pairs", "single" or "full_sentences"; `None` follows
            next_sentence.
        random_next_rate: float or `None`.
        buckets: row lengths, or `None`.

    Example:

    ```python
    batches = PretrainingBatches(corpus, tokenizer, next_sentence=True)
    print(batches.batches_per_epoch, batches.fill)
    for x, y, sample_weight in batches.epoch(0):
        print(x["token_ids"].shape)
    ```
    """

    def __init__(
        self,
        shards,
        tokenizer,
        sequence_length=128,
        batch_size=32,
        seed=1,
        packing=True,
        next_sentence=True,
        masking=None,
        short_seq_prob=0.1,
        max_sequences_per_row=None,
        segments=None,
        random_next_rate=None,
        buckets=None,
    ):
        if not hasattr(shards, "load"):
            shards = MemoryShards([shards])
        self.shards = shards
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.batch_size = batch_size
        self.seed = seed
        self.next_sentence = next_sentence
        self.segments = segments or ("pairs" if next_sentence else "single")
        self.masking = masking or Masking(
            max_predictions=default_max_predictions(sequence_length)
        )
        self.short_seq_prob = short_seq_prob
        self.random_next_rate = random_next_rate
        if not packing:
            max_sequences_per_row = 1
        elif max_sequences_per_row is None:
            max_sequences_per_row = max(1, sequence_length // 16)
        self.max_sequences_per_row = max_sequences_per_row
        self._check()
        # Lengths of the rows; `None`: all have the sequence length.
        self.widths = None
        if buckets is not None:
            if packing:
                raise invalid("buckets", "None with packing=True", buckets)
            self.widths = LengthBuckets.widths_of(buckets, sequence_length)
        self._first_documents = np.cumsum(
            [0] + [entry["documents"] for entry in shards.entries]
        )
        self._factors = self._group_factors()
        self._loaded = None

    @property
    def batches_per_epoch(self):
        return sum(self._quotas)

    @property
    def rows_of_first_epoch(self):
        """Rows that were planned to count the batches."""
        return self._counted[1]

    @property
    def fill(self):
        """Share of the columns of those rows that hold a token."""
        tokens = self._counted[2]
        return tokens / (self.rows_of_first_epoch * self.sequence_length)

    @property
    def _quotas(self):
        return self._counted[0]

    @functools.cached_property
    def _counted(self):
        return count_batches(self, self._factors)

    @property
    def max_predictions(self):
        return self.masking.max_predictions

    def epoch(self, epoch, skip=0):
        """Yield the (x, y, sample_weight) of one pass, batch by batch.

        The first `skip` batches are left out, without being made.
        """
        for block in self.blocks(epoch, skip):
            count = len(keras.tree.flatten(block)[0])
            for index in range(count):
                yield keras.tree.map_structure(
                    lambda array, index=index: array[index], block
                )

    def blocks(self, epoch, skip=0, most=16):
        """Yield the batches of one pass, up to `most` at a time.

        The arrays have the number of batches as an additional first axis:
        handing many batches over at once costs as much as one. Of the first
        `skip` batches whole shards are not read, and of the shard in which
        the next batch lies rows are planned but not made (with buckets they
        are made).
        """
        order = generator(
            self.seed, epoch, generators.ORDER_OF_SHARDS
        ).permutation(len(self.shards))
        for number in order.tolist():
            missing = self._quotas[number] - skip
            if missing <= 0:
                skip -= self._quotas[number]
                continue
            make = self._buckets if self.widths else self._rows
            for rows in make(number, epoch, skip, missing, most):
                yield self._block(rows)
            skip = 0

    def rows_of_pass(self, epoch):
        """Yield the rows of all windows of one pass, as dicts of arrays."""
        for number in range(len(self.shards)):
            for window in self.windows(number, epoch):
                yield masked_rows(window, self, self.tokenizer)

    def windows(self, number, epoch, repeat=0):
        """Yield the plans of one pass over a shard."""
        return windows_of(self._shard(number), self, epoch, repeat)

    def _shard(self, number):
        # A local name: two iterations may go on at the same time.
        loaded = self._loaded
        if loaded is None or loaded.number != number:
            self._loaded = loaded = None  # One shard in memory, not two.
            corpus = self.shards.load(number)
            self._check_corpus(corpus, number)
            loaded = self._loaded = Shard(
                corpus,
                number,
                int(self._first_documents[number]),
                self._factors,
            )
        return loaded

    def _all_windows(self, number, epoch):
        # A pass may have fewer rows than the first one had.
        repeat = 0
        while True:
            yield from self.windows(number, epoch, repeat)
            repeat += 1

    def _rows(self, number, epoch, skip, missing, most):
        """Yield groups of up to `most` batches of equal rows."""

        def parts():
            rows_to_skip = skip * self.batch_size
            for window in self._all_windows(number, epoch):
                skipped = min(rows_to_skip, window.layout.num_rows)
                rows_to_skip -= skipped
                if skipped == window.layout.num_rows:
                    continue
                rows = masked_rows(window, self, self.tokenizer)
                yield {name: value[skipped:] for name, value in rows.items()}

        return whole_batches(parts(), self.batch_size, missing, most)

    def _buckets(self, number, epoch, skip, missing, most):
        """Yield single batches of rows of about one length."""
        buckets = LengthBuckets(self.widths, self.batch_size)
        for window in self._all_windows(number, epoch):
            rows = masked_rows(window, self, self.tokenizer)
            for batch in buckets.add(rows):
                if skip:
                    skip -= 1
                    continue
                yield batch
                missing -= 1
                if not missing:
                    return

    def _block(self, rows):
        size = self.batch_size
        rows = {
            name: value.reshape(len(value) // size, size, -1)
            for name, value in rows.items()
        }
        x = {
            name: rows[name]
            for name in (
                "token_ids",
                "segment_ids",
                "padding_mask",
                "mask_positions",
                "cls_positions",
            )
        }
        if not self.next_sentence:
            return x, rows["mask_ids"], rows["mask_weights"]
        y = {
            "mask_ids": rows["mask_ids"],
            "next_sentence": rows["next_sentence"],
        }
        weights = {
            "mask_ids": rows["mask_weights"],
            "next_sentence": rows["next_sentence_weights"],
        }
        return x, y, weights

    def _group_factors(self):
        sampling = getattr(self.shards, "sampling", None)
        if sampling is None:
            return None
        parts = [entry["tokens_of_groups"] for entry in self.shards.entries]
        sizes = np.zeros(max(map(len, parts)), np.int64)
        for part in parts:
            sizes[: len(part)] += part
        return group_factors(sizes, sampling)

    def _check(self):
        if self.segments not in SEGMENTS:
            raise invalid("segments", f"one of {list(SEGMENTS)}", self.segments)
        if (self.segments == "pairs") != bool(self.next_sentence):
            raise invalid(
                "segments",
                '"pairs" with next_sentence=True, another with False',
                self.segments,
            )
        shortest = 5 if self.next_sentence else 3
        for name, least in (
            ("sequence_length", shortest),
            ("batch_size", 1),
            ("max_sequences_per_row", 1),
        ):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | np.integer)
                or value < least
            ):
                raise invalid(name, f"an integer from {least}", value)
        for name in ("short_seq_prob", "random_next_rate"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise invalid(name, "a probability", value)
        generators.check_seed(self.seed)
        self.masking.check()
        if not len(self.shards):
            raise invalid("files_or_dir", "documents (there are none)", 0)
        for number, entry in enumerate(self.shards.entries):
            if self.next_sentence and entry["documents"] < 2:
                raise invalid(
                    "next_sentence",
                    "False or None, because a corpus of one document has no "
                    "other document to draw a random next segment from "
                    f"(shard {number}; larger shards hold more documents)",
                    self.next_sentence,
                )

    def _check_corpus(self, corpus, number):
        size = len(self.tokenizer.vocabulary)
        largest = int(corpus.ids.max())
        if largest >= size:
            raise invalid(
                "tokenizer",
                "the tokenizer that made the corpus, whose largest id is "
                f"{largest}",
                f"a tokenizer of {size} tokens",
            )


def default_max_predictions(sequence_length, mask_rate=0.15):
    """Room for 15% of a full row: 20 at 128, 77 at 512, as the original."""
    if not 0 <= mask_rate <= 1:
        raise invalid("mask_rate", "a share from 0 to 1", mask_rate)
    return max(1, math.ceil(sequence_length * mask_rate))
