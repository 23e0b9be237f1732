"""Which tokens a sequence hides, and what stands in their place.

    token_ids    CLS  a    b    c    d    SEP  0     one sequence a row
    candidates   -    x    x    x    x    -    -
    positions    2    4    0                         ascending, then zeros
    labels       b    d    0                         the true tokens
    masked ids   CLS  a  MASK   c    d    SEP  0     80% [MASK], 10% a random
                                                     token, 10% left as it is

Everything is done for many sequences at once. The random numbers are drawn
apart (`draw`), from one generator per document.
"""

from typing import NamedTuple

import numpy as np

from keras_bert._errors import invalid
from keras_bert.data.masked_units import choose_spans
from keras_bert.data.masked_units import choose_words
from keras_bert.data.masked_units import geometric_lengths

UNITS = ("pieces", "whole_words", "spans")


class Masking(NamedTuple):
    """How to mask. The defaults are those of BERT.

    Args:
        mask_rate: share of a sequence's tokens, special ones counted, that
            are chosen.
        mask_token_rate: share of the chosen ones that become [MASK].
        random_token_rate: share of the chosen ones that become a random
            token of the whole vocabulary; the rest stays as it is.
        max_predictions: the most tokens chosen in a sequence.
        unit: what is chosen at a time: "pieces"; "whole_words", all pieces
            of a word together; "spans" of words, replaced alike (SpanBERT).
        span_probability: p of the geometric distribution of the words of a
            span; with the longest span 10 it gives 3.8 on average.
        longest_span: the most words of a span.
    """

    mask_rate: float = 0.15
    mask_token_rate: float = 0.8
    random_token_rate: float = 0.1
    max_predictions: int = 20
    unit: str = "pieces"
    span_probability: float = 0.2
    longest_span: int = 10

    def check(self):
        for name in ("mask_rate", "mask_token_rate", "random_token_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise invalid(name, "a share from 0 to 1", getattr(self, name))
        if self.mask_token_rate + self.random_token_rate > 1 + 1e-9:
            raise invalid(
                "random_token_rate",
                f"at most 1 together with mask_token_rate="
                f"{self.mask_token_rate}",
                self.random_token_rate,
            )
        most = self.max_predictions
        if not isinstance(most, int | np.integer) or most < 1:
            raise invalid("max_predictions", "an integer from 1", most)
        if self.unit not in UNITS:
            raise invalid("masking", f"one of {UNITS}", self.unit)
        if not 0 < self.span_probability < 1:
            raise invalid(
                "span_probability",
                "a number between 0 and 1",
                self.span_probability,
            )
        if not isinstance(self.longest_span, int) or self.longest_span < 1:
            raise invalid(
                "longest_span", "an integer from 1", self.longest_span
            )


class Draws(NamedTuple):
    """Random numbers for masking; one row per sequence."""

    order: np.ndarray  # float32 [sequences, length]
    kind: np.ndarray  # float32 [sequences, max_predictions]
    token: np.ndarray  # int32 [sequences, max_predictions]
    # Spans only: where they begin, and their words [sequences, tries].
    anchor: np.ndarray
    span: np.ndarray


def draw(rng, sequences, length, vocabulary_size, masking):
    """The random numbers that masking so many sequences takes."""
    shape = (sequences, masking.max_predictions)
    # A place that is taken already costs a try.
    tries = 2 * masking.max_predictions + 10
    is_span = masking.unit == "spans"
    spans = (sequences, tries if is_span else 0)
    return Draws(
        rng.random((sequences, 0 if is_span else length), dtype=np.float32),
        rng.random(shape, dtype=np.float32),
        rng.integers(0, vocabulary_size, shape, dtype=np.int32),
        rng.random(spans, dtype=np.float32),
        geometric_lengths(
            rng.random(spans, dtype=np.float32),
            masking.span_probability,
            masking.longest_span,
        ),
    )


def mask_counts(lengths, masking):
    """How many tokens to choose in sequences of these lengths.

    At least one, and halves round to the even number, as Python's `round`
    does in the original: 10 tokens give 2 (1.5), 30 give 4 (4.5).
    """
    wanted = np.rint(np.asarray(lengths) * masking.mask_rate).astype(np.int64)
    at_least = 1 if masking.mask_rate else 0
    return np.clip(wanted, at_least, masking.max_predictions)


def mask(
    token_ids, candidates, counts, draws, mask_token_id, masking, continues=None
):
    """Choose and replace tokens.

    Args:
        token_ids: int array `[sequences, length]`.
        candidates: bool array of the same shape: what may be chosen.
        counts: int array `[sequences]`: how many to choose.
        draws: `Draws` for these sequences.
        mask_token_id: the id of [MASK].
        masking: the `Masking` settings.
        continues: bool array as `candidates`: pieces that go on the word
            before them; not needed for single pieces.

    Returns:
        masked ids `[sequences, length]`, positions, labels (int32) and chosen
        (bool), the last three `[sequences, max_predictions]`. Where nothing
        is chosen position and label are 0.
    """
    length = token_ids.shape[1]
    most = min(masking.max_predictions, length)
    counts = np.minimum(counts, candidates.sum(axis=1))
    kinds = draws.kind
    if masking.unit == "pieces":
        ranked = _chosen_pieces(candidates, counts, draws.order, most)
    else:
        if masking.unit == "whole_words":
            taken = choose_words(candidates, continues, counts, draws.order)
        else:
            taken = choose_spans(
                candidates, continues, counts, draws.anchor, draws.span
            )
        # A number past every position keeps the unused places at the end.
        ranked = np.where(taken > 0, np.arange(length), length)
        ranked = np.sort(ranked, axis=1)[:, :most]
        if masking.unit == "spans":
            kinds = _kinds_of_spans(taken, ranked, kinds)
    chosen = np.zeros((len(token_ids), masking.max_predictions), dtype=bool)
    chosen[:, :most] = ranked < length
    positions = np.zeros(chosen.shape, dtype=np.int32)
    positions[:, :most] = np.where(ranked < length, ranked, 0)
    labels = np.take_along_axis(token_ids, positions, axis=1)
    labels = np.where(chosen, labels, 0).astype(np.int32)

    masked = token_ids.copy()
    sequence, place = np.nonzero(chosen)
    kind = kinds[sequence, place]
    new = labels[sequence, place]
    is_mask = kind < masking.mask_token_rate
    is_random = ~is_mask & (
        kind < masking.mask_token_rate + masking.random_token_rate
    )
    new = np.where(is_random, draws.token[sequence, place], new)
    new[is_mask] = mask_token_id
    masked[sequence, positions[sequence, place]] = new
    return masked, positions, labels, chosen


def _chosen_pieces(candidates, counts, order, most):
    """Columns of the chosen pieces, ascending, then numbers past the end."""
    order = np.where(candidates, order, np.float32(2))
    ranked = np.argsort(order, axis=1)[:, :most]
    ranked[np.arange(most) >= counts[:, None]] = candidates.shape[1]
    ranked.sort(axis=1)
    return ranked


def _kinds_of_spans(spans, ranked, kinds):
    """The random number of each place, one and the same within a span."""
    last = spans.shape[1] - 1
    number = np.take_along_axis(spans, np.minimum(ranked, last), axis=1)
    result = kinds.copy()
    result[:, : ranked.shape[1]] = np.take_along_axis(
        kinds, (number - 1) % kinds.shape[1], axis=1
    )
    return result
