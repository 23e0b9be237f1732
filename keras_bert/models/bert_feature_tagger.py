"""The feature-based approach: a BiLSTM on hidden states that stay fixed."""

import keras
from keras import ops

from keras_bert._errors import invalid
from keras_bert.models.bert_token_classifier import BertTokenClassifier
from keras_bert.models.layer_mix import LayerMix

# Table 7 of Devlin et al. (2018): name, hidden layers (0 is the output of the
# embeddings, None every block), how they are combined, and the F1 on the dev
# set of CoNLL-2003 with the cased BASE model.
TABLE_7 = (
    ("embeddings", [0], None, 91.0),
    ("second-to-last hidden", [-2], None, 95.6),
    ("last hidden", [-1], None, 94.9),
    ("weighted sum last four hidden", [-4, -3, -2, -1], "weighted", 95.9),
    ("concat last four hidden", [-4, -3, -2, -1], "concat", 96.1),
    ("weighted sum all layers", None, "weighted", 95.5),
)


@keras.saving.register_keras_serializable("keras_bert")
class BertFeatureTagger(BertTokenClassifier):
    """A label for each word from hidden states of an encoder that is frozen.

    The hidden states of the chosen layers are combined token by token and
    read by bidirectional LSTMs and a classifier, which alone are trained. In
    everything else it is a `BertTokenClassifier`: words, first pieces,
    windows, `fit`, `predict` and `tag`.

    Args:
        backbone: a `BertBackbone`; it is set to `trainable = False`, and its
            dropout stays off.
        num_classes, preprocessor, labels: as for `BertTokenClassifier`.
        hidden_layers: list of ints. 0 is the output of the embeddings, i
            that of the i-th block, -1 that of the last one; `None` is every
            block.
        combine: `"concat"`, `"sum"`, `"weighted"` (a mean by trained
            weights), or `None` for one layer.
        lstm_units: int, of each direction.
        lstm_layers: int.
        dropout: float. On what goes into each LSTM and into the classifier.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]` and optionally
            `segment_ids` and `padding_mask` (0 is padding).

    Returns float32 logits `[batch, length, labels]`.

    Raises:
        ValueError: if a layer does not exist, or `combine` does not fit the
            number of layers.

    Example:

    ```python
    m = keras_bert.BertFeatureTagger(
        backbone, preprocessor=tokenizer, labels=["O", "B-PER", "I-PER"]
    )
    m.compile(learning_rate=1e-3)  # the recipe's 2e-5 is for whole encoders
    m.fit([["Jim", "Henson", "sings"]], [["B-PER", "I-PER", "O"]], epochs=20)
    ```

    Source: Devlin et al. (2018), section 5.3 and table 7.
    """

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        labels=None,
        hidden_layers=(-4, -3, -2, -1),
        combine="concat",
        lstm_units=768,
        lstm_layers=2,
        dropout=0.1,
        **kwargs,
    ):
        super().__init__(
            backbone, num_classes, preprocessor, labels, dropout, **kwargs
        )
        for name, value in (
            ("lstm_units", lstm_units), ("lstm_layers", lstm_layers),
        ):  # fmt: skip
            if not isinstance(value, int) or value < 1:
                raise invalid(name, "a positive int", value)
        backbone.trainable = False
        if isinstance(hidden_layers, int):
            hidden_layers = (hidden_layers,)
        self.hidden_layers = (
            None if hidden_layers is None else list(hidden_layers)
        )
        self.combine = combine
        self.lstm_units = lstm_units
        self.lstm_layers = lstm_layers
        count = backbone.num_layers + 1
        numbers = self.hidden_layers
        if numbers is None:
            numbers = range(1, count)
        if not numbers or any(
            not isinstance(n, int) or not -count <= n < count for n in numbers
        ):
            raise invalid(
                "hidden_layers",
                f"None, or a list of ints from {-count} to {count - 1}, "
                "one at least",
                hidden_layers,
            )
        self._layer_numbers = [number % count for number in numbers]
        self.layer_mix = LayerMix(
            len(self._layer_numbers), combine, dtype="float32", name="layer_mix"
        )
        self.lstms = [
            keras.layers.Bidirectional(
                # Without a name Keras numbers it, and so the variables.
                keras.layers.LSTM(
                    lstm_units,
                    return_sequences=True,
                    dtype="float32",
                    name="lstm",
                ),
                dtype="float32",
                name=f"lstm_{number}",
            )
            for number in range(lstm_layers)
        ]
        super()._finish()

    def _finish(self):
        """Nothing yet: the parent calls it before the LSTMs are there."""

    def build(self, input_shape=None):
        if self.logits.built:
            return
        self.layer_mix.build()
        copies = len(self._layer_numbers) if self.combine == "concat" else 1
        size = copies * self.backbone.hidden_dim
        for lstm in self.lstms:
            lstm.build((None, None, size))
            size = 2 * self.lstm_units
        self.logits.build((None, None, size))

    def call(self, inputs, training=None):
        found = self.backbone(inputs, training=False, details="hidden_states")
        x = self.layer_mix(
            [
                ops.stop_gradient(ops.cast(found[number], "float32"))
                for number in self._layer_numbers
            ]
        )
        mask = inputs.get("padding_mask")
        if mask is None:
            mask = ops.ones_like(inputs["token_ids"])
        mask = ops.not_equal(mask, 0)
        for lstm in self.lstms:
            x = self.logits_dropout(x, training=training)
            x = lstm(x, mask=mask, training=training)
        x = self.logits_dropout(x, training=training)
        return ops.cast(self.logits(x), "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_layers": self.hidden_layers,
            "combine": self.combine,
            "lstm_units": self.lstm_units,
            "lstm_layers": self.lstm_layers,
        }
