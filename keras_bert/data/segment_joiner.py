"""SegmentJoiner: [CLS] A [SEP] B [SEP], cut and padded to one length."""

import keras

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow

TRUNCATE = ("longest_first", "only_second")


@keras.saving.register_keras_serializable("keras_bert")
class SegmentJoiner:
    """Joins one segment or a pair of segments into rows of a fixed length.

    ```
    one segment   [CLS] A [SEP] [PAD] ...          segment_ids 0 0 0   0 ...
    a pair        [CLS] A [SEP] B [SEP] [PAD] ...  segment_ids 0 0 0 1 1 0
    a pair whose second segment holds no id is one segment
    ```

    A plain callable and no Keras layer, so that it takes Python lists and
    ragged tensors on every backend. It gives the same rows when called
    directly, mapped over single examples and mapped over batches.

    Args:
        tokenizer: `BertTokenizer` from which the ids of [PAD], [CLS] and
            [SEP] are taken, or `None` when the three ids are given.
        sequence_length: int. Length of every row.
        truncate: `"longest_first"` drops the last id of the longer segment
            (of the second when they are equal) until the pair fits, as the
            original BERT does; `"only_second"` keeps the first segment whole
            and cuts the second, as question answering needs. A single
            segment is cut at its end.
        pad_token_id: int.
        cls_token_id: int.
        sep_token_id: int.

    Call arguments:
        segments: the ids of one segment, or a tuple of two. Each is 1-D (one
            example) or a batch `[batch, (ids)]`: ragged tensor, list of
            lists or array. A tuple is always a pair.
        sequence_length: int. Overrides the length for this call.

    Returns:
        A dict of int32 tensors `[length]` or `[batch, length]`: `token_ids`,
        `segment_ids` and `padding_mask` (1 for ids, 0 for padding).

    Raises:
        ValueError: if the length leaves no room for the special tokens, or,
            with `"only_second"`, a first segment that leaves no room at all
            (`tf.errors.InvalidArgumentError` inside a graph).

    Example:

    ```python
    joiner = keras_bert.data.SegmentJoiner(
        pad_token_id=0, cls_token_id=2, sep_token_id=3, sequence_length=8
    )
    joiner(([[5, 6]], [[7]]))["token_ids"]  # [[2, 5, 6, 3, 7, 3, 0, 0]]
    ```

    Source: `convert_single_example` and `_truncate_seq_pair` of
    https://github.com/google-research/bert/blob/master/run_classifier.py
    """

    def __init__(
        self,
        tokenizer=None,
        sequence_length=128,
        truncate="longest_first",
        pad_token_id=None,
        cls_token_id=None,
        sep_token_id=None,
    ):
        if truncate not in TRUNCATE:
            raise invalid("truncate", f"one of {TRUNCATE}", truncate)
        ids = {
            "pad_token_id": pad_token_id,
            "cls_token_id": cls_token_id,
            "sep_token_id": sep_token_id,
        }
        for name, value in ids.items():
            if value is None and tokenizer is not None:
                value = getattr(tokenizer, name)
            if value is None:
                raise invalid(name, "an id, or a tokenizer that has it", None)
            setattr(self, name, int(value))
        self.sequence_length = _checked_length(sequence_length, 3)
        self.truncate = truncate

    def __call__(self, segments, sequence_length=None):
        tf = tensorflow()
        join = tf.autograph.experimental.do_not_convert(self._join)
        return join(segments, sequence_length)

    def _join(self, segments, sequence_length):
        tf = tensorflow()
        pair = isinstance(segments, tuple)
        if pair and len(segments) != 2:
            raise invalid("segments", "one segment or a pair", segments)
        parts = [_as_ids(s) for s in (segments if pair else (segments,))]
        length = self.sequence_length
        if sequence_length is not None:
            length = _checked_length(sequence_length, 2 + pair)
        single = parts[0].shape.rank == 1
        if any((part.shape.rank == 1) != single for part in parts):
            raise invalid("segments", "two segments or two batches", segments)
        if single:
            parts = [tf.RaggedTensor.from_tensor(p[None]) for p in parts]
        parts = self._cut(parts, length - 1 - tf.add_n(_ends(parts)))
        ends = _ends(parts)

        joined = [tf.fill([parts[0].nrows(), 1], self.cls_token_id)]
        types = [tf.zeros_like(joined[0])]
        for index, (part, end) in enumerate(zip(parts, ends, strict=True)):
            ones = tf.ones([tf.reduce_sum(end)], tf.int32)
            end = tf.RaggedTensor.from_row_lengths(ones, end)
            joined += [part, end * self.sep_token_id]
            types += [tf.ones_like(part) * index, end * index]
        token_ids = tf.concat(joined, axis=1)
        segment_ids = tf.concat(types, axis=1)
        mask = tf.ones_like(token_ids)
        result = {
            "token_ids": token_ids.to_tensor(
                self.pad_token_id, shape=[None, length]
            ),
            "segment_ids": segment_ids.to_tensor(shape=[None, length]),
            "padding_mask": mask.to_tensor(shape=[None, length]),
        }
        if single:
            result = {name: value[0] for name, value in result.items()}
        return result

    def _cut(self, parts, room):
        """The parts cut to `room`, int64 `[rows]`."""
        tf = tensorflow()
        a = parts[0].row_lengths()
        if len(parts) == 1:
            return [_heads(parts[0], tf.minimum(a, room))]
        first, second = parts
        b = second.row_lengths()
        if self.truncate == "only_second":
            over = tf.boolean_mask(tf.stack([a, room], axis=1), a > room)
            message = "`truncate='only_second'` keeps the first segment whole"
            if tf.executing_eagerly() and len(over):
                ids, left = over[0].numpy()
                raise ValueError(
                    f"{message}, but sequence_length leaves {left} ids for "
                    f"both segments and a first segment has {ids}"
                )
            check = tf.debugging.Assert(
                tf.equal(tf.size(over), 0), [message + " (ids, room):", over]
            )
            with tf.control_dependencies([check] if check is not None else []):
                a = tf.identity(a)
            b = tf.minimum(b, room - a)
        else:
            # Where dropping from the longer one ends: each segment keeps
            # what the other leaves, but at least half of the room. The odd
            # place is the first segment's, because a tie drops from the
            # second.
            a, b = (
                tf.minimum(a, tf.maximum(room - b, (room + 1) // 2)),
                tf.minimum(b, tf.maximum(room - a, room // 2)),
            )
        return [_heads(first, a), _heads(second, b)]

    def get_config(self):
        return {
            "sequence_length": self.sequence_length,
            "truncate": self.truncate,
            "pad_token_id": self.pad_token_id,
            "cls_token_id": self.cls_token_id,
            "sep_token_id": self.sep_token_id,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _checked_length(length, least):
    if not isinstance(length, int) or length < least:
        raise invalid("sequence_length", f"an int of at least {least}", length)
    return length


def _as_ids(segment):
    tf = tensorflow()
    if isinstance(segment, (list, tuple)) and any(
        not isinstance(row, int) and hasattr(row, "__len__") for row in segment
    ):
        segment = tf.ragged.constant(
            [list(row) for row in segment], tf.int32, ragged_rank=1
        )
    elif isinstance(segment, (list, tuple)) and not segment:
        segment = tf.zeros([0], tf.int32)
    if not isinstance(segment, tf.RaggedTensor):
        segment = tf.convert_to_tensor(segment)
    segment = tf.cast(segment, tf.int32)
    if segment.shape.rank not in (1, 2):
        raise invalid("segments", "ids of rank 1 or 2", segment)
    if segment.shape.rank == 2 and not isinstance(segment, tf.RaggedTensor):
        segment = tf.RaggedTensor.from_tensor(segment)
    return segment


def _ends(parts):
    """How many [SEP] follow each segment, int64 `[rows]`."""
    tf = tensorflow()
    ends = [tf.ones_like(parts[0].row_lengths())]
    if len(parts) == 2:
        # The original asks `if tokens_b`, before and after the cut.
        ends.append(tf.cast(parts[1].row_lengths() > 0, tf.int64))
    return ends


def _heads(rows, lengths):
    """The first `lengths[i]` ids of row i."""
    tf = tensorflow()
    column = tf.range(tf.size(rows.values, tf.int64)) - tf.gather(
        rows.row_starts(), rows.value_rowids()
    )
    keep = column < tf.gather(lengths, rows.value_rowids())
    return tf.ragged.boolean_mask(rows, rows.with_values(keep))
