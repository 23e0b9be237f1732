"""One line that tells how far a long run is and when it will end."""

import sys
import time

import keras


class Progress(keras.callbacks.Callback):
    """Prints step, loss and an estimate of the end of a run.

    On a terminal one line is written anew about four times a second;
    elsewhere (a log file, CI) there is one line every `interval` seconds.
    Use it with `fit(..., verbose=0)` or `predict(..., verbose=0)`.

    The estimate leaves out the first step, which compiles.

    Args:
        total_steps: Int or None. The number of batches of the whole run; with
            None it is taken from `fit`, if that knows it.
        interval: Float. Seconds between lines where there is no terminal.
        label: String at the start of the line.
        stream: A text stream; None is the standard error.
        first: Int. Steps done before this `fit`, in a run of several.
        left: None, or a function of the steps done that tells how many steps
            of the present cost are left (rows may become longer).

    Example:

    ```python
    model.fit(data, epochs=3, verbose=0, callbacks=[Progress()])
    ```
    """

    def __init__(
        self,
        total_steps=None,
        interval=10.0,
        label="step",
        stream=None,
        first=0,
        left=None,
    ):
        super().__init__()
        self.total_steps = total_steps
        self.interval = interval
        self.label = label
        self.stream = stream
        self.first = first
        self.left = left

    def on_train_begin(self, logs=None):
        self._out = self.stream or sys.stderr
        self._live = self._out.isatty()
        self._done = self.first
        self._width = 0
        self._begin = self._shown = time.monotonic()
        self._after_first = None
        self._total = self.total_steps
        steps = self.params.get("steps")
        if self._total is None and steps:
            self._total = steps * self.params.get("epochs", 1)
        self._first_epoch = None

    def on_epoch_begin(self, epoch, logs=None):
        self._before = self._done
        if self._first_epoch is None:
            self._first_epoch = epoch
            if self.total_steps is None and self._total:
                # A run that goes on has only the later epochs before it.
                self._total -= epoch * self.params["steps"]

    def on_train_batch_end(self, batch, logs=None):
        # With steps_per_execution, the last of several batches.
        self._done = self._before + batch + 1
        now = time.monotonic()
        if self._after_first is None:
            self._after_first, self._first = now, self._done
        if now - self._shown >= (0.25 if self._live else self.interval):
            self._shown = now
            self._write(self.line(logs, now), last=False)

    def on_train_end(self, logs=None):
        self._write(self.line(logs, time.monotonic()), last=True)

    def on_predict_begin(self, logs=None):
        self.on_train_begin()
        self._before = self.first

    def on_predict_batch_end(self, batch, logs=None):
        self.on_train_batch_end(batch)

    def on_predict_end(self, logs=None):
        self.on_train_end()

    def line(self, logs, now):
        """The text for the state at the moment `now`."""
        total = f"/{self._total:,}" if self._total else ""
        parts = [f"{self.label} {self._done:,}{total}"]
        for name, value in (logs or {}).items():
            if name == "loss" or name.endswith("accuracy"):
                parts.append(f"{name} {float(value):.4f}")
        if self._after_first is not None and self._done > self._first:
            pace = (now - self._after_first) / (self._done - self._first)
            parts.append(f"{duration(pace)}/step")
            if self._total and self._total > self._done:
                left = self._total - self._done
                if self.left is not None:
                    left = self.left(self._done)
                parts.append(f"{duration(pace * left)} left")
        parts.append(f"{duration(now - self._begin)} passed")
        return ", ".join(parts)

    def _write(self, text, last):
        if self._live:
            # Blanks wipe what a longer line has left.
            padding = " " * max(0, self._width - len(text))
            self._width = len(text)
            self._out.write("\r" + text + padding + ("\n" if last else ""))
        else:
            self._out.write(text + "\n")
        self._out.flush()


def duration(seconds):
    """Seconds as a short text: 5ms, 2.5s, 3m20s, 4h05m, 2d03h."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, seconds = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02d}h"
