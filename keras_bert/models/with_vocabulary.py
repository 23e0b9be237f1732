"""A pretrained model under another, usually larger, vocabulary."""

import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert.models.bert_backbone import BertBackbone
from keras_bert.models.bert_pretrainer import BertPretrainer

# Ends of the paths of variables with a row for each token.
_ROWS = ("token_embedding/embeddings", "mlm_head/output_bias")


def with_vocabulary(model, tokenizer):
    """The pretrainer with a row for each token of `tokenizer`.

    A token that both vocabularies have keeps its row, wherever it stands; the
    rows of the others are drawn anew, as at the start of training. All other
    variables are copied. With the same tokens the model is returned itself.

    Args:
        model: a `BertPretrainer` of `from_preset`, with its tokenizer.
        tokenizer: the `BertTokenizer` to go on with.

    Returns:
        (model, notes), the notes being sentences on what was kept and drawn.

    Raises:
        ValueError: if the model comes without a tokenizer and has another
            number of rows, or if no token is in both vocabularies.

    Example:

    ```python
    model = keras_bert.BertPretrainer.from_preset(SOURCE)
    model, notes = keras_bert.models.with_vocabulary(model, tokenizer)
    ```
    """
    new = list(tokenizer.vocabulary)
    old = None if model.tokenizer is None else list(model.tokenizer.vocabulary)
    if old is None:
        if model.backbone.vocabulary_size != len(new):
            raise invalid(
                "tokenizer",
                f"one of {model.backbone.vocabulary_size} tokens (the model "
                "has no vocabulary of its own to compare with)",
                f"{len(new)} tokens",
            )
        old = new
    if new == old:
        model.preprocessor = model._as_preprocessor(tokenizer)
        return model, []
    # The first of two equal tokens counts, as in the tokenizer.
    number = {token: place for place, token in reversed(list(enumerate(old)))}
    kept = [(row, number[token]) for row, token in enumerate(new)
            if token in number]  # fmt: skip
    if not kept:
        raise invalid(
            "tokenizer", "a vocabulary that shares tokens", f"{new[:5]}..."
        )
    backbone = BertBackbone.from_config(
        {**model.backbone.get_config(), "vocabulary_size": len(new)}
    )
    grown = BertPretrainer(
        backbone,
        tokenizer,
        next_sentence=model.next_sentence,
        dtype=model.dtype_policy,
    )
    rows, places = np.array(kept).T
    for target, source in zip(grown.weights, model.weights, strict=True):
        value = ops.convert_to_numpy(source)
        if target.path.endswith(_ROWS):
            fresh = np.array(ops.convert_to_numpy(target))
            fresh[rows] = value[places]
            value = fresh
        target.assign(value)
    grown.load_report = model.load_report
    return grown, _notes(new, set(number), set(new), old)


def _notes(new, known, wanted, old):
    added = [token for token in new if token not in known]
    lost = [token for token in old if token not in wanted]
    notes = [
        f"vocabulary: {len(new) - len(added):,} of {len(new):,} tokens keep "
        "their rows"
    ]
    if added:
        notes.append(
            f"vocabulary: {len(added):,} tokens have newly initialised rows: "
            f"{_listed(added)}"
        )
    if lost:
        notes.append(
            f"vocabulary: {len(lost):,} tokens of the checkpoint are left "
            f"out: {_listed(lost)}"
        )
    return notes


def _listed(tokens):
    more = f" and {len(tokens) - 8:,} more" if len(tokens) > 8 else ""
    return ", ".join(tokens[:8]) + more
