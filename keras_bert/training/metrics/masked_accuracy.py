"""The share of labels that the highest logit names."""

import keras
from keras import ops

from keras_bert.training._backend import is_argmax
from keras_bert.training._cross_entropy import weights_like


@keras.saving.register_keras_serializable("keras_bert")
class MaskedAccuracy(keras.metrics.Mean):
    """Accuracy over the places with a weight, for integer labels.

    It serves masked tokens, segment pairs, words and whole texts. Pass it as
    one of `weighted_metrics`, or padding counts as well.

    Args:
        name: String.
        dtype: The dtype of the sums.

    Call arguments:
        y_true: Integer tensor [...] of labels.
        y_pred: Float tensor [..., classes], logits or probabilities.
        sample_weight: Float tensor [...] or [batch], or None.

    Example:

    ```python
    accuracy = keras_bert.metrics.MaskedAccuracy()
    accuracy.update_state([[1, 0]], [[[0, 2], [0, 2]]], [[1, 0]])
    accuracy.result()  # 1.0
    ```
    """

    def __init__(self, name="masked_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits = ops.convert_to_tensor(y_pred)
        labels = ops.reshape(y_true, ops.shape(logits)[:-1])
        right = ops.cast(is_argmax(labels, logits), "float32")
        super().update_state(right, weights_like(sample_weight, right))
