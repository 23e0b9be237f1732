"""What a pretraining run reports and saves while it trains."""

import math
import time

import keras

from keras_bert._tensorflow import tensorflow
from keras_bert.training import Progress
from keras_bert.training import state_file
from keras_bert.training.progress import duration

# Names of our metrics -> names in the reports.
_NAMES = {
    "loss": "loss",
    "mask_ids_accuracy": "masked_accuracy",
    "accuracy": "masked_accuracy",
    "mask_ids_perplexity": "perplexity",
    "perplexity": "perplexity",
    "next_sentence_accuracy": "next_sentence_accuracy",
    "next_sentence_loss": "next_sentence_loss",
}
# Steps that the estimate of the time is measured on, after the first, which
# compiles.
_TIMED_STEPS = 10


class RunLog(keras.callbacks.Callback):
    """Reports, checkpoints and the best checkpoint of a pretraining run.

    Args:
        folder: `RunFolder`.
        settings: dict with `log_every`, `save_every`, `keep`.
        total: int, steps of the run.
        held_out: `None` or a function of the model that gives figures for the
            reports, `held_out_loss` among them.
        held_out_text: what the best checkpoint is chosen by: the fingerprint
            of that text; `None` is the training itself.
    """

    def __init__(
        self, folder, settings, total, held_out=None, held_out_text=None
    ):
        super().__init__()
        self.folder = folder
        self.settings = settings
        self.total = total
        self.held_out = held_out
        self.held_out_text = held_out_text
        self.seconds = 0.0
        self.tokens = 0
        self.best = math.inf
        self.step = 0
        self.restore_from = None
        self._random = state_file.RandomKeeper()
        self._estimated = False
        self._writer = tensorflow().summary.create_file_writer(
            str(folder.path / "tensorboard")
        )

    def resume(self, checkpoint, random):
        """Goes on with the counts and the random state of a checkpoint."""
        position = state_file.read_position(checkpoint)
        self.step = position["step"]
        self.seconds = position["seconds"]
        self.tokens = position["tokens"]
        # The best on another text says nothing about this one.
        if position.get("best_on") == self.held_out_text:
            self.best = (
                math.inf if position["best"] is None else position["best"]
            )
        self.restore_from = checkpoint
        self._random.state = random

    def begin(self, segment, per_epoch, first_epoch, guard, steps_left):
        """Tells which steps the next `fit` has."""
        self.segment = segment
        self.per_epoch = per_epoch
        self.first_epoch = first_epoch
        self._guard = guard
        self._steps_left = steps_left
        self._first = self.step

    def place(self, count):
        """(step, epoch, batch) of the last of `count` steps of this fit."""
        step = self._first + count
        done = step - self.segment.first - 1
        epoch, batch = divmod(done, self.per_epoch)
        return step, self.first_epoch + epoch, batch

    # Keras' methods.

    def on_epoch_begin(self, epoch, logs=None):
        if self.restore_from is not None:
            # After `fit` has set the metrics to zero.
            state_file.read_state(self.restore_from, self.model, ("metrics",))
            self.restore_from = None
        self._started = self._reported = time.monotonic()
        self._steps_of_report = self.step
        self._timed = None

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:
            self._random.put_back()

    def on_train_batch_end(self, batch, logs=None):
        self.step = self._first + batch + 1
        if not self._estimated:
            self._estimate(batch)
        last = self.step == self.segment.end or self.step == self.total
        # A new segment is a new `fit`, which sets the metrics to zero.
        report = last or self.step % self.settings["log_every"] == 0
        save = last or self.step % self.settings["save_every"] == 0
        if not (report or save):
            return
        self._guard.look((batch, (logs or {}).get("loss")))
        if report:
            # What is measured at a report draws from torch's generators; the
            # training must not notice. A run that goes on from a checkpoint
            # begins with the same.
            self._random.keep()
            self._report()
            self._random.put_back()
        if save:
            self._save()

    def on_train_end(self, logs=None):
        self._writer.flush()

    def _estimate(self, batch):
        if batch == 0:
            self._timed = time.monotonic()
        elif batch == _TIMED_STEPS or self.step == self.segment.end:
            pace = (time.monotonic() - self._timed) / batch
            left = self._steps_left(self.step) * pace
            self._estimated = True
            print(
                f"estimated time: {duration(left)} for the steps left, at "
                f"{duration(pace)} a step",
                flush=True,
            )

    def _report(self):
        now = time.monotonic()
        elapsed = now - self._reported
        step, epoch, batch = self.place(self.step - self._first)
        # Not those of the batch: with several devices under TensorFlow they
        # are means over the replicas.
        logs = self.model.get_metrics_result()
        logs = {name: float(value) for name, value in logs.items()}
        tokens = logs.pop("tokens")
        # Restored, the sum is spread over the replicas, as thirds for instance.
        self.tokens += round(tokens)
        self.seconds += elapsed
        line = {
            "step": step,
            "epoch": epoch,
            "batch": batch,
            "seconds": round(self.seconds, 2),
            "sequence_length": self.segment.sequence_length,
        }
        for name, value in logs.items():
            if name in _NAMES:
                line[_NAMES[name]] = value
        line["masked_lm_loss"] = math.log(max(line["perplexity"], 1.0))
        optimizer = self.model.optimizer
        line["learning_rate"] = float(
            getattr(optimizer, "inner_optimizer", optimizer).learning_rate
        )
        # Since the last report or, in a process that was resumed, since it
        # began: only the steps of this process were timed.
        share = (step - self._steps_of_report) / max(1, self._steps_counted())
        line["tokens_per_second"] = round(tokens * min(1.0, share) / elapsed, 1)
        if self.held_out is not None:
            line.update(self.held_out(self.model))
        self.model.reset_metrics()
        self.folder.add_line(line)
        self._to_tensorboard(line)
        value = line.get("held_out_loss", line["loss"])
        if value < self.best:
            self.best = value
            self.folder.save_best(self.model, step, value)
        self._reported = time.monotonic()
        self._steps_of_report = step

    def _to_tensorboard(self, line):
        # The record itself: `tf.summary.scalar` wants TensorBoard installed.
        tf = tensorflow()
        record = tf.compat.v1.Summary()
        for name, value in line.items():
            if name not in ("step", "batch"):
                record.value.add(tag=name, simple_value=value)
        with self._writer.as_default(step=line["step"]):
            tf.summary.experimental.write_raw_pb(record.SerializeToString())

    def _steps_counted(self):
        """Steps in the metrics: since the last border of a report."""
        every = self.settings["log_every"]
        border = (self.step - 1) // every * every
        return self.step - max(border, self.segment.first)

    def _save(self):
        now = time.monotonic()
        self.folder.save(
            self.model,
            {
                "step": self.step,
                "place": self.place(self.step - self._first),
                "seconds": self.seconds + now - self._reported
                if self._steps_of_report != self.step
                else self.seconds,
                "tokens": self.tokens,
                "best": None if math.isinf(self.best) else self.best,
                "best_on": self.held_out_text,
            },
            self.settings["keep"],
        )


class RunProgress(Progress):
    """The line on the screen; its last one is that of the last batch.

    Reports set the metrics to zero, so what `fit` hands over at the end is
    empty.
    """

    def on_train_batch_end(self, batch, logs=None):
        self._logs = logs
        super().on_train_batch_end(batch, logs)

    def on_train_end(self, logs=None):
        super().on_train_end(self._logs)
