"""A label for each word of a text."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.data.word_windows import word_outputs
from keras_bert.data.word_windows import word_targets
from keras_bert.export import classification_outputs
from keras_bert.export import word_signature
from keras_bert.models._labels import class_count
from keras_bert.models._labels import class_ids
from keras_bert.models.bert_token_classifier_preprocessor import (
    BertTokenClassifierPreprocessor,
)
from keras_bert.models.bert_token_classifier_preprocessor import check_counts
from keras_bert.models.bert_token_classifier_preprocessor import word_lists
from keras_bert.models.bert_window_task import BertWindowTask
from keras_bert.training import MaskedLMLoss
from keras_bert.training import metrics


@keras.saving.register_keras_serializable("keras_bert")
class BertTokenClassifier(BertWindowTask):
    """BERT with a classifier on each token, for texts given as words.

    The first piece of a word carries its label and gives its prediction; the
    others count for nothing. Texts longer than a row are read in overlapping
    windows, each word in the one that shows most of what stands around it, so
    every word has one prediction. A word of which the tokenizer keeps nothing
    (control characters) is named in a warning and gets the logits 0; `tag`
    calls it "O" if that is a label, else the first label.

    Args:
        backbone: a `BertBackbone`.
        num_classes: int. May be left out when `labels` is given.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertTokenClassifierPreprocessor`.
        labels: list of label names in the order of their ids. Then `fit`
            takes names as targets and `tag` returns them.
        dropout: float. Dropout on the hidden states while training.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]` and optionally
            `segment_ids` and `padding_mask` (0 is padding).

    Returns float32 logits `[batch, length, labels]`. `fit`, `evaluate` and
    `predict` take a list of texts, each a list of words or a string, which is
    split at whitespace; `y` is a list of one name or id per word, for each
    text; `sample_weight` is per text or per word. `predict` gives per text
    a float32 array `[words, labels]`. With ids, `y` and `sample_weight` are
    `[batch, length]`.

    Raises:
        ValueError: if `num_classes` and `labels` disagree or both are
            missing, if a label is unknown, or if a text has more or fewer
            labels than words.

    Example:

    ```python
    m = keras_bert.BertTokenClassifier(
        backbone, preprocessor=tokenizer, labels=["O", "B-PER", "I-PER"]
    )
    m.fit([["Jim", "Henson", "sings"]], [["B-PER", "I-PER", "O"]], epochs=3)
    m.tag(["Jim", "Henson"])  # ["B-PER", "I-PER"]
    ```

    Source: Devlin et al. (2018), section 5.3.
    """

    preprocessor_class = BertTokenClassifierPreprocessor

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        labels=None,
        dropout=0.1,
        **kwargs,
    ):
        super().__init__(backbone, preprocessor, **kwargs)
        self.labels = None if labels is None else list(labels)
        self.num_classes = class_count(num_classes, self.labels)
        self.dropout = dropout
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
            self.logits.build((None, None, self.backbone.hidden_dim))

    def call(self, inputs, training=None):
        x = self.backbone(inputs, training=training)["sequence_output"]
        x = self.logits_dropout(x, training=training)
        return ops.cast(self.logits(x), "float32")

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return word_signature(
            self.preprocessor,
            lambda rows: self(rows, training=False),
            self._serving_outputs,
        )

    def _serving_outputs(self, logits, has_piece):
        outputs = classification_outputs(
            logits, keras.activations.linear, self.labels
        )
        if self.labels is not None and "O" in self.labels:
            outputs["label"] = tensorflow().where(
                has_piece, outputs["label"], "O"
            )
        return outputs

    def _auto_loss(self):
        return MaskedLMLoss(name="token_loss")

    def _auto_weighted_metrics(self):
        return [metrics.MaskedAccuracy(name="accuracy")]

    def _encode_targets(self, y, count):
        if y is None:
            return None
        return class_ids(y, self.num_classes, self.labels)

    def _encode_target_tensors(self, y):
        tf = tensorflow()
        if y is None:
            return None
        if not isinstance(y, tf.RaggedTensor):
            y = tf.RaggedTensor.from_tensor(y)

        def encode(values):
            if values.dtype.kind == "O":
                values = np.array([value.decode() for value in values], "O")
            return class_ids(values, self.num_classes, self.labels)

        ids = tf.numpy_function(encode, [y.flat_values], tf.int32)
        ids.set_shape([None])
        return y.with_flat_values(ids)

    def _examples(self, x):
        return word_lists(x)

    def _featurise(self, examples):
        return self.preprocessor.windows(examples)

    def _row_targets(self, features, examples, y, sample_weight):
        counts = features.word_counts
        y = _lists(y)
        check_counts(counts, [len(labels) for labels in y])
        flat = [label for labels in y for label in labels]
        labels = class_ids(flat, self.num_classes, self.labels)
        weights = None
        if sample_weight is not None:
            weights = _word_weights(sample_weight, counts)
        return lambda numbers, width: word_targets(
            features, labels, weights, numbers, width
        )

    def _results(self, features, examples, batches):
        return word_outputs(features, batches, self.num_classes)

    def tag(self, words, batch_size=32, callbacks=None):
        """The label of each word.

        Args:
            words: one text, a list of words or a string, which is split at
                whitespace; or a list of lists of words, a batch.
            batch_size: int.
            callbacks: as in `predict`.

        Returns a list of labels (ids where the model has no names), or for a
        batch a list of such lists.
        """
        if isinstance(words, str):
            words = words.split()
        single = len(words) == 0 or isinstance(words[0], str)
        texts = [list(words)] if single else words
        outputs = self.predict(
            texts, batch_size=batch_size, verbose=0, callbacks=callbacks
        )
        results = [
            [self._label_of(scores) for scores in logits] for logits in outputs
        ]
        return results[0] if single else results

    def _label_of(self, scores):
        best = int(np.argmax(scores))
        if self.labels is None:
            return best
        if not scores.any() and "O" in self.labels:
            return "O"
        return self.labels[best]

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "labels": self.labels,
            "dropout": self.dropout,
        }


def _lists(y):
    """Labels per text as lists."""
    if hasattr(y, "to_list"):
        y = y.to_list()
    elif hasattr(y, "numpy"):
        y = y.numpy()
    lists = []
    for index, labels in enumerate(y):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise invalid(
                "y", f"a list of labels per text (see position {index})", labels
            )
        lists.append(
            [
                label.decode() if isinstance(label, bytes) else label
                for label in labels
            ]
        )
    return lists


def _word_weights(sample_weight, counts):
    """Weights per text or per word as float32 `[words]`."""
    if hasattr(sample_weight[0], "__len__"):
        lengths = [len(weights) for weights in sample_weight]
        if list(counts) != lengths:
            raise invalid(
                "sample_weight", "a number per text or per word", lengths
            )
        return np.concatenate(
            [np.asarray(weights, "float32") for weights in sample_weight]
        )
    return np.repeat(np.asarray(sample_weight, "float32"), counts)
