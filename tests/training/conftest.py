"""Models of a few weights, made to compile themselves by the recipe."""

import keras
import numpy as np
import pytest

from keras_bert.training import AutoCompile
from keras_bert.training import MaskedLMLoss
from keras_bert.training import NextSentenceLoss
from keras_bert.training import metrics


class Fitting(AutoCompile, keras.Model):
    """What every task model does with the mixin."""

    def fit(self, x=None, y=None, callbacks=(), **arguments):
        names = ("batch_size", "epochs", "initial_epoch", "steps_per_epoch")
        asked = {k: v for k, v in arguments.items() if k in names}
        ours = self._prepare_fit(x, **asked)
        arguments.setdefault("verbose", 0)
        return super().fit(x, y, callbacks=[*ours, *callbacks], **arguments)


@keras.saving.register_keras_serializable("keras_bert_tests")
class TinyPretrainer(Fitting):
    """Guesses each token from itself, and a label from the first."""

    _recipe = "pretraining"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.table = keras.layers.Embedding(12, 8)
        self.table.build((None, None))
        self.layer_norm = keras.layers.LayerNormalization()
        self.layer_norm.build((None, None, 8))
        self.mask_ids = keras.layers.Dense(12)
        self.mask_ids.build((None, None, 8))
        self.next_sentence = keras.layers.Dense(2)
        self.next_sentence.build((None, 8))
        self.built = True
        self.compile()

    def call(self, x):
        hidden = self.layer_norm(self.table(x["token_ids"]))
        return {
            "mask_ids": self.mask_ids(hidden),
            "next_sentence": self.next_sentence(hidden[:, 0]),
        }

    def _auto_loss(self):
        return {
            "mask_ids": MaskedLMLoss(),
            "next_sentence": NextSentenceLoss(),
        }

    def _auto_weighted_metrics(self):
        return {
            "mask_ids": [
                metrics.MaskedAccuracy(name="accuracy"),
                metrics.Perplexity(),
            ],
            "next_sentence": [metrics.MaskedAccuracy(name="accuracy")],
        }

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_bert_tests")
class OneWeight(Fitting):
    """Its loss is its weight: every gradient is 1, a step shows the rate."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.w = self.add_weight(shape=(), initializer="zeros", name="kernel")
        self.built = True
        self.compile()

    def call(self, x):
        return keras.ops.zeros_like(x) + self.w

    def _auto_loss(self):
        return own_output

    def get_config(self):
        return {"name": self.name}


@keras.saving.register_keras_serializable("keras_bert_tests")
def own_output(y_true, y_pred):
    return y_pred


class Rates(keras.callbacks.Callback):
    """The step sizes of a OneWeight, in the order of the batches."""

    def on_train_begin(self, logs=None):
        self.weights = [self.weight()]

    def on_train_batch_end(self, batch, logs=None):
        if keras.config.backend() == "jax":
            # Puts the values of the compiled step back into the variables.
            self.model.jax_state_sync()
        self.weights.append(self.weight())

    def weight(self):
        return float(keras.ops.convert_to_numpy(self.model.w))

    @property
    def values(self):
        return -np.diff(self.weights)


@pytest.fixture
def pretrainer():
    keras.utils.set_random_seed(1)
    return TinyPretrainer()


@pytest.fixture
def pretraining_batch():
    """x, y and weight of 16 rows with 5 tokens."""
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 12, (16, 5)).astype("int32")
    weight = (rng.random((16, 5)) < 0.4).astype("float32")
    return (
        {"token_ids": ids},
        {"mask_ids": ids, "next_sentence": ids[:, 0] % 2},
        {"mask_ids": weight, "next_sentence": np.ones(16, "float32")},
    )


@pytest.fixture
def one_weight():
    return OneWeight()


@pytest.fixture
def rates():
    return Rates
