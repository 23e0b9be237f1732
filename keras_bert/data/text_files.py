"""Which text files there are, and their lines.

Files may be packed (`.gz`, `.bz2`, `.zst`) and lie anywhere `tf.io.gfile`
reads. A line ends at "\\n" only. Everything is read line by line.
"""

import bz2
import contextlib
import gzip
import io
import os
import posixpath
from typing import NamedTuple

from keras_bert._errors import invalid
from keras_bert.data import filesystem

# No text has such lines; without a bound a file without line breaks would be
# read into memory whole.
MAX_LINE_BYTES = 64 * 1024 * 1024

_PACKED = (".gz", ".bz2", ".zst")


class TextFile(NamedTuple):
    """A file and the name of the group (the language) it belongs to."""

    path: str
    group: str


def find_files(files):
    """The paths that `files` names, in order (see `find_text_files`)."""
    return [file.path for file in find_text_files(files)]


def find_text_files(files):
    """The files that `files` names, in order, patterns expanded and sorted.

    Args:
        files: a path, a glob pattern or a folder, or a list of them. `**`
            matches folders at any depth. Of a folder every file below it is
            taken, and the folder is the group of those files; the group of
            any other file is the folder it lies in.

    Raises:
        ValueError: naming `files`, when a path does not exist, a folder is
            empty or a pattern matches nothing.
    """
    if isinstance(files, str | os.PathLike):
        files = [files]
    found = []
    for name in files:
        if not isinstance(name, str | os.PathLike):
            raise invalid("files", "paths or glob patterns (strings)", name)
        name = os.fspath(name)
        if filesystem.is_file(name):
            found.append(TextFile(name, _folder(name)))
        elif filesystem.is_dir(name):
            group = name.rstrip("/")
            below = filesystem.files_below(name)
            if not below:
                raise invalid("files", "text files (the folder is empty)", name)
            found += [TextFile(path, group) for path in below]
        else:
            matches = filesystem.match(name)
            if not matches:
                raise invalid("files", "existing text files", name)
            found += [TextFile(path, _folder(path)) for path in matches]
    if not found:
        raise invalid("files", "at least one text file", files)
    return found


def check_groups(count, sampling):
    """Refuse an exponent of the sampling where there is one group only."""
    if count < 2:
        raise invalid(
            "sampling",
            "None, or two folders or more, each with the text of a language: "
            "all text is of one group (name each folder, not the one that "
            "they lie in)",
            sampling,
        )


def _folder(path):
    module = posixpath if filesystem.is_remote(path) else os.path
    return module.dirname(path) or "."


def is_packed(path):
    return os.path.splitext(path)[1].lower() in _PACKED


@contextlib.contextmanager
def open_text(path):
    """The bytes of a file, unpacked while they are read."""
    ending = os.path.splitext(path)[1].lower()
    with filesystem.open_bytes(path) as raw:
        if ending == ".gz":
            yield gzip.GzipFile(fileobj=raw)
        elif ending == ".bz2":
            yield bz2.BZ2File(raw)
        elif ending == ".zst":
            try:
                import zstandard
            except ImportError as error:
                raise ImportError(
                    f"{path} is packed with zstd: install the extra `zstd` "
                    "(pip install 'keras3-bert[zstd]')"
                ) from error
            reader = _Zstd(raw, zstandard.ZstdDecompressor())
            yield io.BufferedReader(reader, 1 << 20)
        else:
            yield raw


class _Zstd(io.RawIOBase):
    """Frames of zstd, one after the other; a frame that is cut off raises.

    The reader of `zstandard` takes the end of the file for that of the frame.
    """

    def __init__(self, raw, decompressor):
        self._raw = raw
        self._new_frame = decompressor.decompressobj
        self._frame = self._new_frame()
        self._fed = False
        self._ready = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._fed = self._new_frame(), False
            packed = packed or self._raw.read(1 << 17)
            if not packed:
                if self._fed:
                    raise EOFError("the last frame is cut off")
                return 0
            self._fed = True
            self._ready = self._frame.decompress(packed)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def read_lines(path, start=0, end=None):
    """Yield the lines of a UTF-8 file, without line end, BOM removed.

    Args:
        path: the file.
        start, end: bytes. The lines that begin there; `start` is the
            beginning of a line (see `next_border`).

    Raises:
        ValueError: naming `files`, the path and the line, for a line that is
            too long, and for a binary, UTF-16 or Latin-1 file.
    """
    with open_text(path) as file:
        if start:
            file.seek(start)
        number = 0
        position = start
        try:
            while end is None or position < end:
                raw = file.readline(MAX_LINE_BYTES)
                if not raw:
                    return
                number += 1
                position += len(raw)
                if position == len(raw):
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                yield _decoded(raw, path, line_place(number, start))
        except Exception as error:
            # The exceptions of the four formats have no common class.
            if not is_packed(path) or isinstance(error, ValueError):
                raise
            raise invalid(
                "files", f"a whole packed file ({error})", path
            ) from None


def line_place(number, start):
    """How messages name a line of a block that begins at a byte."""
    where = f"line {number}"
    return f"{where} after byte {start}" if start else where


def _decoded(raw, path, where):
    if len(raw) >= MAX_LINE_BYTES:
        raise invalid(
            "files",
            f"lines shorter than {MAX_LINE_BYTES} bytes ({where} is longer)",
            path,
        )
    if b"\0" in raw or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise invalid(
            "files",
            f"UTF-8 text ({where} has NUL bytes or a UTF-16 mark: a binary "
            "or a UTF-16 file)",
            path,
        )
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise invalid(
            "files",
            f"UTF-8 text ({where} has the byte 0x{raw[error.start]:02x} "
            "that UTF-8 does not allow there: perhaps a Latin-1 file)",
            path,
        ) from None
