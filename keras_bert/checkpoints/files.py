"""Small files beside the weights: JSON, vocabularies, and safe writing."""

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np


def read_json(path):
    """A JSON object; a damaged file is an error that names it."""
    try:
        value = json.loads(Path(path).read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not readable JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} should hold a JSON object")
    return value


def first_line(error):
    """An error's first line; its class where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def refuse_pointer(path):
    """What `git clone` leaves in place of weights without Git LFS."""
    with Path(path).open("rb") as file:
        if file.read(24) == b"version https://git-lfs.":
            raise ValueError(
                f"{path} is a Git LFS pointer, not the weights: fetch them "
                "with `git lfs pull`"
            )


def write_json(path, value):
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    Path(path).write_text(text + "\n", "utf-8")


def write_vocabulary(path, vocabulary):
    # A token may hold U+2028 (two do in the Chinese vocabulary): only "\n"
    # ends a line, whatever the platform.
    Path(path).write_bytes(
        "".join(token + "\n" for token in vocabulary).encode("utf-8")
    )


def numpy_dtype(name):
    """The numpy type of a Keras dtype name; numpy alone has no bfloat16."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@contextlib.contextmanager
def atomic_folder(directory, stale=()):
    """A temporary folder whose files move to `directory` on success.

    `stale` names files of an older checkpoint there that must not stay
    beside the new one.

    It lies beside the target, so that moving is a rename. A new target
    appears whole or not at all; into an existing folder the files move one
    by one, the weights first and `config.json` last. On failure nothing is
    left behind.
    """
    directory = Path(os.path.abspath(directory))
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(
        tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent)
    )
    try:
        yield temporary
        os.chmod(temporary, 0o777 & ~_umask())
        if not directory.exists():
            os.rename(temporary, directory)
            return
        for name in stale:
            if not (temporary / name).exists():
                (directory / name).unlink(missing_ok=True)
        for path in sorted(temporary.iterdir(), key=_config_last):
            target = directory / path.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(path, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _config_last(path):
    return (path.name == "config.json", path.name)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
