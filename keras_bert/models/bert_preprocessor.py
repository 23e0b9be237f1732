"""What every preprocessor shares: strings in, padded rows of ids out."""

import keras

from keras_bert._errors import invalid
from keras_bert.data import SegmentJoiner


class BertPreprocessor:
    """Tokenizes one text or a pair and joins it into rows of ids.

    A plain callable, not a Keras layer: it works on Python strings, on
    tensors, and inside `tf.data.Dataset.map`, under every Keras backend.
    A tuple is a pair of segments; a list or an array is a batch.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Rows are cut and padded to this length.
        truncate: `"longest_first"` cuts the longer segment token by token as
            the original does; `"only_second"` cuts the second segment only.

    Call arguments:
        x: a string, a batch of strings, or a pair (tuple) of these.
        y, sample_weight: passed through.

    Returns `x` as a dict of int32 `token_ids`, `segment_ids` and
    `padding_mask`, each `[batch, sequence_length]` or `[sequence_length]`;
    `(x, y)` or `(x, y, sample_weight)` when these were given.

    Raises:
        ValueError: if `sequence_length` leaves no room for a token.
    """

    def __init__(
        self, tokenizer, sequence_length=128, truncate="longest_first"
    ):
        if not hasattr(tokenizer, "cls_token_id"):
            raise invalid("tokenizer", "a `BertTokenizer`", tokenizer)
        self.tokenizer = tokenizer
        self.sequence_length = sequence_length
        self.truncate = truncate
        self._joiner = SegmentJoiner(
            tokenizer, sequence_length=sequence_length, truncate=truncate
        )

    def __call__(self, x, y=None, sample_weight=None):
        return keras.utils.pack_x_y_sample_weight(
            self.rows(x), y, sample_weight
        )

    @property
    def only_pads(self):
        """Whether a call gives `rows` as they are, for one row per example."""
        own, plain = type(self), BertPreprocessor
        return own.__call__ is plain.__call__ and own.rows is plain.rows

    def rows(self, x):
        """The dict of padded rows for one text, a pair, or a batch."""
        if isinstance(x, tuple):
            if len(x) > 2:
                raise invalid("x", "a text or a pair of texts", x)
            return self._joiner(tuple(self.tokenizer(part) for part in x))
        return self._joiner(self.tokenizer(x))

    def get_config(self):
        return {
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "sequence_length": self.sequence_length,
            "truncate": self.truncate,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config["tokenizer"], dict):
            config["tokenizer"] = keras.saving.deserialize_keras_object(
                config["tokenizer"]
            )
        return cls(**config)
