"""Termination as an exception, so that half-written outputs are removed."""

import contextlib
import os
import signal
import threading

# What `kill`, a batch scheduler, and a terminal that closes send.
_SIGNALS = ("SIGTERM", "SIGHUP")


class Terminated(BaseException):
    """The process was asked to end; not an Exception, as KeyboardInterrupt."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.signal = number


# {signal: the handler to come back}, while `unwinding` is active.
_replaced = {}


@contextlib.contextmanager
def unwinding():
    """Raises `Terminated` where Python's default is to vanish on the spot.

    A signal that is already ignored (nohup) or handled stays as it is.
    Handlers can be set in the main thread only; elsewhere nothing changes.
    """
    if threading.current_thread() is threading.main_thread():
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number and signal.getsignal(number) is signal.SIG_DFL:
                _replaced[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        _restore()


def _end(number, frame):
    # A second one must not break the clean-up that this one starts.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)


def _restore():
    if threading.current_thread() is threading.main_thread():
        while _replaced:
            signal.signal(*_replaced.popitem())


def _block():
    signal.pthread_sigmask(signal.SIG_BLOCK, _replaced)


def _unblock():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _replaced)


def _become_worker():
    blocked = list(_replaced)
    _restore()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)


# A forked worker is ended by its pool, which counts on the signal's default;
# one sent before the worker has it again waits.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_block,
        after_in_parent=_unblock,
        after_in_child=_become_worker,
    )
