"""Writing a model, or another checkpoint, in any of the formats.

Arrays move one at a time and keep their type. What is written is a folder
beside the target, which takes the target's name only when it is complete.
"""

import dataclasses
import importlib
import os
import tempfile
import zipfile
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import load
from keras_bert.checkpoints.files import atomic_folder
from keras_bert.checkpoints.parts import of_model
from keras_bert.checkpoints.parts import plain_config
from keras_bert.checkpoints.report import LOGGER
from keras_bert.checkpoints.source import formats_in

FORMATS = ("keras_bert", "huggingface", "google", "keras_hub")
_WRITERS = {
    "keras_bert": ("keras_bert.checkpoints.preset", "write_preset"),
    "huggingface": (
        "keras_bert.checkpoints.huggingface_writer",
        "write_huggingface",
    ),
    "google": ("keras_bert.checkpoints.google_writer", "write_google"),
    "keras_hub": ("keras_bert.checkpoints.keras_hub", "write_keras_hub"),
}


def write(
    model,
    directory,
    format="keras_bert",
    preprocessor=None,
    tokenizer=None,
    task=None,
    labels=None,
    task_config=None,
    preprocessor_config=None,
):
    """Writes a model's weights, config and vocabulary as a folder.

    Args:
        model: a backbone or task model.
        directory: a path. For "google" a path that ends in .zip gives an
            archive.
        format: "keras_bert", "huggingface", "google" or "keras_hub".
        preprocessor: the model's preprocessor; None takes the model's own.
        tokenizer: a `BertTokenizer`; None takes the preprocessor's.
        task: name of the task model; None takes it from the class.
        labels: list of names; None takes the model's own.
        task_config: dict of the task model's arguments besides `backbone`
            and `preprocessor`; None takes them from its `get_config`.
        preprocessor_config: dict of the preprocessor's arguments besides
            the tokenizer; None takes them from its `get_config`.

    Returns a `WriteReport`: what the format has no place for.
    """
    task = task or load.task_of(model)
    if preprocessor is None:
        preprocessor = getattr(model, "preprocessor", None)
    if tokenizer is None:
        tokenizer = getattr(preprocessor, "tokenizer", None)
    if preprocessor_config is None and preprocessor is not None:
        preprocessor_config = plain_config(preprocessor, ["tokenizer"])
    if task_config is None and hasattr(model, "backbone"):
        task_config = plain_config(model, ["backbone", "preprocessor"])
    if labels is not None:
        task_config = {**(task_config or {}), "labels": list(labels)}
    parts = of_model(model, tokenizer, task, task_config, preprocessor_config)
    return write_parts(parts, directory, format)


@dataclasses.dataclass
class WriteReport:
    """What a format could not hold.

    Args:
        directory: what was written; `format`: in which format.
        written: our names of the variables that were written.
        dropped: our names of variables that the format has no place for.
        notes: sentences on what the format's own code computes differently.
    """

    directory: str
    format: str
    written: list
    dropped: list
    notes: list

    def show(self):
        """Logs a warning when something was lost."""
        lost = [f"no place for {name}" for name in self.dropped] + self.notes
        if lost:
            LOGGER.warning(
                "Wrote %s (%s):\n  %s",
                self.directory,
                self.format,
                "\n  ".join(lost),
            )


def write_parts(parts, directory, format, check=None):
    """Writes `Parts`; `check(folder)` runs before anything is in place."""
    if format not in FORMATS:
        raise invalid("format", f"one of {', '.join(FORMATS)}", format)
    directory = Path(directory).expanduser()
    report = WriteReport(
        str(directory), format, *placed(parts, format), _notes(parts, format)
    )
    write_format = _writer(format)
    if directory.suffix == ".zip":
        _write_zip(parts, directory, format, check)
        return report
    _check_target(directory, format)
    stale = ("vocab.txt", "tokenizer_config.json")
    with atomic_folder(directory, stale) as folder:
        write_format(folder, parts)
        if check is not None:
            check(folder)
    return report


def _writer(format):
    module, function = _WRITERS[format]
    return getattr(importlib.import_module(module), function)


def placed(parts, format):
    """Our names that `format` has a place for, and those it has not."""
    module = importlib.import_module(_WRITERS[format][0])
    dropped = list(module.without_place(parts))
    if format != "keras_bert":
        known = {entry.name for entry, *_ in parts.foreign(format)}
        dropped += [name for name in parts.names() if name not in known]
    return [name for name in parts.names() if name not in dropped], dropped


def _notes(parts, format):
    if format == "google":
        return configs.google_notes(parts.backbone_config)
    if format == "keras_hub":
        return importlib.import_module(_WRITERS[format][0]).notes(parts)
    return []


def _write_zip(parts, path, format, check):
    """The released form: an archive of one folder."""
    if format != "google":
        raise invalid("directory", 'a folder (.zip is for "google")', path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{path.name}.", dir=path.parent
    ) as temporary:
        folder = Path(temporary) / path.stem
        folder.mkdir()
        _writer(format)(folder, parts)
        if check is not None:
            check(folder)
        archive = Path(temporary) / path.name
        # Stored: weights do not get smaller by compression.
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
            for part in sorted(folder.iterdir()):
                file.write(part, f"{path.stem}/{part.name}")
        os.replace(archive, path)


def _check_target(directory, format):
    if directory.is_file():
        raise invalid("directory", "a folder, found a file", str(directory))
    if directory.is_dir():
        others = [name for name in formats_in(directory) if name != format]
        if others:
            raise invalid(
                "directory",
                f"a folder without a checkpoint of another format (it holds "
                f"one of {others[0]})",
                str(directory),
            )
        if any(directory.iterdir()) and not formats_in(directory):
            raise invalid(
                "directory",
                "a new folder, an empty one, or one with a checkpoint to "
                "replace (it holds other files)",
                str(directory),
            )
