"""What the layers share: activations by name, initializer, dropout."""

import keras
from keras import ops

from keras_bert import _backend
from keras_bert._errors import invalid


def _tanh_gelu(x):
    return keras.activations.gelu(x, approximate=True)


def _erf_gelu(x):
    return keras.activations.gelu(x, approximate=False)


# The names of Hugging Face's configs beside ours. "gelu" is the erf form, as
# in the first releases of BERT and in transformers.
ACTIVATIONS = {
    "gelu": _erf_gelu,
    "gelu_approximate": _tanh_gelu,
    "gelu_new": _tanh_gelu,
    "gelu_pytorch_tanh": _tanh_gelu,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": keras.activations.linear,
}


def activation_function(name):
    """The function of that name; a ValueError lists the known names."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        names = ", ".join(sorted(ACTIVATIONS))
        raise invalid("activation", f"one of {names}", name)
    return _backend.recomputed(ACTIVATIONS[name])


def initializer(initializer_range):
    """A fresh truncated normal, cut at two deviations as in the original.

    Fresh each time: one Keras initializer used twice gives the same values.
    """
    return keras.initializers.TruncatedNormal(stddev=initializer_range)


def layer_norm(epsilon, dtype, name):
    # Keras computes it in float32 under every policy: epsilon 1e-12 would
    # be 0 in float16.
    return keras.layers.LayerNormalization(
        epsilon=epsilon, dtype=dtype, name=name
    )


def check_rate(name, rate):
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise invalid(name, "a number from 0 up to, not including, 1", rate)
    return float(rate)


def check_size(name, size):
    if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
        raise invalid(name, "an integer of at least 1", size)
    return int(size)


class ReplicaSeeds(keras.random.SeedGenerator):
    def next(self, ordered=True):
        return _backend.fold_in_replica(super().next(ordered=ordered))


class Dropout(keras.layers.Layer):
    """Dropout whose replicas under tf.distribute drop different units."""

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.supports_masking = True
        if rate > 0:
            self.seed_generator = ReplicaSeeds()

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs, training=None):
        if not training or self.rate == 0:
            return inputs
        return _backend.dropout(inputs, self.rate, self.seed_generator)

    def compute_output_shape(self, input_shape):
        return input_shape
