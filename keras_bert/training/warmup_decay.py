"""Linear warm-up and linear decay, with a span that stays adjustable."""

import keras
from keras import ops

from keras_bert._errors import invalid


@keras.saving.register_keras_serializable("keras_bert")
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """The learning rate of BERT: up from zero, then down to zero.

    The rate is 0 at step 0, rises on a line to `peak` at the end of the
    warm-up, falls on a line to 0 at the last step and stays 0. One step is
    one update of the weights: with gradient accumulation, several batches.

    The first step, the number of steps and the length of the warm-up are kept
    in one variable. A Python number would become a constant of the compiled
    training step, and a second `fit` would go on with the line of the first.
    `keras_bert.AdamW` tracks that variable, so that it is also saved.

    Args:
        peak: Float. The highest rate.
        warmup: Float or int. A float is the share of all steps, an int is a
            number of steps.
        total_steps: Int or None. The number of steps of the whole line. With
            None, every `fit` of a keras_bert model sets it to its own number
            of steps.
        original: Bool. False is the continuous line of most libraries. True
            is the line of the 2018 code: its decay runs from step 0, so the
            rate drops from `peak` to `peak * (1 - warmup / total)` where the
            warm-up ends.

    Call arguments:
        step: Integer scalar tensor, the optimizer's count of batches.

    Returns:
        A float32 scalar tensor.

    Raises:
        ValueError: If the warm-up is longer than the run, or if the number of
            steps is still unknown when a rate is asked for.

    Example:

    ```python
    rate = keras_bert.WarmupDecay(1e-4, warmup=10, total_steps=100)
    [float(rate(step)) for step in (0, 5, 10, 55, 100)]
    # 0, 0.5e-4, 1e-4, 0.5e-4, 0
    ```

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), A.2.
    """

    def __init__(self, peak, warmup=0.1, total_steps=None, original=False):
        super().__init__()
        if not peak > 0:
            raise invalid("peak", "a rate above 0", peak)
        is_share = isinstance(warmup, float)
        if warmup < 0 or (is_share and warmup > 1):
            raise invalid(
                "warmup",
                "a share from 0.0 to 1.0 (float) or a number of steps (int)",
                warmup,
            )
        self.peak = float(peak)
        self.warmup = warmup
        self.total_steps = total_steps
        self.original = original
        # How many batches one update takes. AdamW sets it.
        self.batches_per_step = 1
        # [first step, warm-up steps, all steps]; all steps 0 is "not known".
        self.span = keras.Variable(
            [0, 0, 0],
            dtype="int32",
            trainable=False,
            aggregation="only_first_replica",
            name="warmup_decay_span",
        )
        self._known_span = None
        if total_steps is not None:
            self.set_span(0, total_steps)

    def warmup_steps(self, total_steps):
        """The number of warm-up steps of a run of `total_steps`."""
        if isinstance(self.warmup, float):
            # 0.29 * 100 is 28.999999999999996 in floating point.
            return int(self.warmup * total_steps + 1e-6)
        return int(self.warmup)

    def set_span(self, start_step, total_steps):
        """Lays the line over `total_steps` steps from `start_step` on.

        Args:
            start_step: Int. The step at which the rate is 0. It may be
                negative: the line has then begun before the first step.
            total_steps: Int. The number of steps of the line.
        """
        start_step, total_steps = int(start_step), int(total_steps)
        if total_steps < 1:
            raise invalid("total_steps", "at least 1", total_steps)
        warmup_steps = self.warmup_steps(total_steps)
        if warmup_steps > total_steps:
            raise invalid(
                "warmup",
                f"at most total_steps={total_steps} steps of warm-up",
                self.warmup,
            )
        self._known_span = (start_step, total_steps)
        self.span.assign([start_step, warmup_steps, total_steps])

    def read_span(self):
        """Takes over what was assigned to `span`, by loading a state."""
        start, _, total = map(int, ops.convert_to_numpy(self.span))
        self._known_span = (start, total) if total else None

    @property
    def known_span(self):
        """(start_step, total_steps) as last set, None while unknown."""
        return self._known_span

    def is_tracked_by(self, optimizer):
        """Whether a compiled step of `optimizer` sees changes of the span.

        JAX passes an optimizer's own variables into the compiled step and
        takes everything else as a constant. Where this is False, the training
        function has to be made anew after `set_span`.
        """
        return any(v is self.span for v in optimizer.variables)

    def __call__(self, step):
        if self._known_span is None:
            raise ValueError(
                "The schedule does not know how many steps the run has. Pass "
                "`total_steps` to WarmupDecay, or train with the `fit` of a "
                "keras_bert model, which sets it. "
                f"Received: total_steps={self.total_steps}"
            )
        step = ops.cast(step, "int32")
        if self.batches_per_step > 1:
            step = ops.floor_divide(step, self.batches_per_step)
        span = ops.convert_to_tensor(self.span)
        # Counted from the first step before it becomes a float, so that late
        # steps of a long life do not lose digits.
        at = ops.cast(step - span[0], "float32")
        warmup = ops.cast(span[1], "float32")
        total = ops.cast(span[2], "float32")
        at = ops.clip(at, 0.0, total)
        rising = at / ops.maximum(warmup, 1.0)
        if self.original:
            falling = 1.0 - at / total
        else:
            falling = (total - at) / ops.maximum(total - warmup, 1.0)
        # Without a warm-up the first step already has the peak.
        return self.peak * ops.where(at < warmup, rising, falling)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup": self.warmup,
            "total_steps": self.total_steps,
            "original": self.original,
            # What fit has set. A reloaded model goes on without another fit.
            "span": self._known_span,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        span = config.pop("span", None)
        schedule = cls(**config)
        if span is not None:
            schedule.set_span(*span)
        return schedule
