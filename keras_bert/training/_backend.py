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


def whole_gradients(gradients, global_clipnorm):
    """Gradients as the optimizer of Keras has to get them.

    On one device they are only made dense. Under tf.distribute each replica
    holds a part of the sum, and Keras would clip the parts. Here they are
    summed, clipped, and divided into equal parts, which Keras sums again.
    """
    gradients = [dense_gradient(g) for g in gradients]
    replicas = sum_over_replicas(1.0)
    if not global_clipnorm or isinstance(replicas, float):
        return gradients
    tf = tensorflow()
    gradients = [None if g is None else sum_over_replicas(g) for g in gradients]
    gradients, _ = tf.clip_by_global_norm(gradients, global_clipnorm)
    return [None if g is None else g / replicas for g in gradients]


def clipped_in_place(gradients, global_clipnorm):
    """Clips gradients of torch by their norm; whether that has been done.

    Keras makes three more tensors of every gradient for the same.
    """
    if keras.config.backend() != "torch" or not global_clipnorm:
        return False
    import torch

    found = [g for g in gradients if g is not None]
    if not all(type(g) is torch.Tensor for g in found):
        return False
    with torch.no_grad():
        norm = torch.nn.utils.get_total_norm(found)
        # No epsilon is added, unlike in clip_grad_norm_.
        scale = global_clipnorm / torch.clamp(norm, min=global_clipnorm)
        if float(scale) != 1.0:
            for gradient in found:
                gradient.mul_(scale)
    return True


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
    import torch

    # Trained weights ask for gradients, of which this is no part.
    with torch.no_grad():
        m, v, variable = m.value, v.value, variable.value
        m.lerp_(gradient, 1 - optimizer.beta_1)
        v.mul_(optimizer.beta_2)
        v.addcmul_(gradient, gradient, value=1 - optimizer.beta_2)
        # The rate divides the divisor, which makes no further tensor; where
        # it is 0 the quotient is m / inf, that is 0.
        root = v.sqrt().div_(root).add_(optimizer.epsilon).div_(rate)
        variable.addcdiv_(m, root, value=-1)


def adamw_fused(optimizer, gradient, variable, m, v, rate):
    """The update by torch's own fused kernel.

    It reads every weight once instead of some ten times. It knows the update
    with bias correction only, and not every kind of device.

    Returns whether it has been done.
    """
    if keras.config.backend() != "torch" or not optimizer.bias_correction:
        return False
    import torch
    from torch.optim.adamw import adamw

    value = variable.value
    if (
        value.device.type not in ("cpu", "cuda")
        or not value.is_floating_point()
    ):
        return False
    steps = torch.tensor(
        float(optimizer.iterations), dtype=torch.float32, device=value.device
    )
    with torch.no_grad():
        adamw(
            [value],
            [gradient.to(value.dtype)],
            [m.value],
            [v.value],
            [],
            [steps],  # The kernel counts this step itself.
            fused=True,
            amsgrad=False,
            beta1=optimizer.beta_1,
            beta2=optimizer.beta_2,
            lr=float(rate),
            weight_decay=0.0,  # Keras has done that.
            eps=optimizer.epsilon,
            maximize=False,
        )
    return True


def random_state():
    """State of random numbers that no Keras variable holds, as arrays.

    Torch's dropout draws from the generators of torch itself; TensorFlow and
    JAX draw from the seed variables of the layers.
    """
    if keras.config.backend() != "torch":
        return {}
    import torch

    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        for number, state in enumerate(torch.cuda.get_rng_state_all()):
            states[f"cuda:{number}"] = state
    return {name: state.numpy() for name, state in states.items()}


def set_random_state(states):
    """Puts back what `random_state` gave."""
    if keras.config.backend() != "torch":
        return
    import torch

    for name, state in states.items():
        state = torch.from_numpy(state.copy())
        if name == "cpu":
            torch.set_rng_state(state)
        elif int(name.partition(":")[2]) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, name)
