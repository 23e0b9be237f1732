"""One update from the parts of a batch: a train step per backend.

The step of each backend is Keras' own with a loop round its middle. The loop
is one of the compiler where there is one, so that the program does not grow
with the number of parts and one part after the other takes the same memory.
There is no condition in it, which tf.distribute could not run.
"""

import keras
from keras import ops
from keras import tree

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.training._backend import sum_over_replicas
from keras_bert.training._backend import summed_gradient
from keras_bert.training._cross_entropy import summed_shares
from keras_bert.training._cross_entropy import weights_like


def accumulated_step(model, parts, *arguments):
    """What `train_step` of Keras does, in `parts` parts."""
    return _STEPS[keras.config.backend()](model, parts, *arguments)


def shares_of(y, sample_weight, parts):
    """Weights whose sums give the loss of the whole batch.

    Each weight is divided by the sum of all weights of its output, and
    multiplied by `parts`: the mean over the parts of the sums of weighted
    losses is then the weighted mean of the batch.
    """

    def share(labels, weight):
        weight = weights_like(weight, ops.cast(labels, "float32"))
        total = sum_over_replicas(ops.sum(weight))
        return ops.divide_no_nan(weight * parts, total)

    if sample_weight is None:
        return tree.map_structure(lambda labels: share(labels, None), y)
    return tree.map_structure(share, y, sample_weight)


def split(arrays, parts):
    """[rows, ...] to [rows / parts, parts, ...] for each array.

    Part i holds every parts-th row from row i on. Where rows are spread over
    devices, each device thus has its share of every part.
    """

    def one(array):
        rows = array.shape[0]
        if rows is not None and rows % parts:
            raise invalid(
                "accumulate", f"a divisor of the batch of {rows} rows", parts
            )
        return ops.reshape(array, (-1, parts, *ops.shape(array)[1:]))

    return tree.map_structure(one, arrays)


def _prepared(data, parts):
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    shares = shares_of(y, sample_weight, parts)
    if sample_weight is None:
        sample_weight = tree.map_structure(
            lambda labels: ops.ones_like(labels, dtype="float32"), y
        )
    return split((x, y, sample_weight, shares), parts)


def _rows(x):
    return ops.shape(tree.flatten(x)[0])[0]


def _loss_tracker(model):
    return next(metric for metric in model.metrics if metric.name == "loss")


def _tensorflow_step(model, parts, data):
    tf = tensorflow()
    data = _prepared(data, parts)
    variables = model.trainable_variables
    replicas = tf.distribute.get_strategy().num_replicas_in_sync

    def gradients_of(part):
        x, y, weight, share = tree.map_structure(lambda a: a[:, part], data)
        with tf.GradientTape() as tape:
            y_pred = model(x, training=True)
            with summed_shares():
                loss = model.compute_loss(
                    x, y, y_pred, sample_weight=share, training=True
                )
            scaled = model.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, variables)
        _loss_tracker(model).update_state(
            loss * replicas, sample_weight=_rows(x)
        )
        model.compute_metrics(x, y, y_pred, sample_weight=weight)
        return [
            None if g is None else summed_gradient(g) / parts for g in gradients
        ]

    # The first part tells which variables have no gradient.
    first = gradients_of(0)
    places = [i for i, g in enumerate(first) if g is not None]

    def body(part, sums):
        more = gradients_of(part)
        return part + 1, [
            s + more[i] for s, i in zip(sums, places, strict=True)
        ]

    _, sums = tf.while_loop(
        lambda part, sums: part < parts,
        body,
        (1, [first[i] for i in places]),
        parallel_iterations=1,
    )
    gradients = list(first)
    for place, gradient in zip(places, sums, strict=True):
        gradients[place] = gradient
    model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return model.get_metrics_result()


def _jax_step(model, parts, state, data):
    import jax

    trained, others, optimizer, metrics = state
    data = jax.tree.map(lambda a: a.swapaxes(0, 1), _prepared(data, parts))
    gradient = jax.value_and_grad(model.compute_loss_and_updates, has_aux=True)

    def one(carry, part):
        sums, others, metrics = carry
        x, y, weight, share = part
        with summed_shares():
            (_, found), gradients = gradient(
                trained,
                others,
                metrics,
                x,
                y,
                share,
                training=True,
                optimizer_variables=optimizer,
            )
        loss, y_pred, others, metrics = found
        with _metrics_as(model, metrics) as scope:
            _loss_tracker(model).update_state(loss, sample_weight=_rows(x))
            model.compute_metrics(x, y, y_pred, weight)
        metrics = [scope.get_current_value(v) for v in model.metrics_variables]
        sums = [s + g / parts for s, g in zip(sums, gradients, strict=True)]
        return (sums, list(others), metrics), None

    zeros = [jax.numpy.zeros_like(value) for value in trained]
    (gradients, others, metrics), _ = jax.lax.scan(
        one, (zeros, list(others), list(metrics)), data
    )
    trained, optimizer = model.optimizer.stateless_apply(
        optimizer, gradients, trained
    )
    with _metrics_as(model, metrics):
        logs = model.get_metrics_result()
    return logs, (trained, others, optimizer, metrics)


def _metrics_as(model, values):
    return keras.StatelessScope(
        state_mapping=list(zip(model.metrics_variables, values, strict=True))
    )


def _torch_step(model, parts, data):
    import torch

    data = _prepared(data, parts)
    model.zero_grad()
    for part in range(parts):
        x, y, weight, share = tree.map_structure(
            lambda a, part=part: a[:, part], data
        )
        y_pred = model(x, training=True)
        with summed_shares():
            loss = model.compute_loss(
                x, y, y_pred, sample_weight=share, training=True
            )
        _loss_tracker(model).update_state(loss, sample_weight=_rows(x))
        # Torch adds to the gradients that are there.
        (model.optimizer.scale_loss(loss) / parts).backward()
        model.compute_metrics(x, y, y_pred, sample_weight=weight)
    variables = list(model.trainable_weights)
    with torch.no_grad():
        model.optimizer.apply([v.value.grad for v in variables], variables)
    return model.get_metrics_result()


_STEPS = {
    "tensorflow": _tensorflow_step,
    "jax": _jax_step,
    "torch": _torch_step,
}
