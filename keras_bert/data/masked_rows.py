"""A planned window -> rows of arrays: copied, masked and laid out."""

import numpy as np

from keras_bert.data import generators
from keras_bert.data.masking import Draws
from keras_bert.data.masking import draw
from keras_bert.data.masking import mask
from keras_bert.data.row_layout import assemble


def masked_rows(window, settings, tokenizer):
    """The rows of a window.

    Args:
        window: a `Window`.
        settings: as of `windows_of`.
        tokenizer: special ids and vocabulary.

    Returns a dict of arrays, a row each: token_ids, segment_ids,
    padding_mask, mask_positions, mask_ids, mask_weights, cls_positions and,
    for pairs, next_sentence and next_sentence_weights.
    """
    masking, layout = settings.masking, window.layout
    corpus = window.shard.corpus
    token_ids, segment_ids, candidates = assemble(
        corpus.ids,
        window.sequences,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.pad_token_id,
    )
    for special in _never_masked(tokenizer):
        candidates &= token_ids != special
    continues = None
    if masking.unit != "pieces":
        if corpus.continues is None:
            continues = later_pieces(tokenizer)[token_ids]
        else:
            continues = assemble(corpus.continues, window.sequences, 0, 0, 0)[
                0
            ].astype(bool)
    draws = [
        draw(
            rng,
            count,
            settings.sequence_length,
            len(tokenizer.vocabulary),
            masking,
        )
        for rng, count in zip(
            window.generators(settings.seed, generators.MASKS),
            window.sequence_counts,
            strict=True,
        )
    ]
    draws = Draws(*map(np.concatenate, zip(*draws, strict=True)))
    draws = draws._replace(order=draws.order[:, : token_ids.shape[1]])
    token_ids, positions, labels, chosen = mask(
        token_ids,
        candidates,
        window.counts,
        draws,
        tokenizer.mask_token_id,
        masking,
        continues,
    )
    rows = {}
    rows["token_ids"], rows["segment_ids"] = layout.columns(
        [token_ids, segment_ids], [tokenizer.pad_token_id, 0]
    )
    rows["padding_mask"] = layout.sequence_numbers()
    rows["mask_positions"], rows["mask_ids"], rows["mask_weights"] = (
        layout.slots(positions, labels, chosen, masking.max_predictions)
    )
    size = settings.max_sequences_per_row
    rows["cls_positions"], weights = layout.places(layout.column_of, size)
    if settings.segments == "pairs":
        rows["next_sentence"], _ = layout.places(window.sequences[:, 4], size)
        rows["next_sentence_weights"] = weights
    return rows


def later_pieces(tokenizer):
    """Bool per token: whether it goes on a word (begins with ##)."""
    return np.array(
        [
            token.startswith("##") and len(token) > 2
            for token in tokenizer.vocabulary
        ]
    )


def _never_masked(tokenizer):
    # Special tokens that a text itself may bring in. [UNK] is an ordinary
    # token here, as it is in the original.
    return {
        tokenizer.pad_token_id,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.mask_token_id,
    }
