"""One block of the encoder."""

import keras

from keras_bert._backend import gather_rows
from keras_bert._backend import normalize
from keras_bert._backend import project
from keras_bert.layers import _parts
from keras_bert.layers.bert_self_attention import BertSelfAttention


@keras.saving.register_keras_serializable("keras_bert")
class BertEncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward network, each with residual and norm.

    The LayerNorm follows the residual sum (post-norm), as in the original.
    Dropout stands before each residual sum and on the attention weights.

    Args:
        num_heads: int. Must divide `hidden_dim`.
        hidden_dim: int. Width of input and output.
        intermediate_dim: int. Width of the feed-forward network.
        dropout: float. Rate before each residual sum.
        attention_dropout: float. Rate on the attention weights.
        activation: str. "gelu" (erf), "gelu_approximate" (tanh; also
            "gelu_new", "gelu_pytorch_tanh"), "relu", "tanh" or "linear".
        layer_norm_epsilon: float.
        initializer_range: float. Standard deviation of the truncated normal.
        **kwargs: `name`, `dtype`, `trainable` of a Keras layer.

    Call arguments:
        inputs: float `[batch, length, hidden_dim]`.
        attention_mask: bool `[batch, length, length]`, True where the
            position of the second axis sees that of the third.
        return_attention_scores: bool. Return the pair of output and weights
            (float32 `[batch, num_heads, length, length]`).
        columns: `None`, or int32 `[batch, n]`, the positions to compute the
            output of; `attention_mask` is then `[batch, n, length]`.

    Returns a float tensor `[batch, length, hidden_dim]`, or
    `[batch, n, hidden_dim]` with `columns`.

    Raises:
        ValueError: `hidden_dim` is not a multiple of `num_heads`, an unknown
            `activation`, or a dropout rate outside [0, 1).

    Example:

    ```python
    block = keras_bert.layers.BertEncoderBlock(
        num_heads=2, hidden_dim=8, intermediate_dim=16
    )
    mask = keras_bert.layers.attention_mask(np.array([[1, 1, 0]]))
    block(np.ones((1, 3, 8), "float32"), mask)
    ```

    Source: Devlin et al., 2018, https://arxiv.org/abs/1810.04805.
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        attention_dropout=0.1,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = _parts.check_size("num_heads", num_heads)
        self.hidden_dim = _parts.check_size("hidden_dim", hidden_dim)
        self.intermediate_dim = _parts.check_size(
            "intermediate_dim", intermediate_dim
        )
        self.dropout_rate = _parts.check_rate("dropout", dropout)
        self.attention_dropout = _parts.check_rate(
            "attention_dropout", attention_dropout
        )
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

        policy = self.dtype_policy
        self.self_attention = BertSelfAttention(
            num_heads,
            hidden_dim,
            dropout=attention_dropout,
            initializer_range=initializer_range,
            dtype=policy,
            name="self_attention",
        )
        self.self_attention_layer_norm = _parts.layer_norm(
            layer_norm_epsilon, policy, "self_attention_layer_norm"
        )
        self.feedforward_intermediate_dense = keras.layers.Dense(
            self.intermediate_dim,
            activation=_parts.activation_function(activation),
            kernel_initializer=_parts.initializer(initializer_range),
            dtype=policy,
            name="feedforward_intermediate_dense",
        )
        self.feedforward_output_dense = keras.layers.Dense(
            self.hidden_dim,
            kernel_initializer=_parts.initializer(initializer_range),
            dtype=policy,
            name="feedforward_output_dense",
        )
        self.feedforward_layer_norm = _parts.layer_norm(
            layer_norm_epsilon, policy, "feedforward_layer_norm"
        )
        self.self_attention_dropout = _parts.Dropout(
            self.dropout_rate, dtype=policy, name="self_attention_dropout"
        )
        self.feedforward_dropout = _parts.Dropout(
            self.dropout_rate, dtype=policy, name="feedforward_dropout"
        )

    def build(self, input_shape=None):
        hidden = (None, None, self.hidden_dim)
        self.self_attention.build()
        self.self_attention_dropout.build()
        self.self_attention_layer_norm.build(hidden)
        self.feedforward_intermediate_dense.build(hidden)
        self.feedforward_output_dense.build((None, None, self.intermediate_dim))
        self.feedforward_dropout.build()
        self.feedforward_layer_norm.build(hidden)
        self.built = True

    def call(
        self,
        inputs,
        attention_mask,
        training=None,
        return_attention_scores=False,
        columns=None,
    ):
        scores = None
        x = self.self_attention(
            inputs,
            attention_mask,
            training=training,
            return_attention_scores=return_attention_scores,
            columns=columns,
        )
        if columns is not None:
            inputs = gather_rows(inputs, columns)
        if return_attention_scores:
            x, scores = x
        # By `call`: what Keras does around it costs torch 100 microseconds,
        # the work itself 50 on a short sentence.
        x = self.self_attention_dropout.call(x, training=training)
        attended = normalize(self.self_attention_layer_norm, inputs + x)
        x = project(self.feedforward_intermediate_dense, attended)
        x = project(self.feedforward_output_dense, x)
        x = self.feedforward_dropout.call(x, training=training)
        x = normalize(self.feedforward_layer_norm, attended + x)
        return (x, scores) if return_attention_scores else x

    def compute_output_spec(self, *args, **kwargs):
        return self.self_attention.compute_output_spec(*args, **kwargs)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout_rate,
            "attention_dropout": self.attention_dropout,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }
