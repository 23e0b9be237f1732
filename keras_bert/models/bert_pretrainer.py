"""BERT with both pretraining tasks."""

import types

import keras
from keras import ops

from keras_bert._errors import invalid
from keras_bert.export import mask_signature
from keras_bert.models import _texts
from keras_bert.models.bert_masked_lm import masked_lm_head
from keras_bert.models.bert_pretrainer_preprocessor import (
    BertPretrainerPreprocessor,
)
from keras_bert.models.bert_task import BertTask
from keras_bert.training import Accumulation
from keras_bert.training import MaskedLMLoss
from keras_bert.training import NextSentenceLoss
from keras_bert.training import metrics


@keras.saving.register_keras_serializable("keras_bert")
class BertPretrainer(Accumulation, BertTask):
    """The masked language model and next-sentence prediction together.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: `None` (batches of `pretraining_dataset` in), a
            `BertTokenizer`, or a `BertPretrainerPreprocessor` (then `fit` and
            `evaluate` also take a list of documents).
        next_sentence: whether the model has the next-sentence head; `None`
            gives it to a backbone with a pooler.

    `compile(accumulate=n)` works through each batch in n parts, with the
    gradient of the whole batch. `fit` goes on after a crash with the callback
    `keras_bert.training.Resume`, and stops when the loss turns NaN.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]`, `mask_positions`
            `[batch, masks]` and optionally `segment_ids`, `padding_mask` (k
            marks the k-th sequence of a packed row) and `cls_positions`
            `[batch, n]`.

    Returns a dict of float32 logits: `mask_ids`
    `[batch, masks, vocabulary_size]` and `next_sentence` `[batch, n, 2]`
    (`[batch, 2]` without `cls_positions`; class 1 is a random next segment).
    With `next_sentence=False` the array of `mask_ids` alone.

    Raises:
        ValueError: if `next_sentence` is asked of a backbone without a
            pooler, or ids and positions are out of range.

    Example:

    ```python
    dataset = keras_bert.pretraining_dataset(["corpus/*.txt"], tokenizer)
    m = keras_bert.BertPretrainer(backbone)
    m.fit(dataset, epochs=10)
    ```

    Source: Devlin et al. (2018), section 3.1.
    """

    preprocessor_class = BertPretrainerPreprocessor
    _recipe = "pretraining"
    needs_targets = False

    def __init__(
        self, backbone, preprocessor=None, next_sentence=None, **kwargs
    ):
        super().__init__(backbone, preprocessor, **kwargs)
        has_pooler = backbone.pooled_dense is not None
        if next_sentence and not has_pooler:
            raise invalid(
                "next_sentence",
                "None or False for a backbone built with pooler=False",
                next_sentence,
            )
        self.next_sentence = (
            has_pooler if next_sentence is None else bool(next_sentence)
        )
        self.mlm_head = masked_lm_head(backbone, self.dtype_policy)
        self.next_sentence_head = None
        if self.next_sentence:
            self.next_sentence_head = keras.layers.Dense(
                2,
                kernel_initializer=keras.initializers.TruncatedNormal(
                    stddev=backbone.initializer_range
                ),
                dtype=self.dtype_policy,
                name="next_sentence",
            )
        self._mask_positions = keras.Input(
            (None,), dtype="int32", name="mask_positions"
        )
        self._finish()

    @property
    def input(self):
        return {**self.backbone.input, "mask_positions": self._mask_positions}

    def build(self, input_shape=None):
        width = self.backbone.hidden_dim
        if not self.mlm_head.built:
            self.mlm_head.build((None, None, width))
        if self.next_sentence and not self.next_sentence_head.built:
            self.next_sentence_head.build((None, width))

    def call(self, inputs, training=None):
        rows = {
            key: value
            for key, value in inputs.items()
            if key != "mask_positions"
        }
        outputs = self.backbone(
            rows, training=training, positions=inputs["mask_positions"]
        )
        mask_ids = self.mlm_head(outputs["sequence_output"])
        if not self.next_sentence:
            return mask_ids
        logits = self.next_sentence_head(outputs["pooled_output"])
        return {
            "mask_ids": mask_ids,
            "next_sentence": ops.cast(logits, "float32"),
        }

    def get_config(self):
        return {**super().get_config(), "next_sentence": self.next_sentence}

    def _serving_signature(self):
        if self.preprocessor is None:
            return None

        def logits_of(rows):
            outputs = self(rows, training=False)
            return outputs["mask_ids"] if self.next_sentence else outputs

        return mask_signature(
            self.tokenizer, self.backbone.max_sequence_length, logits_of
        )

    def count_tokens(self):
        """Adds a metric `tokens`, the tokens of all batches but padding."""
        # A model that is built takes no new part, so the metric is none.
        self._counter = types.SimpleNamespace(
            metric=keras.metrics.Sum(name="tokens")
        )

    @property
    def metrics(self):
        counter = getattr(self, "_counter", None)
        return super().metrics + ([counter.metric] if counter else [])

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        counter = getattr(self, "_counter", None)
        if counter:
            numbers = x.get("padding_mask", ops.ones_like(x["token_ids"]))
            counter.metric.update_state(ops.cast(numbers != 0, "float32"))
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def _auto_loss(self):
        if not self.next_sentence:
            return MaskedLMLoss()
        return {
            "mask_ids": MaskedLMLoss(),
            "next_sentence": NextSentenceLoss(),
        }

    def _auto_weighted_metrics(self):
        masked = [
            metrics.MaskedAccuracy(name="accuracy"),
            metrics.Perplexity(name="perplexity"),
        ]
        if not self.next_sentence:
            return masked
        return {
            "mask_ids": masked,
            "next_sentence": [
                keras.metrics.SparseCategoricalAccuracy(name="accuracy")
            ],
        }

    def _data(self, x, y, sample_weight, batch_size, shuffle=False):
        texts = isinstance(x, str | list) or (
            hasattr(x, "dtype") and not _texts.is_dataset(x)
        )
        if texts and self.preprocessor is not None:
            x = self.preprocessor(
                x, batch_size or 32, next_sentence=self.next_sentence
            )
        elif texts:
            raise invalid(
                "x",
                "a dataset of `pretraining_dataset` or a dict of ids, since "
                "the model has no preprocessor",
                x,
            )
        return super()._data(x, y, sample_weight, batch_size, shuffle)
