"""The best of several endings of a context."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert.export import choice_signature
from keras_bert.export import classification_outputs
from keras_bert.models import _texts
from keras_bert.models._labels import class_ids
from keras_bert.models._row_prediction import predict_texts
from keras_bert.models._tables import is_list
from keras_bert.models.bert_multiple_choice_preprocessor import (
    BertMultipleChoicePreprocessor,
)
from keras_bert.models.bert_task import BertTask


@keras.saving.register_keras_serializable("keras_bert")
class BertMultipleChoice(BertTask):
    """BERT that scores each ending of a context and chooses the best.

    Args:
        backbone: a `BertBackbone` with a pooler.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertMultipleChoicePreprocessor`.
        dropout: float. Dropout on the pooled output while training.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, choices, length]` and
            optionally `segment_ids` and `padding_mask` (0 is padding).

    Returns float32 logits `[batch, choices]`. With strings, `fit` and
    `predict` take a pair of contexts and a list of endings for each; all have
    the same number of endings. `y` is the number of the right one. A table
    has the columns of SWAG: `sent1`, `sent2`, `ending0`, `ending1`, ...,
    `label`.

    Raises:
        ValueError: if the backbone has no pooler, or contexts differ in the
            number of their endings.

    Example:

    ```python
    m = keras_bert.BertMultipleChoice(backbone, preprocessor=tokenizer)
    contexts = ["The fox", "A dog"]
    endings = [["jumps.", "the the."], ["a a.", "is lazy."]]
    m.fit((contexts, endings), [0, 1], epochs=3)
    m.choose("The fox", ["jumps.", "the the."])  # 0
    ```

    Source: Devlin et al. (2018), section 4.4.
    """

    preprocessor_class = BertMultipleChoicePreprocessor
    has_choices = True

    def __init__(self, backbone, preprocessor=None, dropout=0.1, **kwargs):
        super().__init__(backbone, preprocessor, **kwargs)
        self.dropout = dropout
        if backbone.pooled_dense is None:
            raise invalid("backbone", "one built with pooler=True", backbone)
        self.logits_dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="logits_dropout"
        )
        self.logits = keras.layers.Dense(
            1,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=backbone.initializer_range
            ),
            dtype=self.dtype_policy,
            name="logits",
        )
        # A tuple, or Keras would track the inputs as part of the model.
        self._input = tuple(
            (name, keras.Input((None, None), dtype="int32", name=name))
            for name in backbone.input
        )
        self._finish()

    def build(self, input_shape=None):
        if not self.logits.built:
            self.logits.build((None, self.backbone.hidden_dim))

    @property
    def input(self):
        return dict(self._input)

    def call(self, inputs, training=None):
        unknown = sorted(set(inputs) - set(self.input))
        if unknown or inputs.get("token_ids") is None:
            raise invalid(
                "inputs", f"a dict of {', '.join(self.input)}", list(inputs)
            )
        if len(inputs["token_ids"].shape) != 3:
            raise invalid(
                "token_ids",
                "shape [batch, choices, length]",
                tuple(inputs["token_ids"].shape),
            )
        self._check_ids(inputs)
        batch, choices, length = ops.shape(inputs["token_ids"])
        rows = {
            key: ops.reshape(value, (-1, length))
            for key, value in inputs.items()
            if value is not None
        }
        outputs = self.backbone(rows, training=training, positions=())
        pooled = outputs["pooled_output"]
        pooled = self.logits_dropout(pooled, training=training)
        scores = ops.cast(self.logits(pooled), "float32")
        # The batch is what is left, so that it may be unknown.
        return ops.reshape(scores, (-1, choices))

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return choice_signature(
            self.preprocessor,
            lambda rows: classification_outputs(
                self(_texts.trim(rows), training=False),
                keras.activations.linear,
            ),
        )

    def _auto_loss(self):
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def _auto_metrics(self):
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def _data(self, x, y, *arguments, **keywords):
        return super()._data(x, _checked(x, y), *arguments, **keywords)

    def _map_batch(self, x, y=None, sample_weight=None):
        return super()._map_batch(x, _checked(x, y), sample_weight)

    def _text_arrays(self, x):
        if not isinstance(x, tuple) or len(x) != 2:
            raise invalid("x", "a pair (tuple) of contexts and endings", x)
        contexts = _texts.text_array(x[0])
        endings = _endings(x)
        if len(contexts) == 0:
            raise invalid("x", "at least one context", x)
        if not hasattr(endings, "__len__") or len(endings) != len(contexts):
            raise invalid(
                "x",
                f"a list of endings for each of {len(contexts)} contexts",
                endings,
            )
        for index, one in enumerate(endings):
            if not is_list(one) or len(one) < 1:
                raise invalid(
                    "x", f"a list of endings (see position {index})", one
                )
        counts = sorted({len(one) for one in endings})
        if len(counts) > 1:
            raise invalid(
                "x", "as many endings for each context", f"{counts} endings"
            )
        flat = [ending for one in endings for ending in one]
        return contexts, _texts.text_array(flat).reshape(-1, counts[0])

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

    def choose(self, context, endings, batch_size=32):
        """The number of the best ending.

        Args:
            context: a string, or a list of them.
            endings: a list of strings, or such a list for each context.
            batch_size: int.

        Returns an int, or a list of ints for a list of contexts.
        """
        scores = self.predict(
            (context, endings), batch_size=batch_size, verbose=0
        )
        best = [int(index) for index in np.argmax(scores, axis=-1)]
        return best[0] if isinstance(context, str) else best

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}


def _checked(x, y):
    """Targets, which must be below the number of choices in x."""
    if y is None or not isinstance(x, tuple | dict):
        return y
    if _texts.is_ids(x):
        choices = np.shape(x["token_ids"])[1:2]
        return class_ids(y, *choices) if choices else y
    endings = _endings(x) if len(x) == 2 else ()
    if not hasattr(endings, "__len__") or len(endings) == 0:
        return y
    return class_ids(y, len(endings[0])) if is_list(endings[0]) else y


def _endings(x):
    """The endings of each context, as something that places index."""
    endings = [x[1]] if isinstance(x[0], str | bytes) else x[1]
    # The columns of a data frame are indexed by the names of its rows.
    for name in ("numpy", "to_numpy"):
        if hasattr(endings, name):
            return getattr(endings, name)()
    return endings
