"""Between Python values and tensors: text in, text and warnings out."""

import operator
import warnings

import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.tokenizers._normalize import STAND_INS


def as_strings(text, argument="text"):
    """A string tensor or ragged tensor of what a caller passes as text."""
    tf = tensorflow()
    if isinstance(text, tf.RaggedTensor) or tf.is_tensor(text):
        if text.dtype != tf.string:
            raise invalid(argument, "strings", text)
        if text.shape.rank is None:
            # As tf.py_function and some generators leave it.
            raise invalid(
                argument, "a tensor of known rank (tf.ensure_shape)", text
            )
        return text
    if hasattr(text, "tolist"):
        text = text.tolist()
    try:
        return _convert(text)
    except (TypeError, ValueError):
        # TensorFlow's error does not tell a surrogate from a number.
        repaired = _without_surrogates(text)
        if repaired != text:
            return as_strings(repaired, argument)
        raise invalid(argument, "str, or lists of str", text) from None


def _convert(text):
    tf = tensorflow()
    if isinstance(text, (list, tuple)):
        if any(isinstance(row, (list, tuple)) for row in text):
            return tf.ragged.constant(text, tf.string)
        if not text:
            return tf.zeros([0], tf.string)
    return tf.constant(text, tf.string)


def _without_surrogates(text):
    # A lone surrogate is for the original a letter of no vocabulary.
    if isinstance(text, str):
        return "".join(
            STAND_INS[2] if "\ud800" <= c <= "\udfff" else c for c in text
        )
    if isinstance(text, (list, tuple)):
        return [_without_surrogates(part) for part in text]
    return text


def warn_of_missing(missing):
    """Names words that yield no piece; `missing` holds their indices."""
    tf = tensorflow()
    if not isinstance(missing, tf.RaggedTensor):
        missing = missing[None]
    rows = (
        missing.to_list()
        if hasattr(missing, "to_list")
        else [row.tolist() for row in missing.numpy()]
    )
    places = [(i, word) for i, row in enumerate(rows) for word in row]
    if places:
        shown = ", ".join(f"word {w} of text {i}" for i, w in places[:5])
        more = len(places) - 5
        warnings.warn(
            f"{len(places)} word(s) yield no piece and are missing in "
            f"`word_ids`: {shown}" + (f" and {more} more" if more > 0 else ""),
            stacklevel=3,
        )


def is_id(value, vocabulary):
    """Whether `value` is an integer, of Python or NumPy, and an id."""
    try:
        return 0 <= operator.index(value) < len(vocabulary)
    except TypeError:
        return False


def detokenize(ids, vocabulary, dropped):
    """Text of one row of ids, or a list of texts for a batch."""
    if hasattr(ids, "to_list"):
        ids = ids.to_list()
    elif not isinstance(ids, (list, tuple)):
        ids = np.asarray(ids).tolist()
    if not isinstance(ids, (list, tuple)):
        ids = [ids]
    if any(hasattr(row, "__len__") and not isinstance(row, str) for row in ids):
        return [detokenize(row, vocabulary, dropped) for row in ids]
    words = []
    for id in ids:
        if not is_id(id, vocabulary):
            raise invalid("ids", f"ids from 0 to {len(vocabulary) - 1}", id)
        if id in dropped:
            continue
        token = vocabulary[id]
        if token.startswith("##") and len(token) > 2 and words:
            words[-1] += token[2:]
        else:
            words.append(token)
    return " ".join(words)
