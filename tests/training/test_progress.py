"""The line of a long run."""

import io

import numpy as np
import pytest

from keras_bert.training import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("keras_bert.training.progress.time.monotonic", clock)
    return clock


def run(clock, stream, seconds, first_epoch=0):
    """An epoch of one step per entry of `seconds`, of two epochs."""
    progress = Progress(stream=stream)
    progress.set_params({"steps": len(seconds), "epochs": 2})
    progress.on_train_begin()
    progress.on_epoch_begin(first_epoch)
    for i, passed in enumerate(seconds):
        clock.now += passed
        progress.on_train_batch_end(i, {"loss": 0.5, "other": 1.0})
    return progress


def test_estimate_leaves_out_the_first_step(clock):
    # 30 s for compiling, then 2 s a step: 5 of 10 steps are left.
    progress = run(clock, io.StringIO(), [30, 2, 2, 2, 2])
    assert progress.line({"loss": 0.5, "other": 1.0}, clock.now) == (
        "step 5/10, loss 0.5000, 2.0s/step, 10.0s left, 38.0s passed"
    )


def test_log_file_gets_a_line_every_ten_seconds(clock):
    stream = io.StringIO()
    progress = run(clock, stream, [4] * 6)
    assert stream.getvalue().count("\n") == 2
    progress.on_train_end()
    assert stream.getvalue().count("\n") == 3
    assert "\r" not in stream.getvalue()


def test_terminal_gets_one_line_written_anew(clock):
    stream = Terminal()
    progress = run(clock, stream, [0.1] * 10)
    assert stream.getvalue().count("\r") == 3
    assert stream.getvalue().count("\n") == 0
    progress.on_train_end({"loss": 0.25})
    last = stream.getvalue().split("\r")[-1]
    assert last.startswith("step 10/20, loss 0.2500, 100ms/step, 1.0s left")
    assert last.count("\n") == 1 and last.endswith("\n")


def test_later_epoch_counts_what_is_left(clock):
    progress = run(clock, io.StringIO(), [1, 1], first_epoch=1)
    assert "step 2/2," in progress.line({}, clock.now)


def test_runs_in_fit(one_weight):
    stream = io.StringIO()
    x = np.zeros((6, 1), "float32")
    one_weight.fit(x, x, batch_size=2, callbacks=[Progress(stream=stream)])
    assert stream.getvalue().startswith("step 3/3, loss ")
