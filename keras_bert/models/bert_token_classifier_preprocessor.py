"""Preprocessor of the token classifier: words to windows of pieces."""

import warnings

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.data.word_windows import word_targets
from keras_bert.data.word_windows import word_windows
from keras_bert.models.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable("keras_bert")
class BertTokenClassifierPreprocessor(BertPreprocessor):
    """Texts given as words to rows of pieces, with a label per first piece.

    A text that is longer than a row is cut into overlapping windows (drawn in
    `keras_bert.data.token_windows`). Each word is labelled once: at its first
    piece, in the window that shows most of what stands around it. A word of
    which the tokenizer keeps nothing has no label; a warning names such words.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        stride: int, how many tokens the start of a window moves; `None` is
            half of the room between [CLS] and [SEP].

    Call arguments:
        x: a batch of texts, each a list of words or a string, which is split
            at whitespace; or one string. A string tensor of rank 1 is a batch
            of texts; texts as words are a ragged tensor
            `[batch, (words)]`.
        y: int ids of labels, `[batch, (words)]`.
        sample_weight: float, per text or per word.

    Returns a dict of int32 `token_ids`, `segment_ids` and `padding_mask`,
    each `[windows, sequence_length]`; with `y` a tuple of it, int32 labels
    and float32 weights, `[windows, sequence_length]`. The weight is 0
    wherever no word is labelled.

    Raises:
        ValueError: if the numbers of words and labels differ, or `stride` is
            larger than the room.

    Example:

    ```python
    preprocessor = keras_bert.BertTokenClassifierPreprocessor(
        tokenizer, sequence_length=64
    )
    x, y, weight = preprocessor([["jim", "henson", "-"]], [[1, 2, 0]])
    # pieces [CLS] jim hen ##son - [SEP]
    # y        0    1   2    0   0   0
    # weight   0    1   1    0   1   0
    ```

    Source: Devlin et al. (2018), section 5.3.
    """

    def __init__(self, tokenizer, sequence_length=128, stride=None):
        super().__init__(tokenizer, sequence_length)
        room = sequence_length - 2
        self.stride = max(1, room // 2) if stride is None else stride
        if not isinstance(self.stride, int) or not 1 <= self.stride <= room:
            raise invalid(
                "stride",
                f"None or an int from 1 to {room}, the room in a row of "
                f"{sequence_length}",
                stride,
            )

    def __call__(self, x, y=None, sample_weight=None):
        tf = tensorflow()
        if not tf.is_tensor(x) and not isinstance(x, tf.RaggedTensor):
            texts = word_lists(x)
            x = tf.RaggedTensor.from_row_lengths(
                tf.constant([w for t in texts for w in t], tf.string),
                [len(text) for text in texts],
            )
        if not isinstance(x, tf.RaggedTensor):
            x = _split_at_whitespace(x)
        pieces = self.tokenizer(x.flat_values)
        inputs = [pieces.values, pieces.row_lengths(), x.row_lengths()]
        if y is None:
            return self._rows_of(self._rows, inputs, [tf.int32] * 3)
        y = _ragged(y, tf.int32)
        inputs += [y.flat_values, y.row_lengths()]
        if sample_weight is None:
            weights = tf.ones(tf.shape(y.flat_values), tf.float32)
        else:
            weights = _ragged(sample_weight, tf.float32)
            if isinstance(weights, tf.RaggedTensor):
                weights = weights.flat_values
            else:
                weights = tf.repeat(weights, y.row_lengths())
        return self._rows_of(
            self._rows, [*inputs, weights], [tf.int32] * 4 + [tf.float32]
        )

    def _rows_of(self, function, inputs, types):
        """`function` on numpy values, now or as part of a graph."""
        tf = tensorflow()
        if tf.executing_eagerly():
            values = [tf.constant(v) for v in function(
                *(value.numpy() for value in inputs)
            )]  # fmt: skip
        else:
            values = tf.numpy_function(function, inputs, types)
        for value in values:
            value.set_shape([None, self.sequence_length])
        names = ("token_ids", "segment_ids", "padding_mask")
        rows = dict(zip(names, values, strict=False))
        return rows if len(values) == 3 else (rows, *values[3:])

    def _rows(self, ids, piece_counts, word_counts, *targets):
        windows = self._windows(ids, piece_counts, word_counts)
        numbers = np.arange(len(windows.rows))
        rows = windows.rows.batch(numbers, self.sequence_length)
        if not targets:
            return tuple(rows.values())
        labels, label_counts, weights = targets
        check_counts(word_counts, label_counts)
        return (
            *rows.values(),
            *word_targets(
                windows, labels, weights, numbers, self.sequence_length
            ),
        )

    def _windows(self, ids, piece_counts, word_counts):
        return word_windows(
            self.tokenizer,
            ids,
            piece_counts,
            word_counts,
            self.sequence_length,
            self.stride,
        )

    def windows(self, texts):
        """`WordWindows` of texts, each a list of words."""
        words = [word for text in texts for word in text]
        counts = [len(text) for text in texts]
        if not words:
            return self._windows(np.zeros(0, "int32"), [], counts)
        pieces = self.tokenizer(words)
        windows = self._windows(
            pieces.values.numpy(), pieces.row_lengths().numpy(), counts
        )
        empty = np.flatnonzero(windows.row < 0)
        if len(empty):
            named = ", ".join(repr(words[index]) for index in empty[:5])
            warnings.warn(
                f"{len(empty)} of {len(words)} words have no token and get "
                f"no label: {named}{', ...' if len(empty) > 5 else ''}",
                stacklevel=4,
            )
        return windows

    def get_config(self):
        config = super().get_config()
        del config["truncate"]
        return {**config, "stride": self.stride}


def word_lists(x):
    """A batch of texts, or one string, as a list of lists of words."""
    tf = tensorflow()
    if isinstance(x, tf.RaggedTensor):
        x = x.to_list()
    elif hasattr(x, "numpy"):
        x = x.numpy()
    if isinstance(x, str | bytes):
        x = [x]
    if not hasattr(x, "__len__"):
        raise invalid("x", "a list of texts (lists of words, or strings)", x)
    return [_words(text, index) for index, text in enumerate(x)]


def _words(text, index):
    if hasattr(text, "tolist"):
        text = text.tolist()
    if isinstance(text, bytes):
        text = text.decode("utf-8", "ignore")
    if isinstance(text, str):
        return text.split()
    if not isinstance(text, list | tuple) or not all(
        isinstance(word, str | bytes) for word in text
    ):
        raise invalid(
            "x", f"lists of words, or strings (see position {index})", text
        )
    return [
        word.decode("utf-8", "ignore") if isinstance(word, bytes) else word
        for word in text
    ]


def check_counts(word_counts, label_counts):
    """Refuses labels that are not one per word."""
    if len(word_counts) != len(label_counts):
        raise invalid(
            "y",
            f"labels for each of {len(word_counts)} texts",
            f"labels for {len(label_counts)}",
        )
    for index, (words, labels) in enumerate(
        zip(word_counts, label_counts, strict=True)
    ):
        if words != labels:
            raise invalid(
                "y",
                f"one label per word ({words} in text {index})",
                f"{labels} labels",
            )


def _split_at_whitespace(x):
    """A string tensor of texts as words `[batch, (words)]`."""
    tf = tensorflow()
    if x.shape.rank == 2:
        return tf.RaggedTensor.from_tensor(x)
    x = tf.reshape(x, [-1])

    def split(texts):
        # As Python splits, so that tensors and lists agree.
        words = word_lists(texts)
        flat = [word.encode() for text in words for word in text]
        counts = np.array([len(text) for text in words], "int64")
        return np.array(flat, dtype=object), counts

    words, counts = tf.numpy_function(split, [x], (tf.string, tf.int64))
    words.set_shape([None])
    counts.set_shape(x.shape)
    return tf.RaggedTensor.from_row_lengths(words, counts)


def _ragged(values, dtype):
    """`[batch, (words)]` of any kind; rank 1 (per text) stays as it is."""
    tf = tensorflow()
    if not tf.is_tensor(values) and not isinstance(values, tf.RaggedTensor):
        values = (
            tf.ragged.constant([list(v) for v in values], ragged_rank=1)
            if len(values) and hasattr(values[0], "__len__")
            else tf.constant(values)
        )
    values = tf.cast(values, dtype)
    if not isinstance(values, tf.RaggedTensor) and values.shape.rank == 2:
        values = tf.RaggedTensor.from_tensor(values)
    return values
