"""Gradients of a loss on any backend, for tests."""

import keras


def gradients(loss, variables):
    """Value of `loss()` and its gradient for each variable, as numpy arrays.

    A variable that `loss` does not depend on has the gradient `None`
    (TensorFlow, PyTorch) or zeros (JAX).

    Args:
        loss: callable without arguments that reads `variables` through
            layers and returns a scalar tensor.
        variables: list of `keras.Variable`.
    """
    body = {
        "tensorflow": _gradients_tensorflow,
        "jax": _gradients_jax,
        "torch": _gradients_torch,
    }[keras.config.backend()]
    value, grads = body(loss, variables)
    to_numpy = keras.ops.convert_to_numpy
    return to_numpy(value), [g if g is None else to_numpy(g) for g in grads]


def _gradients_tensorflow(loss, variables):
    from keras_bert._tensorflow import tensorflow

    tf = tensorflow()
    values = [variable.value for variable in variables]
    with tf.GradientTape() as tape:
        value = loss()
    # Gradients of lookups come as pairs of rows and indices.
    grads = tape.gradient(value, values)
    return value, [g if g is None else tf.convert_to_tensor(g) for g in grads]


def _gradients_jax(loss, variables):
    import jax

    def of_values(values):
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return loss()

    # Compiled as one: op by op, every op of the loss would be compiled alone.
    return jax.jit(jax.value_and_grad(of_values))([v.value for v in variables])


def _gradients_torch(loss, variables):
    import torch

    value = loss()
    values = [variable.value for variable in variables]
    grads = torch.autograd.grad(value, values, allow_unused=True)
    return value.detach(), grads
