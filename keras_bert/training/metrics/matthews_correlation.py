"""The Matthews correlation coefficient (the metric of CoLA)."""

import keras
from keras import ops

from keras_bert._errors import invalid


@keras.saving.register_keras_serializable("keras_bert")
class MatthewsCorrelation(keras.metrics.Metric):
    """Correlation of predicted and true classes, from -1 to 1.

    The counts of a confusion matrix are kept over all batches. With more than
    two classes it is the R_K statistic. It is 0 where all predictions, or all
    labels, are one class: such a model knows nothing, however high its
    accuracy.

    Args:
        num_classes: Int.
        name: String.
        dtype: The dtype of the counts.

    Call arguments:
        y_true: Integer tensor [batch] of labels.
        y_pred: Float tensor [batch, num_classes], logits or probabilities;
            or integer tensor [batch] of classes.
        sample_weight: Float tensor [batch], or None.

    Example:

    ```python
    matthews = keras_bert.metrics.MatthewsCorrelation()
    matthews.update_state([1, 1, 0, 0], [1, 1, 0, 1])
    matthews.result()  # 0.577
    ```

    Reference: [Gorodkin, 2004](
        https://doi.org/10.1016/j.compbiolchem.2004.09.006).
    """

    def __init__(self, num_classes=2, name="matthews_correlation", dtype=None):
        super().__init__(name=name, dtype=dtype)
        if num_classes < 2:
            raise invalid("num_classes", "at least 2", num_classes)
        self.num_classes = num_classes
        self.counts = self.add_variable(
            shape=(num_classes, num_classes),
            initializer="zeros",
            name="counts",
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred)
        y_true = ops.reshape(ops.cast(y_true, "int32"), (-1,))
        if len(y_pred.shape) > 1 and y_pred.shape[-1] == self.num_classes:
            y_pred = ops.argmax(y_pred, axis=-1)
        y_pred = ops.reshape(ops.cast(y_pred, "int32"), (-1,))
        true = ops.one_hot(y_true, self.num_classes, dtype=self.dtype)
        predicted = ops.one_hot(y_pred, self.num_classes, dtype=self.dtype)
        if sample_weight is not None:
            weight = ops.reshape(ops.cast(sample_weight, self.dtype), (-1, 1))
            true = true * weight
        self.counts.assign_add(ops.matmul(ops.transpose(true), predicted))

    def result(self):
        # Shares instead of counts: the products of counts would lose digits.
        shares = ops.divide_no_nan(
            ops.convert_to_tensor(self.counts), ops.sum(self.counts)
        )
        true, predicted = ops.sum(shares, axis=1), ops.sum(shares, axis=0)
        covariance = ops.trace(shares) - ops.sum(true * predicted)
        spread = (1.0 - ops.sum(ops.square(true))) * (
            1.0 - ops.sum(ops.square(predicted))
        )
        return ops.divide_no_nan(covariance, ops.sqrt(ops.maximum(spread, 0.0)))

    def get_config(self):
        return {**super().get_config(), "num_classes": self.num_classes}
