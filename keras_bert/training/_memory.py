"""Memory of a torch step that is kept for the next one."""

import contextlib
import ctypes
import functools
import os

import keras

from keras_bert.training._backend import is_torch_on_cpu

# Parameters of mallopt in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_GIGABYTE = 2**30


@contextlib.contextmanager
def memory_kept():
    """Context in which the C library keeps what torch frees on a CPU.

    Otherwise glibc may give the large tensors of a step back to the system
    when they are freed, and the system clears each page anew for the next
    step: 240,000 page faults and 0.3 of 0.7 seconds per step of bert_mini, 32
    rows of 128. Whether it does depends on what was allocated before. At the
    end the memory goes back at once. A setting of the user stays, and so does
    another C library.

    Gives the callbacks that `fit` needs for it. TensorFlow 2.21 under Python
    3.11 sets glibc's limit of 128 kB whenever a dataset of a generator is
    made (its answer to https://github.com/tensorflow/tensorflow/issues/65675),
    and that happens inside `fit`, so ours is set before every step.
    """
    library = None if _is_set() else _glibc()
    if library is None:
        yield []
        return
    keep = functools.partial(_keep, library)
    keep()
    try:
        yield [_Keep(keep)]
    finally:
        library.malloc_trim(0)


class _Keep(keras.callbacks.Callback):
    def __init__(self, keep):
        super().__init__()
        self._keep = keep

    def on_train_batch_begin(self, batch, logs=None):
        self._keep()


def _keep(library):
    library.mallopt(_MMAP_THRESHOLD, _GIGABYTE)
    library.mallopt(_TRIM_THRESHOLD, -1)


def _is_set():
    settings = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
    return any(name.startswith(settings) for name in os.environ)


def _glibc():
    """The C library where torch runs on a CPU and it is glibc, or None."""
    if not is_torch_on_cpu() or os.name != "posix":
        return None
    library = ctypes.CDLL(None)
    known = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return library if all(hasattr(library, name) for name in known) else None
