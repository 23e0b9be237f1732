"""Documents of a shard -> planned rows, a window at a time.

    documents in random order, in windows of about half a million tokens
      -> sequences: pairs or single segments       generator per document
      -> rows, packed or one sequence each         deterministic

A window is a plan: a few numbers a sequence, no token is copied.
"""

import dataclasses

import numpy as np

from keras_bert.data import generators
from keras_bert.data.corpus import Corpus
from keras_bert.data.generators import generator
from keras_bert.data.masking import mask_counts
from keras_bert.data.packing import pack
from keras_bert.data.row_layout import RowLayout
from keras_bert.data.row_layout import sequence_lengths
from keras_bert.data.segment_pairs import SEGMENTS

WINDOW_TOKENS = 2**19


@dataclasses.dataclass(frozen=True)
class Shard:
    """A corpus, its number, the number of its first document among all.

    `factors`: how often an epoch sees the documents of each group, or `None`
    for once.
    """

    corpus: Corpus
    number: int = 0
    first_document: int = 0
    factors: np.ndarray | None = None


@dataclasses.dataclass
class Window:
    """Which sequences, and where they stand.

    `documents`: numbers in the shard; `repeats`: of the generators of each;
    `sequence_counts`: sequences of each.
    """

    shard: Shard
    epoch: int
    documents: np.ndarray
    repeats: np.ndarray
    sequence_counts: list
    sequences: np.ndarray
    counts: np.ndarray
    layout: RowLayout

    def generators(self, seed, stream):
        """The generator of each document for one purpose."""
        return _generators(
            self.shard, self.documents, self.repeats, seed, self.epoch, stream
        )


def windows_of(shard, settings, epoch, repeat=0):
    """Yield the windows of one pass over a shard.

    Args:
        shard: a `Shard`.
        settings: has seed, sequence_length, segments, short_seq_prob,
            random_next_rate, masking and max_sequences_per_row.
        epoch, repeat: the pass.
    """
    corpus = shard.corpus
    documents, repeats = _documents(shard, settings.seed, epoch, repeat)
    # A short document still takes a whole row while it is being built.
    sizes = corpus.document_tokens[documents] + settings.sequence_length
    starts = np.cumsum(sizes) - sizes
    borders = np.flatnonzero(np.diff(starts // WINDOW_TOKENS)) + 1
    for number, (part, parts_repeats) in enumerate(
        zip(
            np.split(documents, borders),
            np.split(repeats, borders),
            strict=True,
        )
    ):
        yield _window(
            shard, settings, epoch, repeat, number, part, parts_repeats
        )


def _documents(shard, seed, epoch, repeat):
    """The documents of a pass in random order, and their repeats."""
    count = shard.corpus.num_documents
    copies = np.ones(count, dtype=np.int64)
    if shard.factors is not None:
        factors = shard.factors[shard.corpus.groups]
        draws = generator(
            seed, epoch, generators.COPIES, shard.number, repeat
        ).random(count)
        copies = (factors + draws).astype(np.int64)
        if not copies.any():
            copies[0] = 1
    documents = np.repeat(np.arange(count), copies)
    copy = np.arange(len(documents)) - np.repeat(
        np.cumsum(copies) - copies, copies
    )
    order = generator(
        seed, epoch, generators.ORDER_OF_DOCUMENTS, shard.number, repeat
    ).permutation(len(documents))
    # A document that is seen twice is drawn anew each time.
    return documents[order], repeat + (copy[order] << 32)


def _generators(shard, documents, repeats, seed, epoch, stream):
    for document, repeat in zip(
        documents.tolist(), repeats.tolist(), strict=True
    ):
        yield generator(
            seed, epoch, stream, shard.first_document + document, repeat
        )


def _window(shard, settings, epoch, repeat, number, documents, repeats):
    seed = settings.seed
    plan = SEGMENTS[settings.segments]
    options = {}
    if settings.segments == "pairs":
        options["random_next_rate"] = settings.random_next_rate
    parts = [
        plan(
            shard.corpus,
            document,
            rng,
            settings.sequence_length,
            settings.short_seq_prob,
            **options,
        )
        for document, rng in zip(
            documents.tolist(),
            _generators(
                shard, documents, repeats, seed, epoch, generators.SEGMENTS
            ),
            strict=True,
        )
    ]
    sequences = np.concatenate(parts)
    lengths = sequence_lengths(sequences)
    counts = mask_counts(lengths, settings.masking)
    place = (shard.number << 32) + number
    shuffled = generator(
        seed, epoch, generators.ORDER_OF_SEQUENCES, place, repeat
    ).permutation(len(sequences))
    placed = pack(
        lengths[shuffled],
        counts[shuffled],
        settings.sequence_length,
        settings.masking.max_predictions,
        settings.max_sequences_per_row,
    )
    row_of, column_of, place_of = (np.empty_like(part) for part in placed)
    row_of[shuffled], column_of[shuffled], place_of[shuffled] = placed
    order = generator(
        seed, epoch, generators.ORDER_OF_ROWS, place, repeat
    ).permutation(int(row_of.max()) + 1)
    return Window(
        shard,
        epoch,
        documents,
        repeats,
        [len(part) for part in parts],
        sequences,
        counts,
        RowLayout(
            order[row_of],
            column_of,
            place_of,
            lengths,
            settings.sequence_length,
        ),
    )
