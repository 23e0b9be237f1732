"""Normalisation of text in the TensorFlow graph, exact on every string.

    raw row -> repair UTF-8 -> drop controls -> lower -> NFD -> drop marks

Most rows need no more than lower-casing of ASCII. One pass of a regular
expression finds the others, and only they are gathered, treated and
scattered back.

A raw code point leaves the same number of bytes in every context (the final
sigma has the length of the other), and what is hidden or made unknown here
keeps its length: the spans of tokens rest on both (`_offsets.py`).
"""

import functools

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.tokenizers import _unicode

# The original looks at words up to 200 characters; longer ones are unknown.
LONGEST_WORD = 200

# Stand-ins of 1 to 4 bytes that no normalisation touches and that no text in
# earnest holds: U+0378 is unassigned, the last two are noncharacters.
STAND_INS = ("\x7f", "\u0378", "\ufdd5", "\U0001fffe")

# Five noncharacters that stand for the special tokens while a text that may
# hold them is normalised.
SPECIAL_STAND_INS = tuple(chr(0xFDD0 + i) for i in range(5))


def rarely(condition, function, otherwise, *inputs):
    """`tf.cond` whose first branch is set up only when it is first taken.

    A new tf.data iterator sets up every operation of its function, about
    0.1 ms each. A call that is not inlined counts as one.
    """
    tf = tensorflow()
    # Concrete, because TensorFlow warns of retracing when the same lines of
    # code are traced for several tokenizers.
    call = tf.function(
        function,
        autograph=False,
        experimental_attributes={"_noinline": True},
    ).get_concrete_function(*inputs)
    return tf.cond(condition, lambda: call(*inputs), lambda: otherwise(*inputs))


def on_rows(rows, flags, function):
    """`rows` with `function` applied to those that are flagged."""
    tf = tensorflow()

    def treat(rows, flags):
        index = tf.where(flags)
        treated = function(tf.gather(rows, index[:, 0]))
        return tf.tensor_scatter_nd_update(rows, index, treated)

    return rarely(
        tf.reduce_any(flags), treat, lambda rows, flags: rows, rows, flags
    )


def repair_utf8(rows):
    """Invalid bytes removed, as Python decodes with errors="ignore"."""
    tf = tensorflow()
    invalid = ~tf.strings.regex_full_match(rows, _unicode.VALID_UTF8)
    return on_rows(
        rows,
        invalid,
        lambda bad: tf.strings.unicode_transcode(
            bad, "UTF-8", "UTF-8", errors="ignore"
        ),
    )


def _lower(rows):
    """Lower case of Unicode 14; TensorFlow's is that of Unicode 13."""
    tf = tensorflow()
    new = f"[{_unicode.NEW_CASED}{_unicode.NEW_IGNORABLE}]"
    return tf.cond(
        tf.reduce_any(tf.strings.regex_full_match(rows, _unicode.any_of(new))),
        lambda: _lower_new(rows),
        lambda: tf.strings.lower(rows, encoding="utf-8"),
    )


def decode(rows):
    """(splits, code points) of valid UTF-8.

    The plain operation: `tf.strings.unicode_decode` wraps it in a ragged
    tensor, whose many small operations a new tf.data iterator has to
    optimise each time.
    """
    tf = tensorflow()
    return tf.raw_ops.UnicodeDecode(
        input=rows, input_encoding="UTF-8", Tsplits=tf.int32
    )


def _encode(splits, points):
    tf = tensorflow()
    return tf.raw_ops.UnicodeEncode(
        input_values=points, input_splits=splits, output_encoding="UTF-8"
    )


def _lower_new(rows):
    tf = tensorflow()
    splits, points = decode(rows)
    first, last, distance = (
        tf.constant(column)[:, None]
        for column in zip(*_unicode.NEW_CAPITALS, strict=True)
    )
    capital = (points >= first) & (points <= last)
    points += tf.reduce_sum(tf.where(capital, distance, 0), axis=0)
    rows = _encode(splits, points)
    # Whether a sigma is final depends on the letters round it, across marks.
    # It is read off a copy with an "a" for each new letter and an acute
    # accent for each new mark.
    copy = tf.strings.regex_replace(rows, f"[{_unicode.NEW_CASED}]", "a")
    copy = tf.strings.regex_replace(
        copy, f"[{_unicode.NEW_IGNORABLE}]", "\u0301"
    )
    splits, points = decode(tf.strings.lower(rows, encoding="utf-8"))
    _, copy = decode(tf.strings.lower(copy, encoding="utf-8"))
    is_sigma = (copy == ord("ς")) | (copy == ord("σ"))
    return _encode(splits, tf.where(is_sigma, copy, points))


