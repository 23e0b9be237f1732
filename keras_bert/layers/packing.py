"""The one rule for padding and packing.

A padding mask holds, per position, 0 for padding or the number k >= 1 of the
sequence of the row that the position belongs to; an ordinary padded batch is
the case of one sequence:

    padding_mask     1  1  1  2  2  0
    positions        0  1  2  0  1  0
    attention_mask   1  1  1  .  .  .      a position sees the positions
                     1  1  1  .  .  .      with its own non-zero number
                     1  1  1  .  .  .
                     .  .  .  1  1  .
                     .  .  .  1  1  .
                     .  .  .  .  .  .

Numbers are compared, never summed or multiplied. The functions are plain
`keras.ops` and cost length x length integers per row, once per forward pass.
"""

from keras import ops

from keras_bert._backend import gather_rows


def attention_mask(padding_mask, causal=False, columns=None):
    """Bool [batch, length, length]: which position (row) sees which.

    With `causal` a position sees itself and those to its left only. With
    `columns`, int32 [batch, n], only the rows of these positions are
    returned: [batch, n, length].
    """
    numbers = ops.cast(padding_mask, "int32")
    rows = ops.expand_dims(numbers, 2)
    if columns is not None:
        rows = gather_rows(rows, columns)
    mask = ops.logical_and(
        ops.equal(rows, ops.expand_dims(numbers, 1)), ops.not_equal(rows, 0)
    )
    if causal:
        every = ops.arange(ops.shape(numbers)[1], dtype="int32")[None, :]
        seen_from = every if columns is None else columns
        mask = ops.logical_and(
            mask, ops.greater_equal(seen_from[:, :, None], every[:, None, :])
        )
    return mask


def last_columns(padding_mask):
    """Int32 [batch]: the last column that belongs to any sequence."""
    numbers = ops.cast(padding_mask, "int32")
    columns = ops.arange(ops.shape(numbers)[1], dtype="int32")
    return ops.max(ops.where(numbers != 0, columns[None, :], 0), axis=-1)


def positions(padding_mask):
    """Int32 [batch, length]: column minus the first column of its sequence.

    In a right-padded row this is the column itself, as in the original; it
    differs from transformers only in left-padded rows, which count from
    their first token here.
    """
    numbers = ops.cast(padding_mask, "int32")
    same = ops.equal(ops.expand_dims(numbers, 2), ops.expand_dims(numbers, 1))
    # argmax gives the first of equal maxima. A running minimum would need
    # an associative scan, which JAX cannot export with a dynamic length.
    first = ops.argmax(ops.cast(same, "int32"), axis=-1)
    columns = ops.arange(ops.shape(numbers)[1], dtype="int32")
    return columns[None, :] - ops.cast(first, "int32")
