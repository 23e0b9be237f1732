"""The BERT encoder."""

import keras
from keras import ops

from keras_bert._backend import gather_rows
from keras_bert._errors import invalid
from keras_bert.export import Exportable
from keras_bert.layers import _parts
from keras_bert.layers.bert_embeddings import BertEmbeddings
from keras_bert.layers.bert_encoder_block import BertEncoderBlock
from keras_bert.layers.id_checks import check_ids
from keras_bert.layers.packing import attention_mask
from keras_bert.layers.packing import last_columns
from keras_bert.models._checked_ids import CheckedModel
from keras_bert.models._distributed import Distributed
from keras_bert.models._preset import BackbonePreset
from keras_bert.models.backbone_details import BackboneDetails
from keras_bert.models.sizes import size_arguments
from keras_bert.training.distribution import MultiWorker

# `mask_positions` belongs to the heads; a batch made for pretraining passes
# through the backbone as it is.
_INPUTS = (
    "token_ids",
    "segment_ids",
    "padding_mask",
    "cls_positions",
    "mask_positions",
)


@keras.saving.register_keras_serializable("keras_bert")
class BertBackbone(
    CheckedModel,
    BackbonePreset,
    Exportable,
    Distributed,
    MultiWorker,
    keras.Model,
):
    """The BERT encoder: embeddings, encoder blocks, pooler.

    Args:
        vocabulary_size: int. Number of token ids.
        num_layers: int. Number of encoder blocks.
        num_heads: int. Must divide `hidden_dim`.
        hidden_dim: int. Width of embeddings and blocks.
        intermediate_dim: int. Width of the feed-forward networks.
        dropout: float. Rate after the embeddings and before residual sums.
        attention_dropout: float. Rate on the attention weights.
        max_sequence_length: int. Rows of the position table.
        num_segments: int. Rows of the segment table.
        activation: str. "gelu" (erf), "gelu_approximate" (tanh; also
            "gelu_new", "gelu_pytorch_tanh"), "relu", "tanh" or "linear".
        layer_norm_epsilon: float.
        initializer_range: float. Standard deviation of the truncated normal
            from which all weights but biases and norms are drawn.
        pooler: bool. Whether there is a pooled output.
        causal: bool. Whether a position sees only itself and those to its
            left, as in left-to-right language models; the pooled output is
            then read at the last column of each row.
        **kwargs: `name`, `dtype`, `trainable` of a Keras model.

    Call arguments:
        inputs: dict of integer arrays. `token_ids` `[batch, length]` is
            required; the others may be absent or `None`: `segment_ids`
            `[batch, length]` (zeros), `padding_mask` `[batch, length]` (ones;
            0 is padding and k the k-th sequence of the row, see
            `keras_bert.layers.packing`), `cls_positions` `[batch, n]`, the
            columns to pool (column 0).
        positions: `None`, or int `[batch, m]`, the columns of
            `sequence_output` that are wanted; `()` for none of them. The last
            block is then computed only there and at the pooled columns, which
            changes no output and spares most of the work of a block.

    Returns a dict: `sequence_output` `[batch, length, hidden_dim]`
    (`[batch, m, hidden_dim]` with `positions`) and, with a pooler,
    `pooled_output` `[batch, n, hidden_dim]` (`[batch, hidden_dim]` without
    `cls_positions`).

    Raises:
        ValueError: a wrong argument; an unknown name in `inputs`; `()` as
            `positions` without a pooler; a token, segment or position that
            is out of range, or a row longer than `max_sequence_length`,
            wherever the values can be read.

    Example:

    ```python
    backbone = keras_bert.BertBackbone.from_config_name(
        "bert_tiny", vocabulary_size=1000
    )
    backbone({"token_ids": np.array([[2, 7, 4, 3]])})["pooled_output"]
    ```

    Source: Devlin et al., 2018, https://arxiv.org/abs/1810.04805;
    https://github.com/google-research/bert, modeling.py.
    """

    def __init__(
        self,
        vocabulary_size=30522,
        num_layers=12,
        num_heads=12,
        hidden_dim=768,
        intermediate_dim=3072,
        dropout=0.1,
        attention_dropout=0.1,
        max_sequence_length=512,
        num_segments=2,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        initializer_range=0.02,
        pooler=True,
        causal=False,
        **kwargs,
    ):
        # Numbers of sequences beyond 256 do not survive bfloat16, nor do ids:
        # Keras must not cast what comes in as float.
        super().__init__(autocast=False, **kwargs)
        self.vocabulary_size = vocabulary_size
        self.num_layers = _parts.check_size("num_layers", num_layers)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.pooler = bool(pooler)
        self.causal = bool(causal)

        self.embeddings = BertEmbeddings(
            vocabulary_size,
            hidden_dim,
            max_sequence_length=max_sequence_length,
            num_segments=num_segments,
            dropout=dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            dtype=self.dtype_policy,
            name="embeddings",
        )
        self.encoder_blocks = [
            BertEncoderBlock(
                num_heads,
                hidden_dim,
                intermediate_dim,
                dropout=dropout,
                attention_dropout=attention_dropout,
                activation=activation,
                layer_norm_epsilon=layer_norm_epsilon,
                initializer_range=initializer_range,
                dtype=self.dtype_policy,
                name=f"encoder_block_{i}",
            )
            for i in range(self.num_layers)
        ]
        self.pooled_dense = None
        if self.pooler:
            self.pooled_dense = keras.layers.Dense(
                hidden_dim,
                activation="tanh",
                kernel_initializer=_parts.initializer(initializer_range),
                dtype=self.dtype_policy,
                name="pooled_dense",
            )
        self._input = tuple(
            (name, keras.Input((None,), dtype="int32", name=name))
            for name in ("token_ids", "segment_ids", "padding_mask")
        )
        # All variables now: Keras writes and reads the variables of a model
        # that was never called only if they exist.
        self.build(None)
        if not self.trainable:
            # TensorFlow's tracking passes over an assignment that changes
            # nothing, and the layers would stay trainable.
            self.trainable = True
            self.trainable = False

    def build(self, input_shape=None):
        self.embeddings.build()
        for block in self.encoder_blocks:
            block.build()
        if self.pooled_dense is not None:
            self.pooled_dense.build((None, self.hidden_dim))
        self.built = True

    @classmethod
    def from_config_name(cls, name, **kwargs):
        """A randomly initialised backbone of a released size.

        Args:
            name: str. One of the 25 sizes: "bert_tiny", "bert_mini",
                "bert_small", "bert_medium", "bert_base", "bert_large", or
                "bert_l{layers}_h{width}" such as "bert_l6_h256".
            **kwargs: further arguments of the class.
        """
        return cls(**{**size_arguments(name), **kwargs})

    @property
    def input(self):
        """Dict of int32 `keras.Input`s, the same on every access."""
        return dict(self._input)

    @property
    def token_embedding(self):
        """The layer whose `embeddings` is the token table."""
        return self.embeddings.token_embedding

    def call(self, inputs, training=None, details=None, positions=None):
        inputs = self._complete(inputs)
        numbers = inputs["padding_mask"]
        mask = attention_mask(numbers, self.causal)
        x = self.embeddings(
            inputs["token_ids"],
            inputs["segment_ids"],
            inputs["padding_mask"],
            training=training,
        )
        if details is not None:
            return self._details(x, mask, training, details)
        for block in self.encoder_blocks[:-1]:
            x = block(x, mask, training=training)
        last = self.encoder_blocks[-1]
        pooled = self._pooled_columns(inputs) if self.pooler else None
        if positions is None:
            x = last(x, mask, training=training)
            outputs = {"sequence_output": x}
            rows = None if pooled is None else gather_rows(x, pooled)
        else:
            columns = self._wanted_columns(inputs, pooled, positions)
            mask = attention_mask(numbers, self.causal, columns)
            x = last(x, mask, training=training, columns=columns)
            count = 0 if pooled is None else ops.shape(pooled)[1]
            rows, outputs = x[:, :count], {"sequence_output": x[:, count:]}
        if self.pooler:
            if inputs["cls_positions"] is None:
                rows = rows[:, 0]
            outputs["pooled_output"] = self.pooled_dense(rows)
        return outputs

    def _pooled_columns(self, inputs):
        """Int32 [batch, n]: the columns that the pooler reads."""
        if inputs["cls_positions"] is not None:
            return inputs["cls_positions"]
        if self.causal:
            # The first column sees nothing but itself, the last sees all.
            return last_columns(inputs["padding_mask"])[:, None]
        return ops.zeros_like(inputs["token_ids"][:, :1])

    def _wanted_columns(self, inputs, pooled, positions):
        """Int32 [batch, n + m]: the pooled columns, then `positions`."""
        if isinstance(positions, tuple):
            if pooled is None:
                raise invalid("positions", "an array without a pooler", ())
            return pooled
        length = inputs["token_ids"].shape[1]
        check_ids({"mask_positions": positions}, length=length)
        positions = ops.cast(positions, "int32")
        if pooled is None:
            return positions
        return ops.concatenate([pooled, positions], axis=1)

    def hidden_states(self, inputs):
        """Outputs of the embeddings and of each block: a list of tensors.

        `inputs` is as in a call, of arrays or KerasTensors.
        """
        return self._look_inside(inputs, "hidden_states")

    def attention_scores(self, inputs):
        """Attention weights of each block, a list of float32 tensors.

        Each is `[batch, num_heads, length, length]`: the weight that the
        position of the third axis gives to that of the fourth. `inputs` is as
        in a call, of arrays or KerasTensors.
        """
        return self._look_inside(inputs, "attention_scores")

    def _look_inside(self, inputs, details):
        if any(keras.utils.is_keras_tensor(x) for x in inputs.values()):
            return BackboneDetails(self, details)(inputs)
        return self(inputs, training=False, details=details)

    def _details(self, x, mask, training, details):
        states, scores = [x], []
        for block in self.encoder_blocks:
            x = block(
                x,
                mask,
                training=training,
                return_attention_scores=details == "attention_scores",
            )
            if details == "attention_scores":
                x, weights = x
                scores.append(weights)
            states.append(x)
        return scores if details == "attention_scores" else states

    def _complete(self, inputs):
        """Checked int32 inputs with the absent ones filled in."""
        if not isinstance(inputs, dict):
            raise invalid("inputs", "a dict with token_ids", type(inputs))
        unknown = sorted(set(inputs) - set(_INPUTS))
        if unknown:
            raise invalid("inputs", f"a dict of {', '.join(_INPUTS)}", unknown)
        if inputs.get("token_ids") is None:
            raise invalid("inputs", "a dict with token_ids", sorted(inputs))
        check_ids(
            inputs,
            vocabulary_size=self.vocabulary_size,
            num_segments=self.num_segments,
            max_sequence_length=self.max_sequence_length,
        )
        inputs = {
            name: None
            if inputs.get(name) is None
            else ops.cast(inputs[name], "int32")
            for name in _INPUTS[:-1]
        }
        token_ids = inputs["token_ids"]
        if inputs["segment_ids"] is None:
            inputs["segment_ids"] = ops.zeros_like(token_ids)
        if inputs["padding_mask"] is None:
            inputs["padding_mask"] = ops.ones_like(token_ids)
        return inputs

    def compute_output_spec(
        self, inputs, training=None, details=None, positions=None
    ):
        # Known without tracing every block, on JAX twice.
        if inputs.get("token_ids") is None:
            raise invalid("inputs", "a dict with token_ids", sorted(inputs))
        batch, length = inputs["token_ids"].shape

        def spec(*shape, dtype=self.compute_dtype):
            return keras.KerasTensor(shape, dtype=dtype)

        if details == "attention_scores":
            shape = (batch, self.num_heads, length, length)
            return [spec(*shape, dtype="float32") for _ in self.encoder_blocks]
        sequence = (batch, length, self.hidden_dim)
        if details == "hidden_states":
            return [spec(*sequence) for _ in range(self.num_layers + 1)]
        if positions is not None:
            shape = (batch, 0) if positions == () else positions.shape
            sequence = (*shape, self.hidden_dim)
        outputs = {"sequence_output": spec(*sequence)}
        if self.pooled_dense is not None:
            columns = inputs.get("cls_positions")
            rows = (batch,) if columns is None else columns.shape
            outputs["pooled_output"] = spec(*rows, self.hidden_dim)
        return outputs

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "max_sequence_length": self.max_sequence_length,
            "num_segments": self.num_segments,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
            "pooler": self.pooler,
            # BERT looks both ways: other readers of configs need not know.
            **({"causal": True} if self.causal else {}),
        }
