"""Several layers of hidden states as one vector per token."""

import keras
from keras import ops

from keras_bert._errors import invalid

COMBINE = ("concat", "sum", "weighted", None)


@keras.saving.register_keras_serializable("keras_bert")
class LayerMix(keras.layers.Layer):
    """Combines the hidden states of several layers, token by token.

    Args:
        count: int, how many layers there are.
        combine: `"concat"`, `"sum"`, `"weighted"` (a mean by the softmax of
            trainable numbers that start equal), or `None` for one layer.

    Call arguments:
        states: list of `count` float tensors `[batch, length, dim]`.

    Returns `[batch, length, dim]`, for `"concat"` `[..., count * dim]`.

    Raises:
        ValueError: if `combine` does not fit the number of layers.

    Example:

    ```python
    mix = LayerMix(4, "weighted")
    mix([np.ones((1, 3, 8))] * 4)  # ones
    ```

    Source: Devlin et al. (2018), table 7; the weights are those of Peters et
    al. (2018), https://arxiv.org/abs/1802.05365, without the common factor.
    """

    def __init__(self, count, combine=None, **kwargs):
        super().__init__(**kwargs)
        if combine not in COMBINE:
            raise invalid("combine", f"one of {COMBINE}", combine)
        if combine is None and count != 1:
            raise invalid(
                "combine", f'"concat", "sum" or "weighted" for {count} layers',
                combine,
            )  # fmt: skip
        self.count = count
        self.combine = combine
        self.layer_weights = None

    def build(self, input_shape=None):
        if self.combine == "weighted":
            self.layer_weights = self.add_weight(
                shape=(self.count,),
                initializer="zeros",
                name="layer_weights",
            )
        self.built = True

    def call(self, states):
        if self.combine == "concat":
            return ops.concatenate(states, axis=-1)
        if self.combine == "weighted":
            weights = ops.softmax(self.layer_weights)
            return ops.sum(ops.stack(states, axis=-1) * weights, axis=-1)
        return sum(states[1:], states[0])

    def get_config(self):
        return {
            **super().get_config(),
            "count": self.count,
            "combine": self.combine,
        }
