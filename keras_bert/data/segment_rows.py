"""SegmentRows: rows of ids that are made when a batch asks for them."""

from typing import NamedTuple

import numpy as np


class Slices(NamedTuple):
    """Segments as slices of one array of ids.

    `ids` int32 `[tokens]`; `starts` and `lengths` int `[rows]`.
    """

    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


class SegmentRows:
    """Rows `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, in plain numpy.

    Windows over a long text share most of their tokens. This keeps the ids of
    each text once, and where every row's segments begin and end; padded rows
    exist only for the batch at hand. Unlike `SegmentJoiner` it cuts nothing:
    the slices are the windows.

    Args:
        tokenizer: has `cls_token_id`, `sep_token_id` and `pad_token_id`.
        first: `Slices`, the first segment of each row.
        second: `Slices` or `None`.

    Example:

    ```python
    one = Slices(np.array([7, 8, 9]), np.array([0, 1]), np.array([2, 2]))
    SegmentRows(tokenizer, one).batch([1])["token_ids"]  # [[2, 8, 9, 3]]
    ```
    """

    def __init__(self, tokenizer, first, second=None):
        self.segments = [first] if second is None else [first, second]
        self._ids = (
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.pad_token_id,
        )
        self.lengths = 1 + sum(
            np.asarray(segment.lengths) + 1 for segment in self.segments
        )

    def __len__(self):
        return len(self.lengths)

    def batch(self, rows, width=None):
        """The padded rows with the given numbers.

        Args:
            rows: ints `[batch]`.
            width: int; `None` is the longest of the rows.

        Returns a dict of int32 `token_ids`, `segment_ids` and `padding_mask`,
        each `[batch, width]`.
        """
        rows = np.asarray(rows, "int64")
        cls, sep, pad = self._ids
        ends = self.lengths[rows]
        if width is None:
            width = int(ends.max(initial=1))
        here = np.arange(len(rows))
        token_ids = np.full((len(rows), width), pad, "int32")
        token_ids[:, 0] = cls
        column = np.ones(len(rows), "int64")
        second = None
        for ids, starts, lengths in self.segments:
            starts, lengths = starts[rows], lengths[rows]
            inside = np.arange(lengths.sum())
            inside -= np.repeat(np.cumsum(lengths) - lengths, lengths)
            token_ids[
                np.repeat(here, lengths), np.repeat(column, lengths) + inside
            ] = ids[np.repeat(starts, lengths) + inside]
            column = column + lengths
            token_ids[here, column] = sep
            column += 1
            if second is None:
                second = column.copy()
        columns = np.arange(width)
        mask = columns < ends[:, None]
        return {
            "token_ids": token_ids,
            "segment_ids": (mask & (columns >= second[:, None])).astype(
                "int32"
            ),
            "padding_mask": mask.astype("int32"),
        }
