"""Classification and regression of texts and pairs of texts."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.export import classification_outputs
from keras_bert.export import text_pair_signature
from keras_bert.models import _texts
from keras_bert.models._labels import class_count
from keras_bert.models._labels import class_ids
from keras_bert.models._row_prediction import predict_texts
from keras_bert.models.bert_task import BertTask
from keras_bert.models.bert_text_classifier_preprocessor import (
    BertTextClassifierPreprocessor,
)


@keras.saving.register_keras_serializable("keras_bert")
class BertTextClassifier(BertTask):
    """BERT with a classifier (or a regressor) on the pooled `[CLS]` output.

    Args:
        backbone: a `BertBackbone` with a pooler.
        num_classes: int. 1 means regression. May be left out when `labels`
            is given.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertTextClassifierPreprocessor`.
        labels: list of class names in the order of their ids. Then `fit`
            takes names as targets and `classify` returns them.
        activation: applied to the outputs of `m` and `predict`; `None` gives
            logits. The loss "auto" follows it.
        dropout: float. Dropout on the pooled output while training.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]` and optionally
            `segment_ids`, `padding_mask` (0 is padding), `cls_positions`.

    Returns float32 `[batch, num_classes]`, or `[batch]` for regression.

    Raises:
        ValueError: if `num_classes` and `labels` disagree or both are
            missing, or if the backbone has no pooler.

    Example:

    ```python
    backbone = keras_bert.BertBackbone.from_config_name(
        "bert_tiny", vocabulary_size=tokenizer.vocabulary_size()
    )
    m = keras_bert.BertTextClassifier(
        backbone, preprocessor=tokenizer, labels=["bad", "good"]
    )
    m.fit(["what a film", "never again"], ["good", "bad"], epochs=3)
    m.classify(["what a film"])  # [{"label": "good", "score": 0.9}]
    ```

    Source: Devlin et al. (2018), section 4.1.
    """

    preprocessor_class = BertTextClassifierPreprocessor

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        labels=None,
        activation=None,
        dropout=0.1,
        **kwargs,
    ):
        super().__init__(backbone, preprocessor, **kwargs)
        self.labels = None if labels is None else list(labels)
        self.num_classes = class_count(num_classes, self.labels)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        if backbone.pooled_dense is None:
            raise invalid("backbone", "one built with pooler=True", backbone)
        self.logits_dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="logits_dropout"
        )
        self.logits = keras.layers.Dense(
            self.num_classes,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=backbone.initializer_range
            ),
            dtype=self.dtype_policy,
            name="logits",
        )
        self._finish()

    def build(self, input_shape=None):
        if not self.logits.built:
            self.logits.build((None, self.backbone.hidden_dim))

    def call(self, inputs, training=None):
        return self.activation(self._raw_outputs(inputs, training))

    def _raw_outputs(self, inputs, training=None):
        outputs = self.backbone(inputs, training=training, positions=())
        pooled = outputs["pooled_output"]
        pooled = self.logits_dropout(pooled, training=training)
        outputs = ops.cast(self.logits(pooled), "float32")
        if self.num_classes == 1:
            outputs = ops.squeeze(outputs, -1)
        return outputs

    @property
    def _output_name(self):
        linear = self.activation is keras.activations.linear
        return "logits" if linear else "probabilities"

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return text_pair_signature(self.preprocessor, self._serving_outputs)

    def _serving_outputs(self, rows):
        raw = self._raw_outputs(_texts.trim(rows), training=False)
        if self.num_classes == 1:
            # Regression has one value and no label.
            return {self._output_name: self.activation(raw)}
        return classification_outputs(raw, self.activation, self.labels)

    def _auto_loss(self):
        if self.num_classes == 1:
            return keras.losses.MeanSquaredError()
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=self.activation is keras.activations.linear
        )

    def _auto_metrics(self):
        if self.num_classes == 1:
            return [keras.metrics.MeanSquaredError(name="mse")]
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def _encode_targets(self, y, count):
        if y is None:
            return None
        y = np.asarray(y)
        if self.num_classes == 1:
            if y.dtype.kind not in "biuf":
                raise invalid("y", "numbers (num_classes is 1)", y)
            if not np.isfinite(y).all():
                raise invalid("y", "finite numbers (num_classes is 1)", y)
            return y.astype("float32")
        return class_ids(y, self.num_classes, self.labels)

    def _encode_target_tensors(self, y):
        tf = tensorflow()
        if not tf.is_tensor(y):
            return y

        def check(values):
            if values.dtype.kind == "O":
                values = np.array([value.decode() for value in values], "O")
            return self._encode_targets(values, len(values))

        dtype = tf.float32 if self.num_classes == 1 else tf.int32
        encoded = tf.numpy_function(check, [y], dtype)
        encoded.set_shape(y.shape)
        return encoded

    def predict(
        self, x, batch_size=None, verbose="auto", steps=None, callbacks=None
    ):
        if not self._is_texts(x):
            return super().predict(x, batch_size, verbose, steps, callbacks)
        found = {
            number: value
            for number, _, value in predict_texts(
                self, x, batch_size, verbose, steps, callbacks
            )
        }
        return np.stack([found[number] for number in range(len(found))])

    def classify(self, texts, top_k=None, batch_size=32):
        """Label and score of each text or pair of texts.

        Args:
            texts: a list of strings, or a pair (tuple) of such lists; one
                string, or a pair of two strings, gives one result.
            top_k: `None` for the best label, an int for that many labels,
                best first.
            batch_size: int.

        Returns one `{"label", "score"}` per text (a list of `top_k` of them
        when it is given). The label is the class id where the model has no
        names; the score is the probability. For regression the label is
        `None` and the score is the value.
        """
        parts = texts if isinstance(texts, tuple) else (texts,)
        single = isinstance(parts[0], str)
        outputs = self.predict(texts, batch_size=batch_size, verbose=0)
        if self.num_classes == 1:
            results = [{"label": None, "score": float(v)} for v in outputs]
            return results[0] if single else results
        if self.activation is keras.activations.linear:
            outputs = ops.convert_to_numpy(ops.softmax(outputs, axis=-1))
        if top_k is not None and not 1 <= top_k <= self.num_classes:
            raise invalid(
                "top_k", f"None or an int from 1 to {self.num_classes}", top_k
            )
        order = np.argsort(-outputs, axis=-1, kind="stable")[:, : top_k or 1]
        results = [
            [
                {
                    "label": self.labels[i] if self.labels else int(i),
                    "score": float(row[i]),
                }
                for i in best
            ]
            for row, best in zip(outputs, order, strict=True)
        ]
        if top_k is None:
            results = [result[0] for result in results]
        return results[0] if single else results

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "labels": self.labels,
            "activation": keras.activations.serialize(self.activation),
            "dropout": self.dropout,
        }
