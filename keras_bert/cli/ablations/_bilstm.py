"""A bidirectional LSTM on top of an encoder, for one row of table 5."""

import keras
from keras import ops

from keras_bert.layers.packing import last_columns
from keras_bert.models import BertBackbone


class BiLstmBackbone(BertBackbone):
    """An encoder whose outputs go through a new bidirectional LSTM.

    It lends a left-to-right encoder some context from the right at
    fine-tuning. The pooled output reads where each direction has seen all:
    the last column forwards, the first backwards.
    """

    def build(self, input_shape=None):
        self.bilstm = keras.layers.Bidirectional(
            keras.layers.LSTM(self.hidden_dim // 2, return_sequences=True),
            name="bilstm",
        )
        self.bilstm.build((None, None, self.hidden_dim))
        super().build(input_shape)

    def call(self, inputs, training=None, details=None, positions=None):
        # Whatever a head wants, the LSTMs read all columns.
        outputs = super().call(inputs, training=training, details=details)
        if details is not None:
            return outputs
        numbers = inputs.get("padding_mask")
        if numbers is None:
            numbers = ops.ones_like(inputs["token_ids"])
        x = self.bilstm(
            outputs["sequence_output"],
            mask=ops.not_equal(numbers, 0),
            training=training,
        )
        outputs = {**outputs, "sequence_output": x}
        if self.pooled_dense is not None:
            half = self.hidden_dim // 2
            last = last_columns(numbers)[:, None, None]
            forward = ops.take_along_axis(x[:, :, :half], last, axis=1)[:, 0]
            ends = ops.concatenate([forward, x[:, 0, half:]], axis=-1)
            outputs["pooled_output"] = self.pooled_dense(ends)
        return outputs
