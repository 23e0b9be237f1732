"""Scores of the vocabulary at the masked positions."""

import keras
from keras import ops

from keras_bert._backend import gather_rows
from keras_bert._backend import vocabulary_scores
from keras_bert.layers import _parts
from keras_bert.layers.id_checks import check_ids


class _Untracked:
    """Holds an object that belongs to someone else."""

    def __init__(self, value):
        self.value = value


class _TiedDecoder(keras.layers.Layer):
    """Product with the token table, plus a bias, in float32.

    A layer of its own only for its policy: inside it Keras hands out both
    variables uncast under every policy of the model. It owns neither.
    """

    def __init__(self, token_embedding, model_dtype, **kwargs):
        super().__init__(dtype="float32", **kwargs)
        self._token_embedding = _Untracked(token_embedding)
        self._bias = None
        self._model_dtype = model_dtype

    def tie(self, bias):
        self._bias = _Untracked(bias)
        self.built = True

    def call(self, x):
        table = ops.convert_to_tensor(self._token_embedding.value.embeddings)
        bias = ops.convert_to_tensor(self._bias.value)
        return vocabulary_scores(x, table, bias, self._model_dtype)


@keras.saving.register_keras_serializable("keras_bert")
class MaskedLMHead(keras.layers.Layer):
    """The masked-language-model head.

    Gathers the masked positions first, so that only they pay for the
    vocabulary; then dense, activation, LayerNorm, and the product with the
    token table of the backbone (tied: the head reads the table and does not
    own it) plus a bias. Logits are float32 under every dtype policy.

    A functional model of a backbone and this head computes and trains, but
    Keras cannot tie the two again when it loads one from a `.keras` file:
    use `keras_bert.BertMaskedLM`, or a subclassed model, to save.

    Args:
        token_embedding: `keras.layers.Embedding`. The backbone's
            `token_embedding`, whose table decodes.
        activation: str. The backbone's activation.
        layer_norm_epsilon: float. The backbone's.
        initializer_range: float. Standard deviation of the truncated normal.
        **kwargs: `name`, `dtype`, `trainable` of a Keras layer.

    Call arguments:
        sequence_output: float `[batch, length, hidden_dim]`.
        mask_positions: int `[batch, masks]`, columns of the masked tokens;
            `None` scores every position.

    Returns float32 logits `[batch, masks, vocabulary_size]`.

    Raises:
        ValueError: an unknown `activation`; a position outside the row.

    Example:

    ```python
    backbone = keras_bert.BertBackbone.from_config_name("bert_tiny")
    head = keras_bert.layers.MaskedLMHead(backbone.token_embedding)
    out = backbone({"token_ids": np.array([[2, 7, 4, 3]])})
    head(out["sequence_output"], mask_positions=np.array([[2]]))
    ```

    Source: Devlin et al., 2018, https://arxiv.org/abs/1810.04805, section
    3.1, task 1.
    """

    def __init__(
        self,
        token_embedding,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._token_embedding = _Untracked(token_embedding)
        self.vocabulary_size = token_embedding.input_dim
        self.hidden_dim = token_embedding.output_dim
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.intermediate_dense = keras.layers.Dense(
            self.hidden_dim,
            activation=_parts.activation_function(activation),
            kernel_initializer=_parts.initializer(initializer_range),
            dtype=self.dtype_policy,
            name="intermediate_dense",
        )
        self.intermediate_layer_norm = _parts.layer_norm(
            layer_norm_epsilon, self.dtype_policy, "intermediate_layer_norm"
        )
        self._decoder = _TiedDecoder(
            token_embedding, self.compute_dtype, name="decoder"
        )

    @property
    def token_embedding(self):
        """The layer whose table decodes; it belongs to the backbone.

        Found here by Keras' saving, so that a head saved without its backbone
        still comes back with the table.
        """
        return self._token_embedding.value

    def build(self, sequence_output_shape=None, mask_positions_shape=None):
        hidden = (None, None, self.hidden_dim)
        if not self.token_embedding.built:
            self.token_embedding.build(None)
        self.intermediate_dense.build(hidden)
        self.intermediate_layer_norm.build(hidden)
        self.output_bias = self.add_weight(
            shape=(self.vocabulary_size,),
            initializer="zeros",
            name="output_bias",
        )
        self._decoder.tie(self.output_bias)
        self.built = True

    def call(self, sequence_output, mask_positions=None):
        x = sequence_output
        if mask_positions is not None:
            check_ids({"mask_positions": mask_positions}, length=x.shape[1])
            x = gather_rows(x, ops.cast(mask_positions, "int32"))
        x = self.intermediate_layer_norm(self.intermediate_dense(x))
        return self._decoder(x)

    def compute_output_spec(self, sequence_output, mask_positions=None):
        rows = sequence_output if mask_positions is None else mask_positions
        shape = (*rows.shape[:2], self.vocabulary_size)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        return {
            **super().get_config(),
            "token_embedding": keras.saving.serialize_keras_object(
                self.token_embedding
            ),
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config["token_embedding"], dict):
            config["token_embedding"] = keras.saving.deserialize_keras_object(
                config["token_embedding"]
            )
        return cls(**config)
