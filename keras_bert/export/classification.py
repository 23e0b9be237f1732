"""Outputs of an exported classifier."""

import keras

from keras_bert._tensorflow import tensorflow


def classification_outputs(logits, activation, labels=None):
    """`logits`, `probabilities` and `label` as TensorFlow tensors.

    Args:
        logits: float32 `[batch, ..., classes]`.
        activation: the model's activation. Its output is taken as the
            probabilities; for the linear one they are the softmax.
        labels: list of class names, or `None`: then the label is the number
            of the class, as a string.
    """
    tf = tensorflow()
    linear = activation is keras.activations.linear
    probabilities = tf.nn.softmax(logits) if linear else activation(logits)
    best = tf.argmax(logits, axis=-1)
    if labels is None:
        label = tf.strings.as_string(best)
    else:
        label = tf.gather(tf.constant([str(name) for name in labels]), best)
    return {"logits": logits, "probabilities": probabilities, "label": label}
