"""Choosing whole words, or spans of words, to be masked.

    pieces       CLS  jim  hen ##son  -   SEP  [hen ##son] is one word
    candidates    .    x    x    x    x    .
    continues     .    .    .    x    .    .

For many sequences at once: one step of the loops below handles one word (one
span) of every sequence.

Sources: `create_masked_lm_predictions` of
https://github.com/google-research/bert/blob/master/create_pretraining_data.py
and Joshi et al. (2020), SpanBERT, section 3.1.
"""

import numpy as np


def choose_words(candidates, continues, counts, order):
    """Whole words in random order, as long as they fit.

    A word that is larger than what is left of the count is passed over, as in
    the original.

    Args:
        candidates: bool `[sequences, length]`: what may be chosen.
        continues: bool of the same shape: goes on the word before.
        counts: int `[sequences]`: the most pieces to choose.
        order: float `[sequences, length]`: a random number per piece; the one
            of its first piece is that of the word.

    Returns a bool array `[sequences, length]`.
    """
    starts = _word_starts(candidates, continues)
    word, sizes, first = _words(candidates, starts)
    keys = np.take_along_axis(order, first, axis=1)
    keys = np.where(sizes > 0, keys, np.float32(2))
    ranked = np.argsort(keys, axis=1)
    taken = np.zeros(sizes.shape, dtype=bool)
    left = counts.copy()
    every = np.arange(len(counts))
    for rank in range(sizes.shape[1]):
        here = ranked[:, rank]
        size = sizes[every, here]
        fits = (size > 0) & (size <= left)
        taken[every, here] = fits
        left -= size * fits
        if not left.any():
            break
    return candidates & np.take_along_axis(taken, word, axis=1)


def choose_spans(candidates, continues, counts, anchors, span_lengths):
    """Spans of whole words at random places; the last one may be cut.

    Args:
        candidates, continues, counts: as in `choose_words`.
        anchors: float `[sequences, tries]` from 0 to 1: where a span begins.
        span_lengths: int `[sequences, tries]`: words of the span.

    Returns an int array `[sequences, length]`: the number of the span, from
    1; 0 is not chosen.
    """
    length = candidates.shape[1]
    starts = _word_starts(candidates, continues)
    word, sizes, first = _words(candidates, starts)
    beyond = np.full((len(counts), span_lengths.max() + 1), length)
    first = np.concatenate([np.where(sizes > 0, first, length), beyond], 1)
    # Where the text that a position lies in ends: no span crosses a [SEP].
    columns = np.arange(length)
    gaps = np.where(candidates, length, columns)
    text_ends = np.minimum.accumulate(gaps[:, ::-1], axis=1)[:, ::-1]
    number = candidates.sum(axis=1)
    places = np.argsort(~candidates, axis=1, kind="stable")
    spans = np.zeros(candidates.shape, dtype=np.int64)
    left = counts.copy()
    every = np.arange(len(counts))
    for attempt in range(anchors.shape[1]):
        place = (anchors[:, attempt] * number).astype(np.int64)
        place = places[every, np.minimum(place, length - 1)]
        begin_word = word[every, place]
        begin = first[every, begin_word]
        end = first[every, begin_word + span_lengths[:, attempt]]
        end = np.minimum(end, text_ends[every, place])
        is_free = (left > 0) & (spans[every, place] == 0) & (number > 0)
        inside = (columns >= begin[:, None]) & (columns < end[:, None])
        inside &= is_free[:, None] & (spans == 0)
        inside &= np.cumsum(inside, axis=1) <= left[:, None]
        spans[inside] = attempt + 1
        left -= inside.sum(axis=1)
        if not left.any():
            break
    return spans


def geometric_lengths(uniform, probability, longest):
    """Span lengths of 1 to `longest` words, P(n) ~ p (1 - p) ** (n - 1)."""
    shares = (1 - probability) ** np.arange(longest)
    borders = np.cumsum(shares / shares.sum())
    return 1 + np.searchsorted(borders[:-1], uniform, side="right")


def _word_starts(candidates, continues):
    before = np.zeros_like(candidates)
    before[:, 1:] = candidates[:, :-1]
    # A word that a border has cut begins at the border.
    return candidates & ~(continues & before)


def _words(candidates, starts):
    """The word of each column, and size and first column of each word."""
    count = max(1, int(starts.sum(axis=1).max(initial=0)))
    word = np.clip(np.cumsum(starts, axis=1) - 1, 0, None)
    row, column = np.nonzero(candidates)
    shape = (len(candidates), count)
    sizes = np.bincount(
        row * count + word[row, column], minlength=shape[0] * count
    ).reshape(shape)
    first = np.zeros(shape, dtype=np.int64)
    row, column = np.nonzero(starts)
    first[row, word[row, column]] = column
    return word, sizes, first
