"""Cross-entropy of integer labels, and its mean by weight.

The value per label is logsumexp(logits) - logits[label], in float32. One-hot
labels of a vocabulary of 30,522 would take as much memory as the logits.
(log_softmax does the subtraction inside a fused kernel: on torch its forward
and backward pass take a third of the time of logsumexp and a gather.)
"""

import contextlib
import contextvars

from keras import ops

from keras_bert.training._backend import note_losses
from keras_bert.training._backend import noted_losses
from keras_bert.training._backend import sum_over_replicas

_SUMMED = contextvars.ContextVar("keras_bert_summed_shares", default=False)


@contextlib.contextmanager
def summed_shares():
    """Inside, weights are shares already divided by the whole batch's sum.

    A batch that is worked through in parts (see `accumulation.py`) knows the
    divisor of all parts before the first of them.
    """
    token = _SUMMED.set(True)
    try:
        yield
    finally:
        _SUMMED.reset(token)


def cross_entropy(labels, logits):
    """Labels [...] and logits [..., n] to losses [...], float32."""
    given = labels, logits = tuple(map(ops.convert_to_tensor, (labels, logits)))
    logits = ops.cast(logits, "float32")
    labels = ops.reshape(ops.cast(labels, "int32"), ops.shape(logits)[:-1])
    logits = ops.log_softmax(logits, axis=-1)
    losses = -ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    note_losses(given[1], given[0], losses)
    return losses


def measured_cross_entropy(labels, logits):
    """`cross_entropy` for a metric: without gradient, and not once more.

    Over a vocabulary it is a hundredth of a step.
    """
    labels, logits = map(ops.convert_to_tensor, (labels, logits))
    losses = noted_losses(logits, labels)
    return cross_entropy(labels, logits) if losses is None else losses


def weights_like(sample_weight, values):
    """Weights [...] or [batch] (or None) brought to the shape of values."""
    if sample_weight is None:
        return ops.ones_like(values)
    weight = ops.cast(sample_weight, "float32")
    while len(weight.shape) > len(values.shape) and weight.shape[-1] == 1:
        weight = ops.squeeze(weight, -1)
    while len(weight.shape) < len(values.shape):
        weight = weight[..., None]
    return ops.broadcast_to(weight, ops.shape(values))


def weighted_mean(values, weight):
    """Sum of values over the sum of weights of the whole batch; 0 for none.

    Under tf.distribute the batch is spread over replicas and gradients are
    summed, so the divisor is the sum over all of them.
    """
    # A value at weight 0 must not count, even if it is not finite.
    summed = ops.sum(ops.where(weight != 0, values * weight, 0.0))
    if _SUMMED.get():
        return summed
    total = sum_over_replicas(ops.sum(weight))
    return ops.divide_no_nan(summed, total)
