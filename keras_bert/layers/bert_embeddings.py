"""Token, segment and position embeddings."""

import keras
from keras import ops

from keras_bert._backend import look_up
from keras_bert._backend import normalize
from keras_bert.layers import _parts
from keras_bert.layers.packing import positions


@keras.saving.register_keras_serializable("keras_bert")
class BertEmbeddings(keras.layers.Layer):
    """Sum of token, segment and position embedding, LayerNorm, dropout.

    A token's position is its column minus the first column with its number
    in `padding_mask`, so that packed sequences each count from 0.

    Args:
        vocabulary_size: int. Rows of the token table.
        hidden_dim: int. Width of all tables.
        max_sequence_length: int. Rows of the position table.
        num_segments: int. Rows of the segment table.
        dropout: float. Rate after the LayerNorm.
        layer_norm_epsilon: float.
        initializer_range: float. Standard deviation of the truncated normal
            from which the tables are drawn.
        **kwargs: `name`, `dtype`, `trainable` of a Keras layer.

    Call arguments:
        token_ids: int `[batch, length]`, each below `vocabulary_size`.
        segment_ids: int `[batch, length]`, each below `num_segments`;
            `None` is all 0.
        padding_mask: int `[batch, length]`: 0 padding, k the k-th sequence
            of the row; `None` is all 1.

    Returns a float tensor `[batch, length, hidden_dim]`.

    Raises:
        ValueError: a size below 1, or a dropout rate outside [0, 1).

    Example:

    ```python
    layer = keras_bert.layers.BertEmbeddings(vocabulary_size=30, hidden_dim=8)
    layer(np.array([[2, 7, 3, 0]]), padding_mask=np.array([[1, 1, 1, 0]]))
    ```

    Source: Devlin et al., 2018, https://arxiv.org/abs/1810.04805, section 3.
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        max_sequence_length=512,
        num_segments=2,
        dropout=0.1,
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check = _parts.check_size
        self.vocabulary_size = check("vocabulary_size", vocabulary_size)
        self.hidden_dim = check("hidden_dim", hidden_dim)
        self.max_sequence_length = check(
            "max_sequence_length", max_sequence_length
        )
        self.num_segments = check("num_segments", num_segments)
        self.dropout_rate = _parts.check_rate("dropout", dropout)
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

        self.token_embedding = self._table(vocabulary_size, "token_embedding")
        self.segment_embedding = self._table(num_segments, "segment_embedding")
        self.position_embedding = self._table(
            max_sequence_length, "position_embedding"
        )
        self.layer_norm = _parts.layer_norm(
            layer_norm_epsilon, self.dtype_policy, "layer_norm"
        )
        self.dropout = _parts.Dropout(
            self.dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def _table(self, rows, name):
        return keras.layers.Embedding(
            rows,
            self.hidden_dim,
            embeddings_initializer=_parts.initializer(self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, input_shape=None):
        self.token_embedding.build(None)
        self.segment_embedding.build(None)
        self.position_embedding.build(None)
        self.layer_norm.build((None, None, self.hidden_dim))
        self.dropout.build()
        self.built = True

    def call(
        self, token_ids, segment_ids=None, padding_mask=None, training=None
    ):
        if segment_ids is None:
            segment_ids = ops.zeros_like(token_ids)
        if padding_mask is None:
            padding_mask = ops.ones_like(token_ids)
        x = look_up(self.token_embedding, token_ids)
        x = x + self.segment_embedding(segment_ids)
        x = x + self.position_embedding(positions(padding_mask))
        return self.dropout.call(
            normalize(self.layer_norm, x), training=training
        )

    def compute_output_spec(self, token_ids, *args, **kwargs):
        return keras.KerasTensor(
            (*token_ids.shape, self.hidden_dim), dtype=self.compute_dtype
        )

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "max_sequence_length": self.max_sequence_length,
            "num_segments": self.num_segments,
            "dropout": self.dropout_rate,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }
