"""KerasHub preset folders, through keras_nlp itself, both ways.

KerasHub's BertBackbone always computes the tanh form of GELU with a LayerNorm
epsilon of 1e-12, has one dropout rate and always a pooler; its masked language
model's head computes the exact GELU with an epsilon of 1e-5. What differs is
said in the notes.
"""

from pathlib import Path

import numpy as np
from keras import ops

from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.files import first_line
from keras_bert.checkpoints.files import numpy_dtype
from keras_bert.checkpoints.files import read_json

_SIZES = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "dropout",
    "max_sequence_length",
    "num_segments",
)
_TASKS = ("BertMaskedLM", "BertTextClassifier", "BertTextEmbedder")


class KerasHubStore:
    """The variables of a loaded KerasHub model, by their paths."""

    def __init__(self, model):
        self._variables = {
            variable.path: variable for variable in model.weights
        }

    def names(self):
        return list(self._variables)

    def shape(self, name):
        return tuple(self._variables[name].shape)

    def dtype(self, name):
        return numpy_dtype(self._variables[name].dtype)

    def read(self, name):
        array = ops.convert_to_numpy(self._variables[name])
        return array.astype(self.dtype(name), copy=False)


def open_keras_hub(folder, source):
    """A `Checkpoint` of a preset folder."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds KerasHub weights but no config.json")
    config = read_json(path)
    if config.get("class_name") != "BertBackbone":
        raise ValueError(
            f"{path} describes another architecture: "
            f"{config.get('class_name')!r}, expected 'BertBackbone'"
        )
    sizes = {name: config["config"][name] for name in _SIZES}
    backbone = {
        **sizes,
        "attention_dropout": sizes["dropout"],
        "activation": "gelu_approximate",
        "layer_norm_epsilon": 1e-12,
        "initializer_range": 0.02,
        "pooler": True,
    }
    task, task_config, length = None, {}, None
    if (folder / "task.json").is_file():
        saved = read_json(folder / "task.json")
        task = saved.get("class_name")
        task = task if task in _TASKS else None
        if task == "BertTextClassifier":
            task_config["dropout"] = saved["config"]["dropout"]
    if (folder / "preprocessor.json").is_file():
        saved = read_json(folder / "preprocessor.json")
        length = saved.get("config", {}).get("sequence_length")
    notes = []
    if task == "BertMaskedLM":
        notes.append(
            "KerasHub's masked-language-model head computes the exact GELU "
            "and a LayerNorm epsilon of 1e-5; here the head follows the "
            "backbone (tanh GELU, 1e-12), so its logits differ slightly"
        )
    return Checkpoint(
        "keras_hub",
        source,
        KerasHubStore(_load(folder, task, _dtype(config))),
        backbone,
        task=task,
        task_config=task_config,
        preprocessor_config=length and {"sequence_length": length},
        tokenizer=_read_tokenizer(folder),
        notes=notes,
        path=folder,
    )


def _dtype(config):
    """The type that the preset was saved in, in which its bits stay.

    Without being told, keras_nlp loads in the type of the running session.
    """
    policy = config["config"].get("dtype")
    if isinstance(policy, dict):
        policy = (policy.get("config") or {}).get("name")
    return policy if isinstance(policy, str) else "float32"


def _load(folder, task, dtype):
    import keras_nlp

    models = keras_nlp.models
    try:
        if task == "BertMaskedLM":
            return models.BertMaskedLM.from_preset(
                str(folder), preprocessor=None, dtype=dtype
            )
        if task == "BertTextClassifier":
            return models.BertTextClassifier.from_preset(
                str(folder), preprocessor=None, dtype=dtype
            )
        return models.BertBackbone.from_preset(str(folder), dtype=dtype)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{folder}: keras_nlp cannot load this preset, a file is missing, "
            f"truncated or corrupt: {first_line(error)}"
        ) from error


def _read_tokenizer(folder):
    path = folder / "assets" / "tokenizer" / "vocabulary.txt"
    if not path.is_file():
        return None
    settings = folder / "tokenizer.json"
    settings = read_json(settings)["config"] if settings.is_file() else {}
    return tokenizer_files.TokenizerFiles(
        tokenizer_files.read_vocabulary(path),
        {
            "do_lower_case": bool(settings.get("lowercase", False)),
            # KerasHub keeps accents unless it is told otherwise.
            "strip_accents": bool(settings.get("strip_accents", False)),
            "special_tokens_in_strings": bool(
                settings.get("special_tokens_in_strings", False)
            ),
        },
    )


def write_keras_hub(folder, parts):
    """A preset folder, saved by KerasHub's own classes."""
    import keras_nlp

    models = keras_nlp.models
    backbone = models.BertBackbone(
        **{name: parts.backbone_config[name] for name in _SIZES},
        dtype=parts.dtype(parts.names()[0]).name,
    )
    preprocessor = None
    model = backbone
    length = (parts.preprocessor_config or {}).get("sequence_length", 512)
    length = min(length, parts.backbone_config["max_sequence_length"])
    tokenizer = _hub_tokenizer(models, parts.tokenizer)
    dropped = without_place(parts)
    if "mlm" in parts.heads():
        if tokenizer is not None:
            preprocessor = models.BertMaskedLMPreprocessor(
                tokenizer, sequence_length=length
            )
        model = models.BertMaskedLM(backbone, preprocessor=preprocessor)
    elif "classifier" in parts.heads() and "logits/kernel" not in dropped:
        if tokenizer is not None:
            preprocessor = models.BertTextClassifierPreprocessor(
                tokenizer, sequence_length=length
            )
        model = models.BertTextClassifier(
            backbone,
            num_classes=parts.shape("logits/kernel")[1],
            preprocessor=preprocessor,
            dropout=parts.task_config.get("dropout", 0.1),
        )
    variables = {variable.path: variable for variable in model.weights}
    for entry, _, _, read in parts.foreign("keras_hub"):
        if entry.name in dropped:
            continue
        for name, array in zip(entry.foreign, read(), strict=True):
            if array.dtype not in (np.float32, np.float64):
                array = array.astype("float32")
            variables[name].assign(array)
    model.save_to_preset(str(folder))
    if model is backbone and tokenizer is not None:
        tokenizer.save_to_preset(str(folder))


