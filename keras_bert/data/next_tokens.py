"""Masked batches -> batches in which every token is predicted from the left.

    token_ids        [CLS] the fox . [SEP]    the masked tokens put back
    mask_positions     0    1   2  3   4      every column
    mask_ids          the  fox  . [SEP] -     the token of the next column
    weight             1    1   1  1   0      0 at the end of each sequence

The objective of left-to-right language models, for a backbone built with
`causal=True`. Pairs, packing and order are those of the masked batches, so
both objectives can be compared on the same text in the same order.

Source: Devlin et al. (2018), section 5.1, "LTR & No NSP".
"""

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow


def next_tokens(dataset):
    """A `pretraining_dataset` without pairs as one of next tokens.

    Args:
        dataset: what `pretraining_dataset(..., next_sentence=False)` gives.
    """
    if isinstance(dataset.element_spec[1], dict):
        raise invalid(
            "dataset", "one made with next_sentence=False", "one with pairs"
        )
    tf = tensorflow()
    mapped = dataset.map(_next_tokens, num_parallel_calls=tf.data.AUTOTUNE)
    mapped = mapped.prefetch(2)
    mapped.keras_bert_epoch = dataset.keras_bert_epoch
    return mapped


def _next_tokens(x, labels, weight):
    tf = tensorflow()
    ids, numbers = x["token_ids"], x["padding_mask"]
    rows, length = ids.shape
    chosen = tf.where(weight > 0)
    places = tf.stack(
        [
            tf.cast(chosen[:, 0], tf.int32),
            tf.gather_nd(x["mask_positions"], chosen),
        ],
        axis=1,
    )
    ids = tf.tensor_scatter_nd_update(ids, places, tf.gather_nd(labels, chosen))
    following = tf.roll(numbers, -1, axis=1)
    inside = (numbers == following) & (numbers > 0)
    # The first column follows the last by the roll only.
    inside &= tf.range(length) < length - 1
    x = {
        **x,
        "token_ids": ids,
        "mask_positions": tf.tile(tf.range(length)[None], [rows, 1]),
    }
    return x, tf.roll(ids, -1, axis=1), tf.cast(inside, tf.float32)
