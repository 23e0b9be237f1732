"""Texts tokenized once before `fit`, from which it gathers its batches.

Batches are sorted by length, so every text is tokenized before the first step
anyway. All at once that takes a quarter of the time of small batches, and what
is made between steps keeps the cores from the steps.
"""

import numpy as np

from keras_bert._tensorflow import tensorflow

# Examples that are tokenized at once.
_AT_ONCE = 1024
# Tokens that are kept at most, five bytes each; of more texts only the
# lengths are, and they are tokenized again in every epoch.
_KEPT = 2**27


def padded_width(longest, limit, widths):
    """The next of the widths from `longest` on, `limit` at most: int64."""
    tf = tensorflow()
    limit = tf.cast(limit, "int64")
    widths = tf.concat([tf.constant(widths, "int64"), [limit]], 0)
    width = tf.reduce_min(tf.boolean_mask(widths, widths >= longest))
    return tf.minimum(width, limit)


class TokenRows:
    """Ids of examples, end to end.

    Args:
        arrays: one or two arrays of texts.
        preprocessor: makes rows of them.

    Attributes:
        lengths: int64 array. Tokens of each example, of the longest of its
            choices where it has several.
        kept: bool. Whether `gather` can be called: rows of one text or pair,
            which the preprocessor only pads, and not too many.
    """

    def __init__(self, arrays, preprocessor):
        lengths, tokens, segments = [], [], []
        self.kept = getattr(preprocessor, "only_pads", False)
        for start in range(0, len(arrays[0]), _AT_ONCE):
            part = tuple(array[start : start + _AT_ONCE] for array in arrays)
            rows = preprocessor.rows(part[0] if len(part) == 1 else part)
            mask = np.asarray(rows["padding_mask"]) > 0
            counts = np.count_nonzero(mask, axis=-1)
            lengths.append(counts.reshape(len(counts), -1).max(axis=1))
            if self.kept:
                tokens.append(np.asarray(rows["token_ids"])[mask])
                segments.append(np.asarray(rows["segment_ids"], "int8")[mask])
                self.kept = sum(map(len, tokens)) <= _KEPT
        self.lengths = np.concatenate(lengths).astype("int64")
        if self.kept:
            self._limit = preprocessor.sequence_length
            self._pad = preprocessor.tokenizer.pad_token_id
            starts = np.cumsum(self.lengths) - self.lengths
            tf = tensorflow()
            # tf.data reads them there, whatever the model runs on.
            with tf.device("CPU"):
                self._starts = tf.constant(starts)
                self._lengths = tf.constant(self.lengths)
                self._tokens = tf.constant(np.concatenate(tokens), tf.int32)
                self._segments = tf.constant(np.concatenate(segments))

    def gather(self, numbers, widths):
        """Rows of those numbers, padded to the next of the widths."""
        tf = tensorflow()
        lengths = tf.gather(self._lengths, numbers)[:, None]
        longest = tf.reduce_max(lengths)
        columns = tf.range(padded_width(longest, self._limit, widths))[None]
        mask = columns < lengths
        places = tf.gather(self._starts, numbers)[:, None] + columns
        places = tf.where(mask, places, 0)
        segments = tf.cast(tf.gather(self._segments, places), "int32")
        return {
            "token_ids": tf.where(
                mask, tf.gather(self._tokens, places), self._pad
            ),
            "segment_ids": tf.where(mask, segments, 0),
            "padding_mask": tf.cast(mask, "int32"),
        }