def _hide_newer(rows):
    tf = tensorflow()
    # Replaced by a stand-in of as many bytes, so that offsets stay right.
    for code_point_class, stand_in in (
        (r"[\x{ECE}\x{1B4E}\x{1B4F}\x{1B7F}]", STAND_INS[2]),
        (f"[{_unicode.NEWER}]", STAND_INS[3]),
    ):
        rows = tf.strings.regex_replace(rows, code_point_class, stand_in)
    return rows


def normalize(rows, lowercase, strip_accents):
    """Everything up to the splitting into words."""
    tf = tensorflow()
    text = tensorflow_text()
    trivial = lowercase or strip_accents
    simple = _unicode.SIMPLE_LOWER if trivial else _unicode.SIMPLE_CASED
    hard = ~tf.strings.regex_full_match(rows, simple)

    def full(rows):
        rows = repair_utf8(rows)
        newer = _unicode.any_of(f"[{_unicode.NEWER}]")
        rows = on_rows(
            rows, tf.strings.regex_full_match(rows, newer), _hide_newer
        )
        # Before lower-casing: tf.strings.lower cuts a row at U+0000.
        rows = tf.strings.regex_replace(rows, _unicode.DROPPED, "")
        if lowercase:
            rows = _lower(rows)
        if strip_accents:
            rows = text.normalize_utf8(rows, "NFD")
            rows = tf.strings.regex_replace(rows, r"\p{Mn}", "")
        return rows

    def finish():
        # Without an encoding only ASCII letters are lowered, byte by byte.
        easy = tf.strings.lower(rows) if lowercase else rows
        index = tf.where(hard)
        return tf.tensor_scatter_nd_update(
            easy, index, full(tf.gather(rows, index[:, 0]))
        )

    return tf.cond(
        tf.reduce_any(hard),
        finish,
        lambda: tf.strings.lower(rows) if lowercase else rows,
    )


@functools.cache
def word_splitter():
    """A tokenizer that gives one token per word: the spans of the words."""
    tf = tensorflow()
    with tf.init_scope():
        return tensorflow_text().FastWordpieceTokenizer(
            # The builder refuses a vocabulary of the unknown token alone.
            vocab=["[UNK]", "\ufddf"],
            max_bytes_per_word=2**31 - 1,
            token_out_type=tf.int32,
        )


def words_of(rows):
    """(starts, ends) in bytes of the words of normalised rows, ragged."""
    _, starts, ends = word_splitter().tokenize_with_offsets(rows)
    return starts, ends


def _spoil_long_words(rows):
    """The first code point of each too long word replaced by a stand-in.

    The stand-in has as many bytes, so that no offset moves.
    """
    tf = tensorflow()
    splits, points = decode(rows)
    sizes = 1 + tf.searchsorted([0x80, 0x800, 0x10000], points, side="right")
    # Byte at which each code point of the joined rows starts.
    start_byte = tf.cumsum(sizes, exclusive=True)
    row_byte = tf.cumsum(tf.strings.length(rows), exclusive=True)
    starts, ends = words_of(rows)
    row = tf.searchsorted(
        starts.row_splits,
        tf.range(tf.size(starts.values, tf.int64)),
        side="right",
    )
    base = tf.gather(row_byte, row - 1)
    first = tf.searchsorted(start_byte, base + tf.cast(starts.values, tf.int32))
    end = tf.searchsorted(start_byte, base + tf.cast(ends.values, tf.int32))
    first = tf.gather(first, tf.where(end - first > LONGEST_WORD))
    stand_in = tf.gather(
        tf.constant([ord(c) for c in STAND_INS]),
        tf.gather(sizes, first[:, 0]) - 1,
    )
    points = tf.tensor_scatter_nd_update(points, first, stand_in)
    return _encode(splits, points)


def spoil_long_words(rows):
    """Makes words over 200 code points unknown to any vocabulary."""
    tf = tensorflow()
    suspect = tf.strings.regex_full_match(rows, _unicode.LONG_WORD)
    return on_rows(rows, suspect, _spoil_long_words)


def hide_special_tokens(rows, specials):
    """Each special token replaced by its stand-in, padded with spaces.

    The row keeps its length in bytes: "[MASK]" becomes a space, a stand-in
    of three bytes and two spaces.
    """
    tf = tensorflow()
    names = "|".join(token[1:-1] for token in specials)
    flags = tf.strings.regex_full_match(
        rows,
        rf"(?s).*(?:\[(?:{names})\]|[\x{{FDD0}}-\x{{FDD4}}]).*",
    )

    def hide(rows):
        rows = repair_utf8(rows)
        # Stand-ins that the text itself holds must not become specials.
        rows = tf.strings.regex_replace(
            rows, r"[\x{FDD0}-\x{FDD4}]", STAND_INS[2]
        )
        for token, stand_in in zip(specials, SPECIAL_STAND_INS, strict=True):
            rows = tf.strings.regex_replace(
                rows,
                rf"\[{token[1:-1]}\]",
                " " + stand_in + " " * (len(token) - 4),
            )
        return rows

    return on_rows(rows, flags, hide)
