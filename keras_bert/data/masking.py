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


class Masking(NamedTuple):
    """How to mask. The defaults are those of BERT.

    Args:
        mask_rate: share of a sequence's tokens, special ones counted, that
            are chosen.
        mask_token_rate: share of the chosen ones that become [MASK].
        random_token_rate: share of the chosen ones that become a random
            token of the whole vocabulary; the rest stays as it is.
        max_predictions: the most tokens chosen in a sequence.
    """

    mask_rate: float = 0.15
    mask_token_rate: float = 0.8
    random_token_rate: float = 0.1
    max_predictions: int = 20

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


class Draws(NamedTuple):
    """Random numbers for masking; one row per sequence."""

    order: np.ndarray  # float32 [sequences, length]
    kind: np.ndarray  # float32 [sequences, max_predictions]
    token: np.ndarray  # int32 [sequences, max_predictions]


def draw(rng, sequences, length, vocabulary_size, masking):
    """The random numbers that masking so many sequences takes."""
    shape = (sequences, masking.max_predictions)
    return Draws(
        rng.random((sequences, length), dtype=np.float32),
        rng.random(shape, dtype=np.float32),
        rng.integers(0, vocabulary_size, shape, dtype=np.int32),
    )


def mask_counts(lengths, masking):
    """How many tokens to choose in sequences of these lengths.

    At least one, and halves round to the even number, as Python's `round`
    does in the original: 10 tokens give 2 (1.5), 30 give 4 (4.5).
    """
    wanted = np.rint(np.asarray(lengths) * masking.mask_rate).astype(np.int64)
    at_least = 1 if masking.mask_rate else 0
    return np.clip(wanted, at_least, masking.max_predictions)


def mask(token_ids, candidates, counts, draws, mask_token_id, masking):
    """Choose and replace tokens.

    Args:
        token_ids: int array `[sequences, length]`.
        candidates: bool array of the same shape: what may be chosen.
        counts: int array `[sequences]`: how many to choose.
        draws: `Draws` for these sequences.
        mask_token_id: the id of [MASK].
        masking: the `Masking` settings.

    Returns:
        masked ids `[sequences, length]`, positions, labels (int32) and chosen
        (bool), the last three `[sequences, max_predictions]`. Where nothing
        is chosen position and label are 0.
    """
    width = min(masking.max_predictions, token_ids.shape[1])
    order = np.where(candidates, draws.order, np.float32(2))
    ranked = np.argsort(order, axis=1)[:, :width]
    counts = np.minimum(counts, candidates.sum(axis=1))
    beyond = np.arange(width) >= counts[:, None]
    # A number past every position keeps the unused places at the end.
    ranked[beyond] = token_ids.shape[1]
    ranked.sort(axis=1)
    chosen = np.zeros((len(token_ids), masking.max_predictions), dtype=bool)
    chosen[:, :width] = ~beyond
    positions = np.zeros(chosen.shape, dtype=np.int32)
    positions[:, :width] = np.where(beyond, 0, ranked)
    labels = np.take_along_axis(token_ids, positions, axis=1)
    labels = np.where(chosen, labels, 0).astype(np.int32)

    masked = token_ids.copy()
    sequence, place = np.nonzero(chosen)
    kind = draws.kind[sequence, place]
    new = labels[sequence, place]
    is_mask = kind < masking.mask_token_rate
    is_random = ~is_mask & (
        kind < masking.mask_token_rate + masking.random_token_rate
    )
    new = np.where(is_random, draws.token[sequence, place], new)
    new[is_mask] = mask_token_id
    masked[sequence, positions[sequence, place]] = new
    return masked, positions, labels, chosen
