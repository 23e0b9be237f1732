"""Figures of the runs that an ablation has finished, kept for a rerun."""

import hashlib
import json
from pathlib import Path

from keras_bert.cli import _common
from keras_bert.data.filesystem import write_text


class Records:
    """A file with a line for each finished run: what it is of, its figures.

    The same command run again finds them there and does only what is left. A
    run with other settings is of something else, so it is done anew.

    Args:
        folder: of the ablation; new, empty, or one that it has begun.
    """

    def __init__(self, folder):
        folder = Path(folder)
        self._path = folder / "records.jsonl"
        self._lines = []
        if self._path.is_file():
            text = self._path.read_text("utf-8")
            self._lines = [json.loads(line) for line in text.splitlines()]
        elif not any(folder.glob("*/run.json")):
            _common.check_new(folder)

    def find(self, of):
        """The figures of a run, or None."""
        # As it is read again: a tuple becomes a list.
        of = json.loads(json.dumps(of))
        for line in self._lines:
            if line["of"] == of:
                return line["figures"]
        return None

    def add(self, of, figures):
        self._lines.append({"of": of, "figures": figures})
        text = "".join(json.dumps(line) + "\n" for line in self._lines)
        write_text(self._path, text)


def checksum(rows):
    """SHA-256 of rows of a task, by which a rerun knows its data again."""
    return hashlib.sha256(
        json.dumps(rows, default=_as_list).encode()
    ).hexdigest()


def _as_list(value):
    return value.tolist() if hasattr(value, "tolist") else str(value)
