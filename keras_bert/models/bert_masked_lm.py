"""Masked language model: trains on texts, fills masks."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert.export import mask_signature
from keras_bert.layers import MaskedLMHead
from keras_bert.models import _texts
from keras_bert.models.bert_masked_lm_preprocessor import (
    BertMaskedLMPreprocessor,
)
from keras_bert.models.bert_task import BertTask
from keras_bert.models.masked_row import masked_row
from keras_bert.training import MaskedLMLoss
from keras_bert.training import metrics


@keras.saving.register_keras_serializable("keras_bert")
class BertMaskedLM(BertTask):
    """BERT with the masked-language-model head.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertMaskedLMPreprocessor`.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]`, `mask_positions`
            `[batch, masks]` and optionally `segment_ids` and `padding_mask`.

    Returns float32 logits `[batch, masks, vocabulary_size]`. `fit` takes
    texts alone: targets and weights are made by masking.

    Raises:
        ValueError: if ids or positions are out of range, or, in `fill_mask`,
            if a text holds no mask.

    Example:

    ```python
    m = keras_bert.BertMaskedLM(backbone, preprocessor=tokenizer)
    m.fit(["a text to learn from", "another one"], epochs=2)
    m.fill_mask("Paris is the [MASK] of France.", top_k=5)
    ```

    Source: Devlin et al. (2018), section 3.1, task 1.
    """

    preprocessor_class = BertMaskedLMPreprocessor
    _recipe = "pretraining"
    needs_targets = False

    def __init__(self, backbone, preprocessor=None, **kwargs):
        super().__init__(backbone, preprocessor, **kwargs)
        self.mlm_head = masked_lm_head(backbone, self.dtype_policy)
        self._finish()

    def build(self, input_shape=None):
        if not self.mlm_head.built:
            self.mlm_head.build((None, None, self.backbone.hidden_dim))

    @property
    def input(self):
        return {**self.backbone.input, **self._mask_positions}

    @property
    def _mask_positions(self):
        if not hasattr(self, "_mask_positions_input"):
            self._mask_positions_input = keras.Input(
                (None,), dtype="int32", name="mask_positions"
            )
        return {"mask_positions": self._mask_positions_input}

    def call(self, inputs, training=None):
        rows = {
            key: value
            for key, value in inputs.items()
            if key != "mask_positions"
        }
        outputs = self.backbone(
            rows, training=training, positions=inputs["mask_positions"]
        )
        return self.mlm_head(outputs["sequence_output"])

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return mask_signature(
            self.tokenizer,
            self.backbone.max_sequence_length,
            lambda rows: self(rows, training=False),
        )

    def _auto_loss(self):
        return MaskedLMLoss()

    def _auto_weighted_metrics(self):
        return [
            metrics.MaskedAccuracy(name="accuracy"),
            metrics.Perplexity(name="perplexity"),
        ]

    def fill_mask(self, text, top_k=5, batch_size=32):
        """The likeliest tokens for each mask of a text.

        Args:
            text: a string that holds the mask token at least once, or a list
                of such strings. The mask token is recognised where it is
                written; other special tokens are plain text.
            top_k: int. How many tokens per mask, best first.
            batch_size: int.

        Returns per mask a list of `{"token", "score"}` with probabilities;
        for a list of texts a list of these.
        """
        texts = list(text) if isinstance(text, list | tuple) else [text]
        if self.preprocessor is None:
            raise invalid(
                "text", "ids through predict: the model has no tokenizer", text
            )
        size = self.tokenizer.vocabulary_size()
        if not isinstance(top_k, int) or not 1 <= top_k <= size:
            raise invalid("top_k", f"an int from 1 to {size}", top_k)
        rows = [self._masked_row(one) for one in texts]
        results = []
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            logits = self.predict_on_batch(self._mask_batch(batch))
            for row, row_logits in zip(batch, logits, strict=True):
                count = int((row == self.tokenizer.mask_token_id).sum())
                # The table may have more rows than the vocabulary has words.
                scores = row_logits[:count, :size]
                scores = ops.convert_to_numpy(ops.softmax(scores, axis=-1))
                results.append([self._best(line, top_k) for line in scores])
        return results if isinstance(text, list | tuple) else results[0]

    def _best(self, scores, top_k):
        best = np.argsort(-scores, kind="stable")[:top_k]
        return [
            {
                "token": self.tokenizer.id_to_token(int(index)),
                "score": float(scores[index]),
            }
            for index in best
        ]

    def _masked_row(self, text):
        """Ids of one text, cut at the literal mask token."""
        tokenizer = self.tokenizer
        mask = tokenizer.id_to_token(tokenizer.mask_token_id)
        if not isinstance(text, str) or mask not in text:
            raise invalid("text", f"a string with {mask}", text)
        ids, _ = masked_row(tokenizer, [text])
        longest = self.backbone.max_sequence_length
        if len(ids) > longest:
            raise invalid(
                "text",
                f"at most {longest} tokens with [CLS] and [SEP], the length "
                "of the position table",
                f"{len(ids)} tokens",
            )
        return ids

    def _mask_batch(self, rows):
        """Padded ids and mask positions of some rows."""
        longest = max(len(row) for row in rows)
        widths = [w for w in _texts.BUCKETS if w >= longest] + [longest]
        width = min(widths[0], self.backbone.max_sequence_length)
        token_ids = np.full(
            (len(rows), width), self.tokenizer.pad_token_id, "int32"
        )
        padding_mask = np.zeros_like(token_ids)
        found = [
            np.flatnonzero(row == self.tokenizer.mask_token_id) for row in rows
        ]
        positions = np.zeros(
            (len(rows), max(len(one) for one in found)), "int32"
        )
        for index, row in enumerate(rows):
            token_ids[index, : len(row)] = row
            padding_mask[index, : len(row)] = 1
            positions[index, : len(found[index])] = found[index]
        return {
            "token_ids": token_ids,
            "segment_ids": np.zeros_like(token_ids),
            "padding_mask": padding_mask,
            "mask_positions": positions,
        }


def masked_lm_head(backbone, dtype):
    """The head with everything that it shares with the backbone's config."""
    return MaskedLMHead(
        backbone.token_embedding,
        activation=backbone.activation,
        layer_norm_epsilon=backbone.layer_norm_epsilon,
        initializer_range=backbone.initializer_range,
        dtype=dtype,
        name="mlm_head",
    )
