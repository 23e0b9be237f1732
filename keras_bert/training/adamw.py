"""AdamW as BERT uses it, with and without bias correction."""

import math

import keras
from keras import ops

from keras_bert.training._backend import adam_in_place
from keras_bert.training._backend import adamw_fused
from keras_bert.training._backend import clip_divisor
from keras_bert.training._backend import divide_in_place
from keras_bert.training._backend import fuses_adamw
from keras_bert.training._backend import updates_in_place
from keras_bert.training._backend import whole_gradients
from keras_bert.training.warmup_decay import WarmupDecay


@keras.saving.register_keras_serializable("keras_bert")
class AdamW(keras.optimizers.Optimizer):
    """Adam with decoupled weight decay, as in BERT.

    With `bias_correction=True` (the stable choice, above all on small data
    sets) one step is that of `torch.optim.AdamW`:

        g = g * min(1, global_clipnorm / norm of all gradients)
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g * g
        u = (m / (1 - beta_1^t)) / (sqrt(v / (1 - beta_2^t)) + epsilon)
        w = w - rate * (u + weight_decay * w)

    so epsilon is added outside the corrected root (`keras.optimizers.AdamW`
    adds it to the uncorrected one). With `bias_correction=False` it is the
    update of the 2018 code, `u = m / (sqrt(v) + epsilon)`.

    The decay leaves out every variable whose `name` contains one of
    `no_decay`. The name is the last part of a path ("kernel", "bias",
    "gamma", "beta", "embeddings"); names of layers never match.

    Args:
        learning_rate: Float, a schedule such as `keras_bert.WarmupDecay`, or
            a callable without arguments. The variable of a `WarmupDecay`
            becomes one of the optimizer's own.
        weight_decay: Float or None. Share of each weight that is taken off,
            times the rate.
        beta_1: Float. Decay of the mean of gradients.
        beta_2: Float. Decay of the mean of squared gradients.
        epsilon: Float. Keeps the division finite.
        bias_correction: Bool. Whether the two means are corrected for having
            started at zero.
        no_decay: Sequence of strings. Parts of names of variables without
            decay.
        rate_factors: Dict or None. Part of a variable's path -> factor of its
            learning rate (and decay); the first part that is found counts.
            `{"encoder_block_0/": 0.5}` halves the rate of the lowest block.
        global_clipnorm: Float or None. Upper limit for the norm of all
            gradients taken together; 1.0 as in BERT. It becomes None where
            `clipnorm` or `clipvalue` is given.
        gradient_accumulation_steps: Int or None. Number of batches whose
            gradients are averaged into one update. A `WarmupDecay` then
            counts updates, not batches.
        clipnorm, clipvalue, use_ema, ema_momentum, ema_overwrite_frequency,
            loss_scale_factor, name: As in `keras.optimizers.Optimizer`.

    Example:

    ```python
    optimizer = keras_bert.AdamW(
        keras_bert.WarmupDecay(2e-5, warmup=0.1, total_steps=1000)
    )
    model.compile(optimizer, loss="mse")
    ```

    Reference:
        [Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101);
        on the correction [Zhang et al., 2021](
        https://arxiv.org/abs/2006.05987).
    """

    def __init__(
        self,
        learning_rate=2e-5,
        weight_decay=0.01,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=True,
        no_decay=("bias", "gamma", "beta"),
        rate_factors=None,
        clipnorm=None,
        clipvalue=None,
        global_clipnorm=1.0,
        **kwargs,
    ):
        clips_otherwise = clipnorm is not None or clipvalue is not None
        if clips_otherwise and global_clipnorm == 1.0:
            # Keras allows one way of clipping, and 1.0 is only our default.
            global_clipnorm = None
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            **kwargs,
        )
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.bias_correction = bias_correction
        self.no_decay = tuple(no_decay or ())
        self.rate_factors = dict(rate_factors or {})
        # Ids, since Keras would track variables that are kept here.
        self._undecayed = set()
        # For `adamw_fused`: by id of a tensor.
        self.row_buffers = {}
        self._fuses, self._updates, self._left = False, {}, 0
        self._clip = None
        if isinstance(learning_rate, WarmupDecay):
            self.schedule = learning_rate
            learning_rate.batches_per_step = (
                self.gradient_accumulation_steps or 1
            )
            # Keras tracks every variable that is set as an attribute.
            self.schedule_span = learning_rate.span
        else:
            self.schedule = None

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Adds variables, or parts of names, to those without decay."""
        self.no_decay += tuple(var_names or ())
        self._undecayed.update(id(v) for v in var_list or ())

    def decays(self, variable):
        """Whether the weight decay applies to a Keras variable."""
        named = any(part in variable.name for part in self.no_decay)
        return not named and id(variable) not in self._undecayed

    def rate_factor(self, variable):
        """The factor of the learning rate of a Keras variable."""
        found = (f for part, f in self.rate_factors.items()
                 if part in variable.path)  # fmt: skip
        return next(found, 1.0)

    def build(self, var_list):
        if self.built:
            return
        # By variable and not by name: Keras would search the names that the
        # backend gave, and those of TensorFlow hold the names of the layers.
        super().exclude_from_weight_decay(
            var_list=[v for v in var_list if not self.decays(v)]
        )
        super().build(var_list)
        # By place, since TensorFlow updates variables of its own, without path.
        self._factors = tuple(map(self.rate_factor, var_list))
        self._decayed = tuple(map(self.decays, var_list))
        self.momentums, self.velocities = self.add_optimizer_variables(
            var_list, ["momentum", "velocity"]
        )

    def apply(self, grads, trainable_variables=None):
        limit = self.global_clipnorm
        grads = whole_gradients(grads, limit)
        self._fuses = fuses_adamw(self, grads)
        self._clip = None
        # With accumulation Keras clips the sum of several calls, not these.
        if self.gradient_accumulation_steps is None:
            self._clip = clip_divisor(grads, limit)
        if self._clip is not None:
            self.global_clipnorm = None
            if not self._fuses:
                divide_in_place(grads, self._clip)
        decay = self.weight_decay
        if self._fuses:
            # The kernel clips and decays too, and takes all variables at once.
            self.weight_decay, self._fused_decay = None, decay or 0.0
            self._updates, self._left = {}, sum(g is not None for g in grads)
        try:
            super().apply(grads, trainable_variables)
        finally:
            self.global_clipnorm, self.weight_decay = limit, decay

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        m, v = self.momentums[index], self.velocities[index]
        factor = self._factors[index]
        if self._fuses:
            decay = self._fused_decay if self._decayed[index] else 0.0
            alike = self._updates.setdefault((factor, decay), [])
            alike.append((gradient, variable, m, v))
            self._left -= 1
            if not self._left:
                clip = 1.0 if self._clip is None else self._clip
                adamw_fused(self, self._updates, learning_rate, clip)
                self._updates = {}
            return
        rate = learning_rate * factor
        if factor != 1.0 and self.weight_decay and self._decayed[index]:
            # Keras has decayed the variable by the whole rate.
            done = 1.0 - learning_rate * self.weight_decay
            wanted = 1.0 - rate * self.weight_decay
            scale = ops.cast(wanted / done, variable.dtype)
            self.assign(variable, variable * scale)
        # u = m / (1 - beta_1^t) / (sqrt(v) / sqrt(1 - beta_2^t) + epsilon)
        root = 1.0
        if self.bias_correction:
            step = ops.cast(self.iterations, "float32") + 1.0
            # 1 - beta^t without the digits that the subtraction would lose.
            rate = rate / -ops.expm1(step * math.log(self.beta_1))
            root = ops.sqrt(-ops.expm1(step * math.log(self.beta_2)))
        gradient = ops.cast(gradient, m.dtype)
        rate = ops.cast(rate, m.dtype)
        if updates_in_place():
            adam_in_place(self, gradient, variable, m, v, rate, root)
            return
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
        root = ops.sqrt(v) / ops.cast(root, v.dtype) + self.epsilon
        self.assign_sub(variable, rate * m / root)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "beta_1": self.beta_1,
                "beta_2": self.beta_2,
                "epsilon": self.epsilon,
                "bias_correction": self.bias_correction,
                "no_decay": list(self.no_decay),
                "rate_factors": self.rate_factors or None,
            }
        )
        return config
