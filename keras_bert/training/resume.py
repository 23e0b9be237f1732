"""`fit` that goes on where a killed process stopped."""

import dataclasses
import math
from typing import Any

import keras

from keras_bert._errors import invalid
from keras_bert.training import state_file
from keras_bert.training.distribution._devices import current


class Resume(keras.callbacks.Callback):
    """Saves the whole state of `fit`, and lets the next `fit` go on from it.

    Start the same script again after a crash: `fit` of a keras_bert model
    finds the newest whole checkpoint, puts back every variable (weights,
    optimizer, schedule, loss scale, seeds of dropout, metrics) and trains on
    with the batch that comes next. The result is, bit by bit, that of a run
    without the crash. To start from pretrained weights with a new optimizer
    is another thing: `from_preset` does it, and no slots are asked for.

    Asked for more epochs than the saved run was, `fit` first ends that run
    with the learning rate that it had, then lays a new warm-up and decay over
    the epochs added. So the result does not depend on where the crash was.

    With several processes (see `distribute`), process 0 writes and all read:
    the folder has to be one that all of them see.

    Args:
        folder: path. Its `step-N` folders belong to this callback.
        save_every: int, batches between two checkpoints; `None` saves at the
            end of each epoch only.
        keep: int, how many checkpoints stay.

    Raises:
        ValueError: by `fit`, if `x` is no tf.data dataset (whose batches are
            the same in every process), if it ends before the steps asked for,
            or if the model is another one than that of the checkpoint.

    Example:

    ```python
    dataset = keras_bert.pretraining_dataset("corpus/*.txt", tokenizer)
    state = keras_bert.training.Resume("run/state", save_every=1000)
    pretrainer.fit(dataset, epochs=40, callbacks=[state])
    ```
    """

    def __init__(self, folder, save_every=None, keep=2):
        super().__init__()
        for name, value in (("save_every", save_every or 1), ("keep", keep)):
            if not hasattr(value, "__index__") or value < 1:
                raise invalid(name, "an integer from 1", value)
        self.folder = str(folder)
        self.save_every = save_every
        self.keep = keep
        self._found = None
        self._offset = 0

    # What `fit` asks before it trains.

    def parts(self, model, x, epochs, initial_epoch, steps_per_epoch):
        """The calls of Keras' `fit` that the rest of the run takes."""
        steps = _steps_of(x, epochs, steps_per_epoch)
        self._random = state_file.RandomKeeper()
        self._steps = steps
        self._epochs = self._line_end = epochs
        whole = FitPart(x, initial_epoch, epochs, steps_per_epoch, epochs)
        checkpoints = state_file.checkpoints_in(self.folder)
        if not checkpoints:
            return [whole]
        found = checkpoints[-1]
        position = state_file.read_position(found)
        if position["steps_per_epoch"] != steps:
            raise invalid(
                "x",
                f"the data that {found} was saved with, which has "
                f"{position['steps_per_epoch']} batches an epoch",
                f"{steps} batches an epoch",
            )
        state_file.build_metrics(model, next(x.as_numpy_iterator()))
        self._random.state = state_file.read_state(found, model)
        if position["batch"]:
            self._found = found
        schedule = getattr(model, "_schedule", None)
        if schedule is not None:
            schedule.read_span()
        self._line_end = position["line_end"]
        return _rest(whole, position, steps)

    def place(self, count):
        """(step, epoch, batch) of the run after steps in an epoch of `fit`."""
        done = self._offset + count
        return self._epoch * self._steps + done, self._epoch, done - 1

    # Keras' methods.

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        self._offset = 0
        if epoch >= self._line_end:
            # The first of the epochs that this run has added.
            self._line_end = self._epochs
        if self._found is not None:
            # After `fit` has set the metrics to zero.
            self._offset = state_file.read_position(self._found)["batch"]
            state_file.read_state(self._found, self.model, ("metrics",))
            self._found = None

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:
            self._random.put_back()

    def on_train_batch_end(self, batch, logs=None):
        self._random.keep()
        step, _, last = self.place(batch + 1)
        done = last + 1
        # At the end of an epoch `on_epoch_end` saves.
        if (
            self.save_every
            and step % self.save_every == 0
            and done < self._steps
        ):
            self._save(step, self._epoch, done, logs)

    def on_epoch_end(self, epoch, logs=None):
        self._save((epoch + 1) * self._steps, epoch + 1, 0, logs)

    def _save(self, step, epoch, batch, logs):
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(float(loss)):
            return
        position = {
            "step": step,
            "epoch": epoch,
            "batch": batch,
            "steps_per_epoch": self._steps,
            "line_end": self._line_end,
        }
        devices = current()
        if devices is not None and devices.process:
            # Process 0 writes. Reading some variables takes all of them.
            state_file.read_along(self.model)
            return
        with state_file.whole_folder(f"{self.folder}/step-{step:08d}") as path:
            # Between the last batch and here Keras makes the next iterator,
            # which draws from torch's generators.
            state_file.write_state(
                path, self.model, position, self._random.state
            )
        state_file.prune(self.folder, self.keep)


