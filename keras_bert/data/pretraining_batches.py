"""A corpus -> masked batches, in plain numpy.

    documents in random order, in windows of about half a million tokens
      -> segment pairs (or single segments)        generator per document
      -> rows, packed or one sequence each         deterministic
      -> masks                                     generator per document
      -> rows in random order -> batches

Only the plan of a window (a few numbers a sequence) is made to count rows;
tokens are copied and masked a window at a time, so memory stays bounded.
"""

import math

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert.data import generators
from keras_bert.data.generators import generator
from keras_bert.data.masking import Draws
from keras_bert.data.masking import Masking
from keras_bert.data.masking import draw
from keras_bert.data.masking import mask
from keras_bert.data.masking import mask_counts
from keras_bert.data.packing import pack
from keras_bert.data.row_layout import RowLayout
from keras_bert.data.row_layout import assemble
from keras_bert.data.row_layout import sequence_lengths
from keras_bert.data.segment_pairs import segment_pairs
from keras_bert.data.segment_pairs import single_segments

_WINDOW_TOKENS = 2**19


class PretrainingBatches:
    """The batches of every epoch, as numpy arrays.

    `pretraining_dataset` is this class behind tf.data; see there for what
    the arguments mean and for the arrays of a batch.

    Args:
        corpus: a `Corpus`.
        tokenizer: a `BertTokenizer`: its special ids and vocabulary size.
        sequence_length: integer: columns of a row.
        batch_size: integer: rows of a batch.
        seed: integer.
        packing: boolean.
        next_sentence: boolean.
        masking: `Masking` settings.
        short_seq_prob: float.
        max_sequences_per_row: integer.

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
        corpus,
        tokenizer,
        sequence_length=128,
        batch_size=32,
        seed=1,
        packing=True,
        next_sentence=True,
        masking=None,
        short_seq_prob=0.1,
        max_sequences_per_row=None,
    ):
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.batch_size = batch_size
        self.seed = seed
        self.next_sentence = next_sentence
        self.masking = masking or Masking(
            max_predictions=default_max_predictions(sequence_length)
        )
        self.short_seq_prob = short_seq_prob
        if not packing:
            max_sequences_per_row = 1
        elif max_sequences_per_row is None:
            max_sequences_per_row = max(1, sequence_length // 16)
        self.max_sequences_per_row = max_sequences_per_row
        self._check()
        self._vocabulary_size = len(vocabulary_of(tokenizer))
        self._check_ids()
        rows = tokens = 0
        for window in self._windows(epoch=0, repeat=0):
            rows += window.layout.num_rows
            tokens += int(window.layout.lengths.sum())
        # Share of the rows' columns that hold a token, in epoch 0.
        self.fill = tokens / (rows * sequence_length)
        self.rows_of_first_epoch = rows
        self.batches_per_epoch = max(1, rows // batch_size)

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
        handing many batches over at once costs as much as one. The first
        `skip` batches are planned, which counts their rows, but not made.
        """
        missing = self.batches_per_epoch - skip
        if missing < 1:
            return
        pending = None
        rows_to_skip = skip * self.batch_size
        repeat = 0
        while True:
            for window in self._windows(epoch, repeat):
                skipped = min(rows_to_skip, window.layout.num_rows)
                rows_to_skip -= skipped
                if skipped == window.layout.num_rows:
                    continue
                rows = self._rows(window, epoch, repeat)
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
                    yield self._block(rows, first, min(first + most, count))
                missing -= count
                if not missing:
                    return
                used = count * self.batch_size
                pending = {name: rows[name][used:] for name in rows}
            # A pass may have fewer rows than the first one had.
            repeat += 1

    def _windows(self, epoch, repeat):
        """Yield the plans of one pass over the documents."""
        order = generator(
            self.seed, epoch, generators.ORDER_OF_DOCUMENTS, repeat=repeat
        ).permutation(self.corpus.num_documents)
        bounds = self.corpus.sentence_bounds[self.corpus.document_bounds]
        # A short document still takes a whole row while it is being built.
        sizes = np.diff(bounds)[order] + self.sequence_length
        starts = np.cumsum(sizes) - sizes
        number_of_window = starts // _WINDOW_TOKENS
        borders = np.flatnonzero(np.diff(number_of_window)) + 1
        for number, documents in enumerate(np.split(order, borders)):
            yield self._window(documents, number, epoch, repeat)

    def _window(self, documents, number, epoch, repeat):
        plan = segment_pairs if self.next_sentence else single_segments
        parts = [
            plan(
                self.corpus,
                document,
                generator(
                    self.seed, epoch, generators.SEGMENTS, document, repeat
                ),
                self.sequence_length,
                self.short_seq_prob,
            )
            for document in documents.tolist()
        ]
        sequences = np.concatenate(parts)
        lengths = sequence_lengths(sequences)
        counts = mask_counts(lengths, self.masking)
        shuffled = generator(
            self.seed, epoch, generators.ORDER_OF_SEQUENCES, number, repeat
        ).permutation(len(sequences))
        placed = pack(
            lengths[shuffled],
            counts[shuffled],
            self.sequence_length,
            self.masking.max_predictions,
            self.max_sequences_per_row,
        )
        row_of, column_of, place_of = (np.empty_like(part) for part in placed)
        row_of[shuffled], column_of[shuffled], place_of[shuffled] = placed
        rows = int(row_of.max()) + 1
        row_order = generator(
            self.seed, epoch, generators.ORDER_OF_ROWS, number, repeat
        ).permutation(rows)
        layout = RowLayout(
            row_order[row_of],
            column_of,
            place_of,
            lengths,
            self.sequence_length,
        )
        return _Window(
            documents, [len(part) for part in parts], sequences, counts, layout
        )

    def _rows(self, window, epoch, repeat):
        """Copy and mask the sequences of a window and lay them out."""
        tokenizer, layout = self.tokenizer, window.layout
        token_ids, segment_ids, candidates = assemble(
            self.corpus.ids,
            window.sequences,
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.pad_token_id,
        )
        for special in self._never_masked():
            candidates &= token_ids != special
        draws = [
            draw(
                generator(self.seed, epoch, generators.MASKS, document, repeat),
                count,
                self.sequence_length,
                self._vocabulary_size,
                self.masking,
            )
            for document, count in zip(
                window.documents.tolist(), window.sequence_counts, strict=True
            )
        ]
        draws = Draws(*map(np.concatenate, zip(*draws, strict=True)))
        draws = draws._replace(order=draws.order[:, : token_ids.shape[1]])
        token_ids, positions, labels, chosen = mask(
            token_ids,
            candidates,
            window.counts,
            draws,
            tokenizer.mask_token_id,
            self.masking,
        )
        rows = {}
        rows["token_ids"], rows["segment_ids"] = layout.columns(
            [token_ids, segment_ids], [tokenizer.pad_token_id, 0]
        )
        rows["padding_mask"] = layout.sequence_numbers()
        rows["mask_positions"], rows["mask_ids"], rows["mask_weights"] = (
            layout.slots(
                positions, labels, chosen, self.masking.max_predictions
            )
        )
        size = self.max_sequences_per_row
        rows["cls_positions"], weights = layout.places(layout.column_of, size)
        if self.next_sentence:
            rows["next_sentence"], _ = layout.places(
                window.sequences[:, 4], size
            )
            rows["next_sentence_weights"] = weights
        return rows

    def _never_masked(self):
        # Special tokens that a text itself may bring in. [UNK] is an ordinary
        # token here, as it is in the original.
        return {
            self.tokenizer.pad_token_id,
            self.tokenizer.cls_token_id,
            self.tokenizer.sep_token_id,
            self.tokenizer.mask_token_id,
        }

    def _block(self, rows, first, last):
        size = self.batch_size
        rows = {
            name: value[first * size : last * size].reshape(
                last - first, size, -1
            )
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

    def _check(self):
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
        if not 0 <= self.short_seq_prob <= 1:
            raise invalid(
                "short_seq_prob", "a probability", self.short_seq_prob
            )
        generators.check_seed(self.seed)
        self.masking.check()
        if self.next_sentence and self.corpus.num_documents < 2:
            raise invalid(
                "next_sentence",
                "False or None, because a corpus of one document has no "
                "other document to draw a random next segment from",
                self.next_sentence,
            )

    def _check_ids(self):
        largest = int(self.corpus.ids.max())
        if largest >= self._vocabulary_size:
            raise invalid(
                "tokenizer",
                "the tokenizer that made the corpus, whose largest id is "
                f"{largest}",
                f"a tokenizer of {self._vocabulary_size} tokens",
            )


class _Window:
    """The plan of a window: which sequences, and where they stand."""

    def __init__(self, documents, sequence_counts, sequences, counts, layout):
        self.documents = documents
        self.sequence_counts = sequence_counts
        self.sequences = sequences
        self.counts = counts
        self.layout = layout


def default_max_predictions(sequence_length, mask_rate=0.15):
    """Room for 15% of a full row: 20 at 128, 77 at 512, as the original."""
    return max(1, math.ceil(sequence_length * mask_rate))


def vocabulary_of(tokenizer):
    """The tokenizer's list of tokens."""
    vocabulary = tokenizer.vocabulary
    return vocabulary() if callable(vocabulary) else vocabulary
