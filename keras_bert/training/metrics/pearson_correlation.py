"""The Pearson correlation coefficient (a metric of STS-B)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_bert")
class PearsonCorrelation(keras.metrics.Metric):
    """Linear correlation of predicted and true numbers, from -1 to 1.

    Means and squared deviations are kept over all batches, joined in a way
    that does not subtract large sums. It is 0 where either side is constant.

    Args:
        name: String.
        dtype: The dtype of the sums.

    Call arguments:
        y_true: Float tensor [batch] or [batch, 1].
        y_pred: Float tensor with as many numbers.
        sample_weight: Float tensor [batch], or None.

    Example:

    ```python
    pearson = keras_bert.metrics.PearsonCorrelation()
    pearson.update_state([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    pearson.result()  # 1.0
    ```

    Reference: Chan, Golub and LeVeque, Updating formulae and a pairwise
        algorithm for computing sample variances, 1979.
    """

    def __init__(self, name="pearson_correlation", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.count = self.add_variable((), "zeros", name="count")
        # [true, predicted]
        self.means = self.add_variable((2,), "zeros", name="means")
        # Sums of products of deviations, [[tt, tp], [pt, pp]].
        self.products = self.add_variable((2, 2), "zeros", name="products")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.reshape(ops.cast(y_true, self.dtype), (-1,))
        y_pred = ops.reshape(ops.cast(y_pred, self.dtype), (-1,))
        both = ops.stack([y_true, y_pred], axis=-1)
        if sample_weight is None:
            weight = ops.ones_like(y_true)[:, None]
        else:
            weight = ops.reshape(ops.cast(sample_weight, self.dtype), (-1, 1))
        added = ops.sum(weight)
        means = ops.divide_no_nan(ops.sum(both * weight, axis=0), added)
        deviations = both - means
        products = ops.matmul(ops.transpose(deviations * weight), deviations)
        count = self.count + added
        shift = means - self.means
        shared = ops.divide_no_nan(self.count * added, count)
        self.products.assign_add(
            products + shared * shift[:, None] * shift[None, :]
        )
        self.means.assign_add(shift * ops.divide_no_nan(added, count))
        self.count.assign(count)

    def result(self):
        products = ops.convert_to_tensor(self.products)
        spread = products[0, 0] * products[1, 1]
        return ops.divide_no_nan(products[0, 1], ops.sqrt(spread))
