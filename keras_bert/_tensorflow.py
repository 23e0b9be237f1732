"""The only door through which TensorFlow enters the library.

tf.data and tensorflow-text do the text work under every backend. Where
TensorFlow is not the Keras backend it must not reserve GPU memory, so its
GPUs are hidden before anything else can touch them.
"""

import contextlib
import functools

import keras


@functools.cache
def tensorflow():
    """The tensorflow module, GPUs hidden unless it is the Keras backend."""
    import tensorflow as tf

    if keras.config.backend() != "tensorflow":
        # A RuntimeError means that the user's own code has already
        # initialised the GPUs: a choice made outside this library.
        with contextlib.suppress(RuntimeError):
            tf.config.set_visible_devices([], "GPU")
    return tf


def without_autotune(dataset):
    """The dataset with tf.data's autotuning off, if nobody has set it.

    Its thread sleeps for longer and longer, and is not always woken when an
    iterator ends: the end of an epoch then waits for it, 15 seconds and more
    (TensorFlow 2.21, in `Model::OptimizeLoop`, about every second `fit` on
    two cores).
    """
    if dataset.options().autotune.enabled is not None:
        return dataset
    options = tensorflow().data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


@functools.cache
def tensorflow_text():
    """The tensorflow_text module (its import registers the ops)."""
    tensorflow()
    import tensorflow_text

    return tensorflow_text
