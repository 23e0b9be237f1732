"""The loss of the masked language model."""

import keras

from keras_bert.training._cross_entropy import cross_entropy
from keras_bert.training._cross_entropy import weighted_mean
from keras_bert.training._cross_entropy import weights_like


@keras.saving.register_keras_serializable("keras_bert")
class MaskedLMLoss(keras.losses.Loss):
    """Mean cross-entropy over the masked tokens of the whole batch.

    The sum of the losses is divided by the sum of the weights, so that a
    batch counts every masked token alike, however they are spread over its
    rows. Keras' own reduction divides by the number of places, padding
    included. A batch without a masked token has the loss 0.

    Args:
        name: String.

    Call arguments:
        y_true: Integer tensor [batch, masks], the ids of the masked tokens.
        y_pred: Float tensor [batch, masks, vocabulary], logits. They are
            taken as float32.
        sample_weight: Float tensor [batch, masks] or [batch], 1 at a masked
            token and 0 at padding. None counts every place.

    Example:

    ```python
    loss = keras_bert.MaskedLMLoss()
    logits = np.zeros((1, 2, 4))
    loss([[3, 0]], logits, sample_weight=[[1.0, 0.0]])  # log(4)
    ```

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), 3.1.
    """

    def __init__(self, name="masked_lm_loss", **kwargs):
        # A saved config names the reduction; this class has only one.
        kwargs.pop("reduction", None)
        super().__init__(name=name, reduction="sum", **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_pred = keras.ops.convert_to_tensor(y_pred)
        losses = self.call(keras.ops.convert_to_tensor(y_true), y_pred)
        return weighted_mean(losses, weights_like(sample_weight, losses))

    def call(self, y_true, y_pred):
        return cross_entropy(y_true, y_pred)

    def get_config(self):
        return {"name": self.name}
