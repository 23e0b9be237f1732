"""Files here and in buckets, behind the few calls that the data need.

Paths with a scheme (`gs://bucket/name`, `s3://`, `hdfs://`, `ram://`) go
through `tf.io.gfile`; all others through the standard library, which is
faster and can wait until the bytes are on the disk.
"""

import contextlib
import fnmatch
import glob
import io
import os
import posixpath
import tempfile

from keras_bert._tensorflow import tensorflow


def is_remote(path):
    return "://" in str(path)


def join(folder, *names):
    folder = os.fspath(folder)
    return (posixpath if is_remote(folder) else os.path).join(folder, *names)


def is_file(path):
    if is_remote(path):
        gfile = tensorflow().io.gfile
        return gfile.exists(path) and not gfile.isdir(path)
    return os.path.isfile(path)


def is_dir(path):
    if is_remote(path):
        return tensorflow().io.gfile.isdir(path)
    return os.path.isdir(path)


def size(path):
    if is_remote(path):
        return tensorflow().io.gfile.stat(path).length
    return os.path.getsize(path)


def state(path):
    """What changes when a file is written anew: its size and time."""
    if is_remote(path):
        found = tensorflow().io.gfile.stat(path)
        return found.length, found.mtime_nsec
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def match(pattern):
    """The files that a pattern names, sorted."""
    if is_remote(pattern):
        found = tensorflow().io.gfile.glob(pattern)
    else:
        found = glob.glob(pattern, recursive=True)
    return sorted(path for path in found if is_file(path))


def files_below(folder, pattern="*"):
    """The files of a folder and the folders in it, sorted.

    Names that start with "." or "_" (markers such as `_SUCCESS`) are left
    out.
    """
    walk = tensorflow().io.gfile.walk if is_remote(folder) else os.walk
    found = []
    for parent, folders, names in walk(folder):
        # In place: os.walk does not enter what is no longer in the list.
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [
            join(parent, name)
            for name in names
            if name[0] not in "._" and fnmatch.fnmatch(name, pattern)
        ]
    return sorted(found)


def names_in(folder):
    """The names in a folder, sorted; of a missing one none."""
    if not is_dir(folder):
        return []
    if is_remote(folder):
        names = tensorflow().io.gfile.listdir(folder)
        return sorted(name.rstrip("/") for name in names)
    return sorted(os.listdir(folder))


def open_bytes(path):
    """A buffered binary stream that can seek."""
    if not is_remote(path):
        return open(path, "rb")
    return io.BufferedReader(_Remote(path), 1 << 20)


def read_bytes(path):
    with open_bytes(path) as file:
        return file.read()


def pieces(path, most):
    """Yield the bytes of a file, or pieces all over it of `most` together."""
    length = size(path)
    piece = 1 << 16
    if length <= max(most, 2 * piece):
        places = range(0, length, piece)
    else:
        # Each is a request where files are not here.
        count = min(max(2, most // piece), 16 if is_remote(path) else length)
        places = [(length - piece) * i // (count - 1) for i in range(count)]
    with open_bytes(path) as file:
        for place in places:
            file.seek(place)
            yield file.read(piece)


def make_folder(path):
    if is_remote(path):
        tensorflow().io.gfile.makedirs(path)
    else:
        os.makedirs(path, exist_ok=True)


def remove(path):
    if is_remote(path):
        tensorflow().io.gfile.remove(path)
    else:
        os.remove(path)


@contextlib.contextmanager
def whole_file(path):
    """A local path to write to; `path` gets all of it or is left alone.

    The bytes are on the disk before the name is: a machine that stops in
    between leaves no half file. A remote store shows a file when it is whole.
    """
    path = os.fspath(path)
    remote = is_remote(path)
    folder = None if remote else join(os.path.dirname(path), ".partial")
    name = posixpath.basename(path) if remote else os.path.basename(path)
    staging = _new_file(name, folder)
    try:
        yield staging
        if remote:
            gfile = tensorflow().io.gfile
            gfile.copy(staging, path, overwrite=True)
            os.remove(staging)
            return
        os.chmod(staging, 0o644)
        with open(staging, "rb") as file:
            os.fsync(file.fileno())
        os.replace(staging, path)
        handle = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(staging)
        raise
    finally:
        if folder:
            # Unless another file is being written there.
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _new_file(name, folder):
    """An empty file of a name that begins so; None: where the system likes."""
    while True:
        if folder:
            os.makedirs(folder, exist_ok=True)
        # Another process may have removed the empty folder in between.
        with contextlib.suppress(FileNotFoundError):
            handle, path = tempfile.mkstemp(prefix=name + ".", dir=folder)
            os.close(handle)
            return path


def write_text(path, text):
    """Writes UTF-8 text; `path` gets all of it or is left alone."""
    with (
        whole_file(path) as staging,
        open(staging, "w", encoding="utf-8", newline="") as file,
    ):
        file.write(text)


class _Remote(io.RawIOBase):
    """A tf.io.gfile as the standard library wants a file."""

    def __init__(self, path):
        self._file = tensorflow().io.gfile.GFile(path, "rb")

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self):
        return self._file.tell()

    def readinto(self, buffer):
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
