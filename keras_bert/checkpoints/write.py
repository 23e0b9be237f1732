"""Writing a model, or another checkpoint, in any of the formats.

Arrays move one at a time and keep their type. What is written is a folder
beside the target, which takes the target's name only when it is complete.
"""

import importlib
from pathlib import Path

import keras
import ml_dtypes
import numpy as np

from keras_bert._errors import invalid
from keras_bert.checkpoints import load
from keras_bert.checkpoints import names
from keras_bert.checkpoints import tensors
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.files import atomic_folder
from keras_bert.checkpoints.source import _formats

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


class Parts:
    """What a writer is handed: configs, and arrays by our names.

    Args:
        backbone_config: `BertBackbone` arguments.
        arrays: {our name: (part, shape, dtype, read)}.
        tokenizer: `TokenizerFiles` or None.
        task, task_config, preprocessor_config: as in `Checkpoint`.
    """

    def __init__(
        self,
        backbone_config,
        arrays,
        tokenizer=None,
        task=None,
        task_config=None,
        preprocessor_config=None,
    ):
        self.backbone_config = dict(backbone_config)
        self.tokenizer = tokenizer
        self.task = task
        self.task_config = dict(task_config or {})
        self.preprocessor_config = preprocessor_config
        self._arrays = arrays

    def names(self):
        return list(self._arrays)

    def heads(self):
        return {part for part, *_ in self._arrays.values()}

    def shape(self, name):
        return tuple(self._arrays[name][1])

    def dtype(self, name):
        return np.dtype(self._arrays[name][2])

    def read(self, name):
        return self._arrays[name][3]()

    def foreign(self, format):
        """Items for a foreign file, in the table's order.

        Each is (entry, dtype, foreign shapes, read), `read()` giving the
        arrays of `entry.foreign`.
        """
        for entry in names.entries(format, self.backbone_config["num_layers"]):
            if entry.name not in self._arrays:
                continue
            part, shape, dtype, read = self._arrays[entry.name]
            if part != entry.part:
                continue
            yield (
                entry,
                np.dtype(dtype),
                tensors.split_shapes(entry.kind, format, shape),
                lambda entry=entry, read=read: tensors.split(
                    entry.kind, format, read()
                ),
            )

    def without_place(self, format):
        """Our names of what `format` cannot hold."""
        if format == "keras_bert":
            return []
        placed = {entry.name for entry, *_ in self.foreign(format)}
        return [name for name in self._arrays if name not in placed]


def of_checkpoint(checkpoint):
    """`Parts` of an open checkpoint: nothing is read yet."""
    return Parts(
        checkpoint.backbone_config,
        {
            name: (
                checkpoint.part(name),
                checkpoint.shape(name),
                checkpoint.dtype(name),
                lambda name=name: checkpoint.read(name),
            )
            for name in checkpoint.names()
        },
        tokenizer=checkpoint._tokenizer,
        task=checkpoint.task,
        task_config=checkpoint.task_config,
        preprocessor_config=checkpoint.preprocessor_config,
    )


def of_model(
    model,
    tokenizer=None,
    task=None,
    task_config=None,
    preprocessor_config=None,
):
    """`Parts` of a backbone or task model."""
    task = task or load.task_of(model)
    backbone = getattr(model, "backbone", model)
    heads = load.TASK_PARTS.get(task, ())
    arrays = {}
    for name, variable in load.model_variables(model).items():
        part = names.part_of(name)
        if part == "logits":
            part = (*heads, "classifier")[0]
        arrays[name] = (
            part,
            variable.shape,
            _numpy_dtype(variable.dtype),
            lambda variable=variable: _to_numpy(variable),
        )
    if tokenizer is None:
        tokenizer = getattr(
            getattr(model, "preprocessor", None), "tokenizer", None
        )
    return Parts(
        backbone_config(backbone),
        arrays,
        tokenizer=tokenizer_files.of_tokenizer(tokenizer),
        task=task,
        task_config=task_config,
        preprocessor_config=preprocessor_config,
    )


def backbone_config(backbone):
    """The arguments that describe the architecture, without Keras' own."""
    config = backbone.get_config()
    for key in ("name", "trainable", "dtype"):
        config.pop(key, None)
    return config


def write(
    model,
    directory,
    format="keras_bert",
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
        tokenizer: a `BertTokenizer`; None takes the model's own.
        task: name of the task model; None takes it from the class.
        labels: list of names; None takes them from `task_config` or the
            model.
        task_config: dict of the task model's arguments besides `backbone`
            and `preprocessor` (plain values).
        preprocessor_config: dict of the preprocessor's arguments besides
            the tokenizer.

    Returns the list of our names that the format has no place for.
    """
    task_config = dict(task_config or {})
    if labels is None:
        labels = getattr(model, "labels", None)
    if labels is not None:
        task_config.setdefault("labels", list(labels))
    if "dropout" not in task_config and hasattr(model, "backbone"):
        rate = getattr(model, "dropout", None)
        if isinstance(rate, (int, float)):
            task_config["dropout"] = rate
    parts = of_model(model, tokenizer, task, task_config, preprocessor_config)
    return write_parts(parts, directory, format)


def write_parts(parts, directory, format, check=None):
    """Writes `Parts`; `check(folder)` runs before anything is in place."""
    if format not in FORMATS:
        raise invalid("format", f"one of {', '.join(FORMATS)}", format)
    directory = Path(directory).expanduser()
    _check_target(directory, format)
    module, function = _WRITERS[format]
    writer = getattr(importlib.import_module(module), function)
    with atomic_folder(directory) as folder:
        writer(folder, parts)
        if check is not None:
            check(folder)
    return parts.without_place(format)


def _check_target(directory, format):
    if directory.is_file():
        raise invalid("directory", "a folder, found a file", str(directory))
    if directory.is_dir():
        others = [name for name in _formats(directory) if name != format]
        if others:
            raise invalid(
                "directory",
                f"a folder without a checkpoint of another format (it holds "
                f"one of {others[0]})",
                str(directory),
            )


def _numpy_dtype(name):
    return ml_dtypes.bfloat16 if name == "bfloat16" else name


def _to_numpy(variable):
    # Under torch a bfloat16 variable comes as float32: back, exactly.
    array = keras.ops.convert_to_numpy(variable)
    return array.astype(_numpy_dtype(variable.dtype), copy=False)