@dataclasses.dataclass
class FitPart:
    """One call of Keras' `fit`.

    `line` is the number of epochs over which a new learning rate is laid, or
    None to go on with the one there is.
    """

    x: Any
    initial_epoch: int
    epochs: int
    steps_per_epoch: int | None
    line: int | None


def _rest(whole, position, steps):
    """The calls from a position on: a started epoch, the line, more epochs."""
    epoch, batch = position["epoch"], position["batch"]
    parts = []
    if batch and epoch < whole.epochs:
        own = whole.steps_per_epoch and steps - batch
        x = _skipped(whole, epoch, steps, batch)
        parts.append(FitPart(x, epoch, epoch + 1, own, None))
        epoch += 1
    borders = [position["line_end"], whole.epochs]
    for number, border in enumerate(borders):
        border = min(border, whole.epochs)
        if epoch < border:
            parts.append(
                FitPart(
                    _skipped(whole, epoch, steps, 0),
                    epoch,
                    border,
                    whole.steps_per_epoch,
                    border - epoch if number else None,
                )
            )
            epoch = border
    return parts


def _skipped(whole, epoch, steps, batch):
    """The dataset from that batch of that epoch on.

    Without `steps_per_epoch` each epoch iterates it anew; with it, one
    iteration lasts for all epochs.
    """
    x = whole.x
    if whole.steps_per_epoch:
        batch += epoch * steps
    cell = getattr(x, "keras_bert_epoch", None)
    if batch:
        x = x.skip(batch)
    if cell is not None:
        x.keras_bert_epoch = _First(cell) if whole.steps_per_epoch else cell
    return x


class _First:
    """A holder of epochs for a dataset whose one iteration is everything."""

    def __init__(self, cell):
        self.cell = cell

    @property
    def value(self):
        return self.cell.value

    @value.setter
    def value(self, epoch):
        self.cell.value = 0


def _steps_of(x, epochs, steps_per_epoch):
    if not hasattr(x, "cardinality"):
        raise invalid(
            "x",
            "a tf.data dataset with the callback Resume, whose batches a new "
            "process can make again (lists and arrays are shuffled anew)",
            type(x).__name__,
        )
    batches = int(x.cardinality())
    if batches < 0:
        raise invalid(
            "x",
            "a dataset of known length with the callback Resume, such as "
            "`pretraining_dataset(..., epochs=n)`",
            "an infinite one" if batches == -1 else "one of unknown length",
        )
    if steps_per_epoch and batches < epochs * steps_per_epoch:
        raise invalid(
            "steps_per_epoch",
            f"at most {batches // epochs}: with the callback Resume the "
            f"{batches} batches of x have to last for all {epochs} epochs",
            steps_per_epoch,
        )
    return steps_per_epoch or batches