def _hub_tokenizer(models, tokenizer):
    if tokenizer is None:
        return None
    lowercase = tokenizer.arguments["lowercase"]
    strip_accents = tokenizer.arguments["strip_accents"]
    return models.BertTokenizer(
        vocabulary=tokenizer.vocabulary,
        lowercase=lowercase,
        strip_accents=lowercase if strip_accents is None else strip_accents,
        special_tokens_in_strings=tokenizer.arguments[
            "special_tokens_in_strings"
        ],
    )


def without_place(parts):
    """KerasHub has a masked LM and a text classifier, no other head."""
    if parts.task in ("BertTokenClassifier", "BertMultipleChoice"):
        return [name for name in parts.names() if name.startswith("logits/")]
    return []


def notes(parts):
    """What KerasHub will compute differently."""
    config = parts.backbone_config
    found = []
    if config["activation"] not in configs.TANH_GELUS:
        found.append(
            "KerasHub always computes the tanh form of GELU, not "
            f"`{config['activation']}`: its outputs will differ"
        )
    if config["layer_norm_epsilon"] != 1e-12:
        found.append(
            "KerasHub always computes with a LayerNorm epsilon of 1e-12, not "
            f"{config['layer_norm_epsilon']}"
        )
    if config["attention_dropout"] != config["dropout"]:
        found.append(
            "KerasHub has one dropout rate: attention_dropout="
            f"{config['attention_dropout']} is lost"
        )
    if not config["pooler"]:
        found.append(
            "KerasHub always has a pooler: it is newly initialised there"
        )
    if "mlm" in parts.heads():
        found.append(
            "KerasHub's masked-language-model head computes the exact GELU "
            "and a LayerNorm epsilon of 1e-5"
        )
    return found
