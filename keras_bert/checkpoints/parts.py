"""What a writer is handed, from a model or from another checkpoint."""

import keras
import numpy as np

from keras_bert.checkpoints import load
from keras_bert.checkpoints import names
from keras_bert.checkpoints import tensors
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.files import numpy_dtype


class Parts:
    """What a writer is handed: configs, and arrays by our names.

    Args:
        backbone_config: `BertBackbone` arguments.
        arrays: {our name: (part, shape, dtype, read)}.
        tokenizer: `TokenizerFiles` or None.
        task, task_config, preprocessor_config: as in `Checkpoint`.
        embedder_config: `BertTextEmbedder` arguments of a source that was
            made for sentence embeddings.
        problem_type: as in `Checkpoint`.
    """

    def __init__(
        self,
        backbone_config,
        arrays,
        tokenizer=None,
        task=None,
        task_config=None,
        preprocessor_config=None,
        embedder_config=None,
        problem_type=None,
    ):
        self.backbone_config = dict(backbone_config)
        self.tokenizer = tokenizer
        self.task = task
        self.task_config = dict(task_config or {})
        self.preprocessor_config = preprocessor_config
        self.embedder_config = dict(embedder_config or {})
        self.problem_type = problem_type
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
        tokenizer=checkpoint.tokenizer_files,
        task=checkpoint.task,
        task_config=checkpoint.task_config,
        preprocessor_config=checkpoint.preprocessor_config,
        embedder_config=checkpoint.task_arguments("BertTextEmbedder"),
        problem_type=checkpoint.problem_type,
    )


def of_model(model, tokenizer, task, task_config, preprocessor_config):
    """`Parts` of a backbone or task model."""
    heads = load.TASK_PARTS.get(task, ())
    arrays = {}
    for name, variable in load.model_variables(model).items():
        part = names.part_of(name)
        if part == "logits":
            part = (*heads, "classifier")[0]
        arrays[name] = (
            part,
            variable.shape,
            numpy_dtype(variable.dtype),
            lambda variable=variable: _to_numpy(variable),
        )
    return Parts(
        plain_config(getattr(model, "backbone", model)),
        arrays,
        tokenizer=tokenizer_files.of_tokenizer(tokenizer),
        task=task,
        task_config=task_config,
        preprocessor_config=preprocessor_config,
        embedder_config=task_config if task == "BertTextEmbedder" else None,
    )


def plain_config(thing, without=()):
    """An object's arguments, without Keras' own and without objects."""
    config = thing.get_config()
    for key in ("name", "trainable", "dtype", *without):
        config.pop(key, None)
    return config


def _to_numpy(variable):
    # Under torch a bfloat16 variable comes as float32: back, exactly.
    array = keras.ops.convert_to_numpy(variable)
    return array.astype(numpy_dtype(variable.dtype), copy=False)
