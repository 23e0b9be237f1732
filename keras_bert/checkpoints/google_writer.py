"""Writing the files of 2018, which `tf.train.load_checkpoint` reads."""

from pathlib import Path

import numpy as np

from keras_bert._tensorflow import tensorflow
from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.files import write_json

PREFIX = "bert_model.ckpt"


def write_google(folder, parts):
    """bert_config.json, bert_model.ckpt.*, vocab.txt.

    The released folders do not say whether to lower-case; ours also hold a
    tokenizer_config.json, which the original code ignores.
    """
    tf = tensorflow()
    names, arrays = [], []
    dropped = without_place(parts)
    with tf.device("CPU:0"):
        for entry, _, _, read in parts.foreign("google"):
            # `output_weights` would be taken for a text classifier's head.
            if entry.name in dropped:
                continue
            names.extend(entry.foreign)
            arrays.extend(
                tf.constant(np.ascontiguousarray(array)) for array in read()
            )
        # A checkpoint of plain names, without an object graph.
        tf.raw_ops.SaveV2(
            prefix=str(Path(folder) / PREFIX),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=arrays,
        )
    write_json(
        Path(folder) / "bert_config.json",
        configs.to_google(parts.backbone_config),
    )
    tokenizer_files.write_tokenizer(
        folder,
        parts.tokenizer,
        parts.backbone_config["max_sequence_length"],
    )


def without_place(parts):
    """The 2018 code has no token classifier and no multiple choice."""
    if parts.task in ("BertTokenClassifier", "BertMultipleChoice"):
        return [name for name in parts.names() if name.startswith("logits/")]
    return []
