"""The loss of the next sentence prediction."""

import keras

from keras_bert.training.masked_lm_loss import MaskedLMLoss


@keras.saving.register_keras_serializable("keras_bert")
class NextSentenceLoss(MaskedLMLoss):
    """Mean cross-entropy over the segment pairs of the whole batch.

    A packed row holds several pairs; rows with fewer are filled up with
    weight 0.

    Args:
        name: String.

    Call arguments:
        y_true: Integer tensor [batch] or [batch, pairs]; 0 says that the
            second segment follows the first, 1 that it is a random one.
        y_pred: Float tensor [batch, 2] or [batch, pairs, 2], logits.
        sample_weight: Float tensor of the shape of `y_true`, or None.

    Example:

    ```python
    loss = keras_bert.training.NextSentenceLoss()
    loss([0, 1], np.zeros((2, 2)))  # log(2)
    ```

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), 3.1.
    """

    def __init__(self, name="next_sentence_loss", **kwargs):
        super().__init__(name=name, **kwargs)
