"""Documents -> masked batches, in plain numpy.

    shards in random order, one in memory at a time
      -> windows of about half a million tokens    `windows`
      -> rows, copied and masked                   `masked_rows`
      -> batches

Each shard gives a fixed number of batches in every epoch, so the place of a
batch among the shards is known without reading them.
"""

import math

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert.data import generators
from keras_bert.data.generators import generator
from keras_bert.data.length_buckets import LengthBuckets
from keras_bert.data.masked_rows import masked_rows
from keras_bert.data.masking import Masking
from keras_bert.data.memory_shards import MemoryShards
from keras_bert.data.segment_pairs import SEGMENTS
from keras_bert.data.windows import Shard
from keras_bert.data.windows import windows_of
from keras_bert.tokenizers._group_factors import group_factors

# Windows that are planned to count the batches of an epoch, about 0.02 s
# each, and the shards (up to twice as many) that are read for it, about 0.2 s
# each. With more, what these give is taken for the rest.
_PLANNED_WINDOWS = 128
_PLANNED_SHARDS = 32


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
        self._count_batches()

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
        if self._loaded is None or self._loaded.number != number:
            self._loaded = None  # One shard in memory, not two.
            corpus = self.shards.load(number)
            self._check_corpus(corpus, number)
            self._loaded = Shard(
                corpus,
                number,
                int(self._first_documents[number]),
                self._factors,
            )
        return self._loaded

    def _all_windows(self, number, epoch):
        # A pass may have fewer rows than the first one had.
        repeat = 0
        while True:
            yield from self.windows(number, epoch, repeat)
            repeat += 1

    def _rows(self, number, epoch, skip, missing, most):
        """Yield groups of up to `most` batches of equal rows."""
        pending = None
        rows_to_skip = skip * self.batch_size
        for window in self._all_windows(number, epoch):
            skipped = min(rows_to_skip, window.layout.num_rows)
            rows_to_skip -= skipped
            if skipped == window.layout.num_rows:
                continue
            rows = masked_rows(window, self, self.tokenizer)
            if skipped:
                rows = {name: rows[name][skipped:] for name in rows}
            if pending is not None:
                rows = {
                    name: np.concatenate([pending[name], rows[name]])
                    for name in rows
                }
            count = len(rows["token_ids"]) // self.batch_size
            count = min(count, missing)
            for first in range(0, count, most):
                last = min(first + most, count)
                part = slice(first * self.batch_size, last * self.batch_size)
                yield {name: value[part] for name, value in rows.items()}
            missing -= count
            if not missing:
                return
            used = count * self.batch_size
            pending = {name: rows[name][used:] for name in rows}

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

    def _size(self, number):
        """Tokens that an epoch sees of a shard, and a row a document."""
        entry = self.shards.entries[number]
        tokens = entry["tokens"]
        documents = entry["documents"]
        if self._factors is not None:
            groups = np.array(entry["tokens_of_groups"])
            seen = float(groups @ self._factors[: len(groups)])
            documents *= seen / tokens
            tokens = seen
        return tokens + documents * self.sequence_length

    def _count_batches(self):
        """How many batches each shard gives in an epoch, from epoch 0."""
        count = len(self.shards)
        sizes = [self._size(number) for number in range(count)]
        step = max(1, count // _PLANNED_SHARDS)
        wanted = max(1, _PLANNED_WINDOWS // -(-count // step))
        batches, shares = {}, {}
        self.rows_of_first_epoch = tokens = 0
        for number in range(0, count, step):
            rows = np.zeros(self.sequence_length + 1, np.int64)
            seen = 0
            shares[number] = 1.0
            for index, window in enumerate(self.windows(number, 0)):
                if index == wanted:
                    shares[number] = min(1.0, seen / sizes[number])
                    break
                lengths = window.layout.row_lengths()
                rows += np.bincount(lengths, minlength=len(rows))
                tokens += int(window.layout.lengths.sum())
                seen += (
                    window.shard.corpus.document_tokens[window.documents]
                    + self.sequence_length
                ).sum()
            self.rows_of_first_epoch += int(rows.sum())
            batches[number] = LengthBuckets.count(
                rows, self.widths, self.batch_size
            )
        # Share of the rows' columns that hold a token, in epoch 0.
        self.fill = tokens / (self.rows_of_first_epoch * self.sequence_length)
        planned = sum(sizes[number] * shares[number] for number in batches)
        pace = sum(batches.values()) / planned
        self._quotas = [
            max(
                1,
                int(batches[number] / shares[number])
                if number in batches
                else int(pace * sizes[number]),
            )
            for number in range(count)
        ]
        self.batches_per_epoch = sum(self._quotas)

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
                    f"(shard {number})",
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
    return max(1, math.ceil(sequence_length * mask_rate))
