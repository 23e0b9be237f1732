"""The `serving_default` signature of models that fill masks.

    text    ["the [MASK] ran", "[MASK] and [MASK]"]
    token   [batch, masks, 5]    the likeliest tokens, best first
    score   [batch, masks, 5]    their probabilities

Texts with fewer masks than others have "" and 0 in the places left over. The
mask token is recognised where it is written; any other special token is plain
text.
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.export.signature import Signature
from keras_bert.export.signature import assert_all
from keras_bert.export.windows import joined_rows

TOP_K = 5


def mask_signature(tokenizer, longest, logits_of):
    """The signature `text` of a masked language model.

    Args:
        tokenizer: a `BertTokenizer`.
        longest: int, the longest row the model reads.
        logits_of: callable from a dict of rows with `mask_positions` to
            logits `[batch, masks, vocabulary]`.
    """
    tf = tensorflow()
    tensorflow_text()
    mask = tokenizer.id_to_token(tokenizer.mask_token_id)

    def serve(text):
        rows = _rows(tokenizer, mask, longest, text)
        positions = rows["mask_positions"]
        rows["mask_positions"] = positions.to_tensor()
        # The table may have more rows than the vocabulary has words.
        size = tokenizer.vocabulary_size()
        scores = tf.nn.softmax(logits_of(rows)[..., :size])
        score, best = tf.math.top_k(scores, min(TOP_K, size))
        token = tf.gather(tf.constant(tokenizer.vocabulary), best)
        real = tf.ones_like(positions, tf.bool).to_tensor()[..., None]
        return {
            "token": tf.where(real, token, ""),
            "score": tf.where(real, score, 0.0),
        }

    strings = tf.TensorSpec([None], tf.string, name="text")
    function = tf.function(serve, input_signature=[strings], autograph=False)
    return Signature(function, {"text": [f"warm {mask}"]})


def _rows(tokenizer, mask, longest, text):
    """Padded rows; `mask_positions` still ragged."""
    tf = tensorflow()
    parts = tf.strings.split(text, mask)
    pieces = tokenizer(parts.values)
    # A mask before each part but the first of a text.
    first = tf.ragged.range(parts.row_lengths()).values == 0
    masks = tf.RaggedTensor.from_row_lengths(
        tf.fill([tf.math.count_nonzero(~first)], tokenizer.mask_token_id),
        tf.cast(~first, tf.int64),
    )
    pieces = tf.concat([masks, pieces], axis=1)
    ids = tf.RaggedTensor.from_row_splits(
        pieces.values, tf.gather(pieces.row_splits, parts.row_splits)
    )
    # Behind [CLS].
    columns = 1 + tf.cast(tf.ragged.range(ids.row_lengths()), tf.int32)
    positions = tf.ragged.boolean_mask(
        columns, ids.with_values(ids.values == tokenizer.mask_token_id)
    )
    lengths = ids.row_lengths() + 2
    checks = [
        assert_all(
            positions.row_lengths() > 0,
            "Invalid value received for argument `text`. Expected texts with "
            f"{mask}. Received (masks per text):",
            positions.row_lengths(),
        ),
        assert_all(
            lengths <= longest,
            "Invalid value received for argument `text`. Expected at most "
            f"{longest} tokens with [CLS] and [SEP], the length of the "
            "position table. Received (tokens per text):",
            lengths,
        ),
    ]
    # All of them: positions are looked up by the mask alone, and that look-up
    # would fail first, in words of its own.
    with tf.control_dependencies(checks):
        rows = joined_rows(tokenizer, [ids])
        rows["mask_positions"] = positions.with_values(
            tf.identity(positions.values)
        )
    return rows
