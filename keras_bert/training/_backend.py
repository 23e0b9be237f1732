"""The few places of training where one body for all backends will not do."""

import keras

from keras_bert._tensorflow import tensorflow


def dense_gradient(gradient):
    """A gradient as one tensor; TensorFlow gives slices for embeddings.

    Slices repeat the row of a token as often as the batch has it. Keras takes
    the norm of the slices, not of their sum, and so would clip too little.
    """
    if keras.config.backend() == "tensorflow":
        tf = tensorflow()
        if isinstance(gradient, tf.IndexedSlices):
            return tf.convert_to_tensor(gradient)
    return gradient


def sum_over_replicas(x):
    """The sum of a tensor over the replicas of a tf.distribute strategy."""
    if keras.config.backend() == "tensorflow":
        distribute = tensorflow().distribute
        context = distribute.get_replica_context()
        if context is not None and context.num_replicas_in_sync > 1:
            return context.all_reduce(distribute.ReduceOp.SUM, x)
    return x


def updates_in_place():
    """Whether `adam_in_place` is the faster way."""
    return keras.config.backend() == "torch"


def adam_in_place(optimizer, gradient, variable, m, v, rate, root):
    """The update of AdamW by methods of torch tensors.

    Torch runs operations one by one and each makes a new tensor; this makes
    one. (Keras' own optimizers have a fast path that a subclass cannot
    reach.) For 49 variables with 1.3 million weights on 2 cores: 8 ms, against
    22 ms for the common body and 11 ms for keras.optimizers.AdamW.
    """
    m, v, variable = m.value, v.value, variable.value
    m.lerp_(gradient, 1 - optimizer.beta_1)
    v.mul_(optimizer.beta_2)
    v.addcmul_(gradient, gradient, value=1 - optimizer.beta_2)
    # The rate divides the divisor, which makes no further tensor; where it
    # is 0 the quotient is m / inf, that is 0.
    root = v.sqrt().div_(root).add_(optimizer.epsilon).div_(rate)
    variable.addcdiv_(m, root, value=-1)
