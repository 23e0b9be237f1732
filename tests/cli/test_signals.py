"""What a verb leaves behind when it is told to end."""

import errno
import multiprocessing
import os
import signal
import threading
import time

import pytest

from keras_bert.cli import _common
from keras_bert.cli import info
from keras_bert.cli._signals import unwinding
from keras_bert.cli.main import main

# 128 + the number of the signal, as shells report it.
ENDINGS = [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]


@pytest.mark.parametrize("output", ["new_folder", "new_file"])
@pytest.mark.parametrize(("name", "code"), ENDINGS)
def test_an_interrupted_verb_leaves_no_half_written_output(
    name, code, output, tmp_path, monkeypatch, capsys
):
    before = signal.getsignal(getattr(signal, name))
    seen = []

    def run(args):
        with getattr(_common, output)(tmp_path / "out") as staging:
            seen.extend(path.name for path in tmp_path.iterdir())
            if output == "new_file":
                staging.write_text("half")
            os.kill(os.getpid(), getattr(signal, name))

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "x"]) == code
    assert list(tmp_path.iterdir()) == []
    assert seen == ["out.partial"] * (output == "new_folder")
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert signal.getsignal(getattr(signal, name)) is before


def test_a_full_disk_is_a_failure_in_one_line(tmp_path, monkeypatch, capsys):
    def run(args):
        with _common.new_folder(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device", "out/file")

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "x"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "No space left on device: 'out/file'" in line
    assert list(tmp_path.iterdir()) == []


def test_a_second_signal_does_not_break_the_clean_up(tmp_path, monkeypatch):
    def run(args):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            (tmp_path / "cleaned").touch()

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "x"]) == 143
    assert (tmp_path / "cleaned").exists()


def test_signals_that_are_ignored_or_of_another_thread_stay_as_they_are():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with unwinding():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    found = []

    def elsewhere():
        with unwinding():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


def test_a_forked_worker_ends_by_the_signal_itself():
    context = multiprocessing.get_context("fork")
    with unwinding():
        worker = context.Process(target=time.sleep, args=(60,), daemon=True)
        worker.start()
        worker.terminate()
        worker.join(30)
    assert worker.exitcode == -signal.SIGTERM
