"""One vector per text, or per token."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.export import text_signature
from keras_bert.models import _texts
from keras_bert.models._row_prediction import predict_texts
from keras_bert.models.bert_task import BertTask
from keras_bert.models.bert_text_embedder_preprocessor import (
    BertTextEmbedderPreprocessor,
)
from keras_bert.models.layer_mix import LayerMix

POOLING = ("mean", "cls", "max", None)


@keras.saving.register_keras_serializable("keras_bert")
class BertTextEmbedder(BertTask):
    """BERT's hidden states as vectors of texts or tokens.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertTextEmbedderPreprocessor`.
        pooling_mode: `"mean"` over the tokens, [CLS] and [SEP] included and
            padding not, `"cls"`, `"max"`, or `None` for a vector per token.
        normalize: bool. Whether vectors have length 1.
        hidden_layers: int, or list of ints: which of the hidden states are
            read. 0 is the output of the embeddings, i that of the i-th block,
            -1 that of the last one.
        combine: how several layers become one vector: `"concat"`, `"sum"`,
            or `"weighted"` by trainable weights that sum to 1; `None` for one
            layer.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]` and optionally
            `segment_ids` and `padding_mask` (0 is padding).

    Returns float32 `[batch, dim]`, or `[batch, length, dim]` when
    `pooling_mode` is `None` (zeros at padding). Of texts `predict` gives
    `[n, dim]`, or a list of arrays `[tokens, dim]`, [CLS] and [SEP]
    included. The model compiles without a loss; give `compile` one to train.

    Raises:
        ValueError: if a layer does not exist, or `combine` does not fit the
            number of layers.

    Example:

    ```python
    m = keras_bert.BertTextEmbedder.from_preset("all-MiniLM-L6-v2/")
    vectors = m.embed(["A fox.", "A dog."])  # [2, 384]
    m.similarity(m.encode_text("fox"), vectors)  # [1, 2]
    # Table 7 of the paper, "Concat Last Four Hidden":
    keras_bert.BertTextEmbedder(
        backbone,
        pooling_mode=None,
        normalize=False,
        hidden_layers=[-4, -3, -2, -1],
        combine="concat",
    )
    ```

    Source: Devlin et al. (2018), section 5.3; Reimers and Gurevych (2019),
    https://arxiv.org/abs/1908.10084.
    """

    preprocessor_class = BertTextEmbedderPreprocessor
    _output_name = "embedding"

    def __init__(
        self,
        backbone,
        preprocessor=None,
        pooling_mode="mean",
        normalize=True,
        hidden_layers=-1,
        combine=None,
        **kwargs,
    ):
        super().__init__(backbone, preprocessor, **kwargs)
        if pooling_mode not in POOLING:
            raise invalid("pooling_mode", f"one of {POOLING}", pooling_mode)
        self.pooling_mode = pooling_mode
        self.normalize = bool(normalize)
        self.hidden_layers = hidden_layers
        self.combine = combine
        self._layer_numbers = _layer_numbers(hidden_layers, backbone)
        self.layer_mix = LayerMix(
            len(self._layer_numbers), combine, dtype="float32", name="layer_mix"
        )
        self._finish()

    def build(self, input_shape=None):
        if not self.layer_mix.built:
            self.layer_mix.build()

    def call(self, inputs, training=None):
        top = self.backbone.num_layers
        if self._layer_numbers == [top]:
            outputs = self.backbone(inputs, training=training)
            states = [outputs["sequence_output"]]
        else:
            found = self.backbone(
                inputs, training=training, details="hidden_states"
            )
            states = [found[number] for number in self._layer_numbers]
        x = self.layer_mix([ops.cast(state, "float32") for state in states])
        mask = inputs.get("padding_mask")
        if mask is None:
            mask = ops.ones_like(inputs["token_ids"])
        # Not by an index: LiteRT has no such slice of a bool.
        mask = ops.expand_dims(ops.not_equal(mask, 0), -1)
        x = _pooled(x, mask, self.pooling_mode)
        if self.normalize:
            norm = ops.norm(x, axis=-1, keepdims=True)
            x = x / ops.maximum(norm, 1e-12)
        return x

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return text_signature(self.preprocessor, self._serving_outputs)

    def _serving_outputs(self, rows):
        outputs = {"embedding": self(_texts.trim(rows), training=False)}
        if self.pooling_mode is None:
            # How many of a row's vectors are those of tokens.
            outputs["length"] = tensorflow().reduce_sum(
                rows["padding_mask"], axis=1
            )
        return outputs

    def predict(
        self, x, batch_size=None, verbose="auto", steps=None, callbacks=None
    ):
        if not self._is_texts(x):
            return super().predict(x, batch_size, verbose, steps, callbacks)
        found = {}
        for number, length, value in predict_texts(
            self, x, batch_size, verbose, steps, callbacks
        ):
            # A copy: a view would keep the padding of the whole batch.
            token = self.pooling_mode is None
            found[number] = value[:length].copy() if token else value
        outputs = [found[number] for number in range(len(found))]
        return outputs if self.pooling_mode is None else np.stack(outputs)

    def embed(self, texts, batch_size=32):
        """The vectors of a text or of several.

        Args:
            texts: a string or a list of strings.
            batch_size: int.

        Returns a float32 array `[dim]` for one string and `[n, dim]` for a
        list; without pooling `[tokens, dim]` and a list of such arrays.
        """
        vectors = self.predict(texts, batch_size=batch_size, verbose=0)
        return vectors[0] if isinstance(texts, str) else vectors

    def encode_text(self, text, **kwargs):
        """`[n, dim]`: the vectors of a string (n = 1) or a list of strings.

        Further arguments are those of `predict`.
        """
        return self.predict(text, **kwargs)

    def encode_documents(self, documents, **kwargs):
        """`[n, dim]`, as `encode_text`: BERT reads both alike."""
        return self.predict(documents, **kwargs)

    def similarity(self, query_embeddings, document_embeddings):
        """Dot products `[queries, documents]`: the cosines when normalized.

        Args:
            query_embeddings: `[queries, dim]`, or `[dim]` for one query.
            document_embeddings: `[documents, dim]`, or `[dim]`.
        """
        queries, documents = (
            np.atleast_2d(ops.convert_to_numpy(vectors))
            for vectors in (query_embeddings, document_embeddings)
        )
        return queries @ documents.T

    def get_config(self):
        return {
            **super().get_config(),
            "pooling_mode": self.pooling_mode,
            "normalize": self.normalize,
            "hidden_layers": self.hidden_layers,
            "combine": self.combine,
        }


def _layer_numbers(hidden_layers, backbone):
    """Positions in `hidden_states`, from 0 to the number of blocks."""
    several = isinstance(hidden_layers, list | tuple)
    numbers = list(hidden_layers) if several else [hidden_layers]
    count = backbone.num_layers + 1
    for number in numbers:
        if not isinstance(number, int) or not -count <= number < count:
            raise invalid(
                "hidden_layers",
                f"ints from {-count} to {count - 1}",
                hidden_layers,
            )
    if not numbers:
        raise invalid("hidden_layers", "at least one layer", hidden_layers)
    return [number % count for number in numbers]


def _pooled(x, mask, mode):
    """x `[batch, length, dim]`, mask bool `[batch, length, 1]`."""
    if mode == "cls":
        return x[:, 0]
    if mode == "max":
        # A row of padding alone has no maximum: zeros.
        best = ops.max(ops.where(mask, x, -np.inf), axis=1)
        return ops.where(ops.any(mask, axis=1), best, 0.0)
    x = ops.where(mask, x, 0.0)
    if mode is None:
        return x
    count = ops.sum(ops.cast(mask, "float32"), axis=1)
    return ops.sum(x, axis=1) / ops.maximum(count, 1.0)
