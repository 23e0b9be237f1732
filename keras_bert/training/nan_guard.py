"""Stops a run whose loss is no number any more."""

import math

import keras

WHAT_HELPS = (
    "What usually helps: a lower learning rate or a longer warm-up; bfloat16 "
    "or float32 instead of float16"
)


class NanGuard(keras.callbacks.Callback):
    """Raises FloatingPointError when the loss of `fit` turns NaN or infinite.

    The message names the step, the batch and what usually helps. The loss of
    a step is looked at after the next one was started, so that a device never
    waits; a run of NaNs is of no use to anybody, one more step of it does no
    harm. `keras_bert.BertPretrainer.fit` has it built in.

    Args:
        place: `None`, or a function of the count of steps in this epoch of
            `fit` that gives (step, epoch, batch) of the whole run.
    """

    def __init__(self, place=None):
        super().__init__()
        self.place = place

    def on_train_begin(self, logs=None):
        self._epoch = 0
        self._pending = None

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        self._pending = None
        self._steps_before = epoch * (self.params.get("steps") or 0)

    def on_train_batch_end(self, batch, logs=None):
        self.look(self._pending)
        self._pending = (batch, (logs or {}).get("loss"))

    def on_epoch_end(self, epoch, logs=None):
        self.look(self._pending)

    def look(self, seen):
        """Raises if `seen`, a pair of batch and loss, is no number."""
        if seen is None or seen[1] is None or math.isfinite(float(seen[1])):
            return
        batch, loss = seen
        step, epoch = self._steps_before + batch + 1, self._epoch
        if self.place is not None:
            step, epoch, batch = self.place(batch + 1)
        raise FloatingPointError(
            f"the loss became {float(loss)} at step {step} (batch {batch} of "
            f"epoch {epoch}, both counted from 0). {WHAT_HELPS}. A run "
            "from the last checkpoint meets the same batch at the same step"
        )
