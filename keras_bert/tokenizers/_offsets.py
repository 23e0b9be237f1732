"""Spans of tokens in code points of the raw text.

WordPiece gives spans in bytes of the normalised row. Every raw code point
leaves a known number of bytes there, none when it is deleted:

    raw               n   a   i   U+0308   v   e      (uncased)
    bytes left        1   1   1   0        1   1
    bytes up to it    1   2   3   3        4   5

so the first code point of a token is the first one that ends after the
token's first byte, and the last is the first one that ends at or after its
last byte; two binary searches in the running sum. A deleted accent belongs
to the letter before it (the span of "cafe" + U+0301 is 5 long), unless that
letter is shared between pieces; a deleted control character at the edge of a
token belongs to none.

Rows of plain ASCII need none of this. The cost of the others is about that
of the ids again.
"""

import functools

from keras_bert._tensorflow import tensorflow
from keras_bert.tokenizers import _unicode
from keras_bert.tokenizers._normalize import decode
from keras_bert.tokenizers._normalize import normalize
from keras_bert.tokenizers._normalize import rarely
from keras_bert.tokenizers._normalize import repair_utf8

# Code points whose normalised length is not their own: all of them lie here.
CHANGING = ((0, 0xD800), (0xE000, 0x20000), (0x2F800, 0x2FA20))
CHANGING += ((0xE0000, 0xE0200),)
BLOCK = 256


@functools.cache
def _table(lowercase, strip_accents):
    """Bytes left by each code point, -1 for a deleted accent.

    Two levels: the number of the block of 256 code points, and the blocks,
    equal ones kept once. (list of block numbers, list of blocks.)
    """
    tf = tensorflow()
    points = [p for a, b in CHANGING for p in range(a, b)]
    with tf.init_scope():
        rows = tf.constant([chr(p) for p in points])
        left = tf.strings.length(normalize(rows, lowercase, strip_accents))
        dropped = tf.strings.regex_full_match(rows, _unicode.DROPPED)
        left = tf.where((left == 0) & ~dropped, -1, left).numpy().tolist()
    size = 0x110000
    sizes = [3] * 0x10000 + [4] * (size - 0x10000)
    for point, count in zip(points, left, strict=True):
        sizes[point] = count
    blocks = {}
    numbers = [
        blocks.setdefault(tuple(sizes[start : start + BLOCK]), len(blocks))
        for start in range(0, size, BLOCK)
    ]
    return numbers, [list(block) for block in blocks]


def _bytes_left(points, lowercase, strip_accents):
    tf = tensorflow()
    numbers, blocks = _table(lowercase, strip_accents)
    # Shifts: TensorFlow's integer division costs more than the look-ups.
    block = tf.gather(tf.constant(numbers), tf.bitwise.right_shift(points, 8))
    place = tf.bitwise.left_shift(block, 8) + tf.bitwise.bitwise_and(
        points, BLOCK - 1
    )
    flat = tf.reshape(tf.constant(blocks, tf.int32), [-1])
    return tf.gather(flat, place)


def _to_points(raw, row, starts, ends, lowercase, strip_accents):
    """Byte spans in the normalised rows as spans of raw code points.

    `row` is the row of each token.
    """
    tf = tensorflow()
    splits, points = decode(raw)
    left = _bytes_left(points, lowercase, strip_accents)
    reach = tf.cumsum(tf.maximum(left, 0))
    base = tf.gather(tf.concat([[0], reach], axis=0), splits)
    base = tf.gather(base, row)
    starts += base
    ends += base
    start = tf.searchsorted(reach, starts, side="right")
    end = tf.searchsorted(reach, ends, side="left") + 1
    limit = tf.gather(splits, row + 1)

    def over_accents(end, left, limit, reach, starts, ends):
        # On to the next code point that is no deleted accent, in the row.
        free = tf.cast(tf.where(left >= 0)[:, 0], tf.int32)
        free = tf.concat([free, [tf.size(left)]], axis=0)
        after = tf.gather(free, tf.searchsorted(free, end, side="left"))
        # A Hangul syllable of several pieces: none of them has the accent.
        stop = tf.gather(reach, end - 1)
        whole = (stop == ends) & (stop - tf.gather(left, end - 1) >= starts)
        return tf.where(whole, tf.minimum(after, limit), end)

    end = rarely(
        tf.reduce_any(left < 0),
        over_accents,
        lambda end, *_: end,
        end,
        left,
        limit,
        reach,
        starts,
        ends,
    )
    first = tf.gather(splits, row)
    return start - first, end - first


def code_point_spans(rows, row, starts, ends, lowercase, strip_accents):
    """Spans of tokens in code points of `rows`, which are raw.

    Args:
        rows: string `[rows]`.
        row: int32 `[tokens]`, the row of each token.
        starts: int32 `[tokens]`, in bytes of the normalised row.
        ends: int32 `[tokens]`, likewise.

    Returns:
        Starts and ends, int32 `[tokens]`.
    """
    tf = tensorflow()
    shifted = ~tf.strings.regex_full_match(rows, _unicode.ASCII)

    def whole():
        return _to_points(
            repair_utf8(rows), row, starts, ends, lowercase, strip_accents
        )

    def part():
        index = tf.where(shifted)[:, 0]
        raw = repair_utf8(tf.gather(rows, index))
        token = tf.where(tf.gather(shifted, row))
        flat = token[:, 0]
        place = tf.cumsum(tf.cast(shifted, tf.int32)) - 1
        start, end = _to_points(
            raw,
            tf.gather(place, tf.gather(row, flat)),
            tf.gather(starts, flat),
            tf.gather(ends, flat),
            lowercase,
            strip_accents,
        )
        return (
            tf.tensor_scatter_nd_update(starts, token, start),
            tf.tensor_scatter_nd_update(ends, token, end),
        )

    # Gathering and scattering the tokens costs a third of the conversion:
    # where most rows need it, all of them are converted.
    count = tf.reduce_sum(tf.cast(shifted, tf.int32))
    return tf.case(
        [
            (count == 0, lambda: (starts, ends)),
            (2 * count > tf.size(rows), whole),
        ],
        default=part,
    )
