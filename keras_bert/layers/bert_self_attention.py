"""Multi-head self-attention with query, key and value in one product."""

import keras
from keras import ops

from keras_bert import _backend
from keras_bert._errors import invalid
from keras_bert.layers import _parts


@keras.saving.register_keras_serializable("keras_bert")
class BertSelfAttention(keras.layers.Layer):
    """Multi-head self-attention.

    Query, key and value come from one matrix product. The fused kernel of
    the backend is used whenever attention dropout is inactive. Attention
    weights are computed in float32; a masked position has the weight 0.

    Args:
        num_heads: int. Must divide `hidden_dim`.
        hidden_dim: int. Width of input and output.
        dropout: float. Rate on the attention weights.
        initializer_range: float. Standard deviation of the truncated normal.
        **kwargs: `name`, `dtype`, `trainable` of a Keras layer.

    Call arguments:
        inputs: float `[batch, length, hidden_dim]`.
        attention_mask: bool `[batch, length, length]`, True where the
            position of the second axis sees that of the third; see
            `keras_bert.layers.attention_mask`. A position that sees none
            gets only the bias of the output projection.
        columns: `None`, or int32 `[batch, n]`, the positions to compute the
            output of; `attention_mask` is then `[batch, n, length]`.
        return_attention_scores: bool. Return the pair of output and weights
            (float32 `[batch, num_heads, length, length]`).

    Returns a float tensor `[batch, length, hidden_dim]`, or
    `[batch, n, hidden_dim]` with `columns`.

    Raises:
        ValueError: `hidden_dim` is not a multiple of `num_heads`, or a
            dropout rate outside [0, 1).

    Example:

    ```python
    layer = keras_bert.layers.BertSelfAttention(num_heads=2, hidden_dim=8)
    mask = keras_bert.layers.attention_mask(np.array([[1, 1, 0]]))
    layer(np.ones((1, 3, 8), "float32"), mask)
    ```

    Source: Vaswani et al., 2017, https://arxiv.org/abs/1706.03762.
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        dropout=0.1,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = _parts.check_size("num_heads", num_heads)
        self.hidden_dim = _parts.check_size("hidden_dim", hidden_dim)
        if self.hidden_dim % self.num_heads:
            raise invalid(
                "hidden_dim", f"a multiple of num_heads={num_heads}", hidden_dim
            )
        self.dropout_rate = _parts.check_rate("dropout", dropout)
        self.initializer_range = initializer_range
        size = self.hidden_dim // self.num_heads
        self.query_key_value = keras.layers.EinsumDense(
            "bsh,hknd->bsknd",
            output_shape=(None, 3, self.num_heads, size),
            bias_axes="knd",
            kernel_initializer=_parts.initializer(initializer_range),
            dtype=self.dtype_policy,
            name="query_key_value",
        )
        self.attention_output = keras.layers.EinsumDense(
            "bsnd,ndh->bsh",
            output_shape=(None, self.hidden_dim),
            bias_axes="h",
            kernel_initializer=_parts.initializer(initializer_range),
            dtype=self.dtype_policy,
            name="attention_output",
        )
        self.dropout = _parts.Dropout(
            self.dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, input_shape=None):
        size = self.hidden_dim // self.num_heads
        self.query_key_value.build((None, None, self.hidden_dim))
        self.attention_output.build((None, None, self.num_heads, size))
        self.dropout.build()
        self.built = True

    def call(
        self,
        inputs,
        attention_mask,
        training=None,
        return_attention_scores=False,
        columns=None,
    ):
        attention_mask = ops.cast(attention_mask, "bool")
        x = _backend.project(self.query_key_value, inputs)
        # The gradient of unstacking is one concatenation; that of three
        # slices would be three arrays of zeros and their sum.
        query, key, value = ops.unstack(x, 3, axis=2)
        if columns is not None:
            query = _backend.gather_rows(query, columns)
        drops = training and self.dropout_rate > 0
        dropout = self.dropout if drops else None
        context = _backend.attention(query, key, value, attention_mask, dropout)
        output = _backend.project(self.attention_output, context)
        if not return_attention_scores:
            return output
        return output, _backend.attention_scores(query, key, attention_mask)

    def compute_output_spec(
        self,
        inputs,
        attention_mask,
        training=None,
        return_attention_scores=False,
        columns=None,
    ):
        if columns is not None:
            return keras.KerasTensor(
                (*columns.shape, self.hidden_dim), dtype=self.compute_dtype
            )
        output = keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        batch, length = inputs.shape[:2]
        scores = keras.KerasTensor(
            (batch, self.num_heads, length, length), dtype="float32"
        )
        return output, scores

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "dropout": self.dropout_rate,
            "initializer_range": self.initializer_range,
        }
