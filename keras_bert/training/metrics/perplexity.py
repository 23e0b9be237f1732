"""How many tokens the model hesitates between."""

import keras
from keras import ops

from keras_bert.training._cross_entropy import measured_cross_entropy
from keras_bert.training._cross_entropy import weights_like


@keras.saving.register_keras_serializable("keras_bert")
class Perplexity(keras.metrics.Mean):
    """exp of the mean cross-entropy over all tokens with a weight.

    The mean runs over the tokens of all batches, so it is not the mean of
    the batches' perplexities. Pass it as one of `weighted_metrics`.

    Args:
        name: String.
        dtype: The dtype of the sums.

    Call arguments:
        y_true: Integer tensor [...] of labels.
        y_pred: Float tensor [..., classes], logits.
        sample_weight: Float tensor [...] or [batch], or None.

    Example:

    ```python
    perplexity = keras_bert.metrics.Perplexity()
    perplexity.update_state([[3]], [[[0.0, 0.0, 0.0, 0.0]]])
    perplexity.result()  # 4.0
    ```
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        losses = measured_cross_entropy(y_true, y_pred)
        super().update_state(losses, weights_like(sample_weight, losses))

    def result(self):
        # Without a single token the mean is 0, which would read as perfect.
        return ops.where(self.count > 0, ops.exp(super().result()), 0.0)
