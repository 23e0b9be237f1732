"""Batches of sequences of about one length: the alternative to packing.

    widths    64        128
    batches   rows of 1 to 64 tokens, 64 columns; of 65 to 128, 128 columns

Each width is one shape for the compiler. Padding remains, but little.
"""

import numpy as np

from keras_bert._errors import invalid

_BY_COLUMN = ("token_ids", "segment_ids", "padding_mask")


class LengthBuckets:
    """Collects rows by their length and gives full batches.

    Args:
        widths: ascending row lengths, as `widths_of` gives them.
        batch_size: integer: rows of a batch.
    """

    def __init__(self, widths, batch_size):
        self._widths = widths
        self._batch_size = batch_size
        self._pending = [None] * len(widths)

    def add(self, rows):
        """Yield the batches that these rows make full, as dicts of rows."""
        lengths = (rows["padding_mask"] > 0).sum(axis=1)
        bucket_of = np.searchsorted(self._widths, lengths)
        size = self._batch_size
        for bucket, width in enumerate(self._widths):
            here = np.flatnonzero(bucket_of == bucket)
            part = {
                name: value[here, :width] if name in _BY_COLUMN else value[here]
                for name, value in rows.items()
            }
            if self._pending[bucket] is not None:
                part = {
                    name: np.concatenate([self._pending[bucket][name], value])
                    for name, value in part.items()
                }
            count = len(part["token_ids"]) // size
            for first in range(0, count * size, size):
                yield {
                    name: value[first : first + size]
                    for name, value in part.items()
                }
            self._pending[bucket] = {
                name: value[count * size :] for name, value in part.items()
            }

    @staticmethod
    def widths_of(buckets, sequence_length):
        """The row lengths of `buckets`, which end with `sequence_length`."""
        widths = [*buckets]
        if not widths or widths[-1] != sequence_length:
            widths.append(sequence_length)
        if (
            not all(isinstance(width, int) and width > 0 for width in widths)
            or sorted(set(widths)) != widths
        ):
            raise invalid(
                "buckets",
                f"row lengths that rise to {sequence_length}",
                buckets,
            )
        return widths

    @staticmethod
    def count(rows, widths, batch_size):
        """How many full batches so many rows of each length make.

        Args:
            rows: int array: how many rows have 0, 1, 2, ... tokens.
            widths: list, or `None` for rows of one length.
        """
        if widths is None:
            return int(rows.sum()) // batch_size
        total = 0
        before = 0
        for width in widths:
            total += int(rows[before : width + 1].sum()) // batch_size
            before = width + 1
        return total
