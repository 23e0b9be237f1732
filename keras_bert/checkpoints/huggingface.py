"""Hugging Face folders: config.json, weights, vocabulary.

Reads `model.safetensors`, sharded weights with their index, and
`pytorch_model.bin` through torch's weights-only loader; where a folder holds
both kinds, the safetensors count. Old names are understood one way: LayerNorm
`gamma` and `beta`, the prefix `module.` of DataParallel, names with and
without `bert.`; buffers (`position_ids`) and the copies of the tied decoder
are dropped.
"""

import re
from pathlib import Path

import numpy as np

from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.checkpoint import CLASSIFIERS
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.files import read_json
from keras_bert.checkpoints.safetensors_file import SafetensorsStore

WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
TASKS = {
    "BertModel": None,
    "BertForPreTraining": "BertPretrainer",
    "BertForNextSentencePrediction": "BertPretrainer",
    "BertForMaskedLM": "BertMaskedLM",
    "BertForSequenceClassification": "BertTextClassifier",
    "BertForTokenClassification": "BertTokenClassifier",
    "BertForQuestionAnswering": "BertQuestionAnswerer",
    "BertForMultipleChoice": "BertMultipleChoice",
}

_PROBLEM_TYPES = (
    "regression",
    "single_label_classification",
    "multi_label_classification",
)

# One way, in this order.
_OLD_NAMES = (
    (re.compile(r"^(module\.|model\.)+"), ""),
    (re.compile(r"^bert\."), ""),
    (re.compile(r"LayerNorm\.gamma$"), "LayerNorm.weight"),
    (re.compile(r"LayerNorm\.beta$"), "LayerNorm.bias"),
    (re.compile(r"^cls\.predictions\.decoder\.bias$"), "cls.predictions.bias"),
)
_BUFFERS = re.compile(r"embeddings\.(position_ids|token_type_ids)$")
_WORDS = "embeddings.word_embeddings.weight"
_DECODER = "cls.predictions.decoder.weight"


def open_huggingface(folder, source=None, weights=None):
    """A `Checkpoint` of a folder; `weights` picks one of its files."""
    folder = Path(folder)
    config_path = folder / "config.json"
    if not config_path.is_file():
        raise ValueError(
            f"{folder} holds Hugging Face weights but no config.json, which "
            "describes the model"
        )
    config = read_json(config_path)
    backbone = configs.from_huggingface(config, config_path)
    store = open_store(folder, weights)
    aliases, skipped = _aliases(store)
    _check_decoder(store, aliases, folder)
    backbone["pooler"] = "pooler.dense.weight" in aliases
    task, certain = _task(config, aliases, folder)
    kind, notes = None, []
    if task == "BertTextClassifier":
        kind = _problem_type(config, config_path, notes)
    return Checkpoint(
        "huggingface",
        source or folder,
        store,
        backbone,
        aliases=aliases,
        skipped=skipped,
        task=task,
        task_is_certain=certain,
        task_config=_task_config(config, config_path, store, aliases),
        **_sentence_embedder(folder),
        problem_type=kind,
        notes=notes,
        tokenizer=tokenizer_files.read_huggingface(folder),
        path=folder,
    )


def open_store(folder, weights=None):
    """The arrays of a folder, by its own names."""
    found = weights or next(
        (name for name in WEIGHTS if (folder / name).is_file()), None
    )
    if found is None:
        raise ValueError(
            f"{folder} holds none of {', '.join(WEIGHTS)}. TensorFlow and Flax "
            "weights (tf_model.h5, flax_model.msgpack) are not read: save "
            "them as safetensors"
        )
    files, indexed = [folder / found], ()
    if found.endswith(".index.json"):
        files, indexed = _shards(folder, found)
    if found.removesuffix(".index.json").endswith(".bin"):
        from keras_bert.checkpoints.torch_file import TorchStore

        store = TorchStore(files)
    else:
        store = SafetensorsStore(files)
    absent = sorted(set(indexed).difference(store.names()))
    if absent:
        raise ValueError(
            f"{folder / found} names {len(absent)} tensors that its shards "
            f"do not hold: {', '.join(absent[:3])}"
        )
    return store


def _shards(folder, index):
    weight_map = read_json(folder / index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(f"{folder / index} has no `weight_map`")
    for name in weight_map.values():
        if not isinstance(name, str):
            raise ValueError(
                f"{folder / index}: `weight_map` should map tensors to file "
                f"names, found {name!r}"
            )
    names = sorted(set(weight_map.values()))
    for name in names:
        if Path(name).name != name:
            raise ValueError(
                f"{folder / index} points outside its folder: {name!r}"
            )
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ValueError(
            f"{folder / index} names shards that are missing: "
            f"{', '.join(missing)}"
        )
    return [folder / name for name in names], weight_map


def _aliases(store):
    """{name of the table: name in the file}, and the names to drop."""
    aliases, skipped = {}, []
    for raw in store.names():
        name = raw
        for pattern, replacement in _OLD_NAMES:
            name = pattern.sub(replacement, name)
        if _BUFFERS.search(name):
            skipped.append(raw)
            continue
        if name in aliases:
            # cls.predictions.bias and its copy cls.predictions.decoder.bias;
            # any other clash is reported as unused.
            if raw.endswith("decoder.bias"):
                skipped.append(raw)
                continue
            if aliases[name].endswith("decoder.bias"):
                skipped.append(aliases[name])
            else:
                aliases[f"duplicate {raw}"] = raw
                continue
        aliases[name] = raw
    return aliases, skipped


def _check_decoder(store, aliases, folder):
    """The decoder must be the token table: ours has no other."""
    if _DECODER not in aliases or _WORDS not in aliases:
        return
    if "cls.predictions.bias" not in aliases:
        return
    decoder, words = aliases.pop(_DECODER), aliases[_WORDS]
    if store.shape(decoder) != store.shape(words) or not np.array_equal(
        store.read(decoder), store.read(words)
    ):
        raise ValueError(
            f"{folder} describes another architecture: `{decoder}` differs "
            f"from `{words}`, BERT uses one matrix for both"
        )


def _task(config, aliases, folder):
    for name in config.get("architectures") or []:
        if name in TASKS:
            return TASKS[name], True
        if name in ("BertLMHeadModel", "BertGenerationEncoder"):
            raise ValueError(
                f"{folder} describes another architecture: {name}, a decoder"
            )
    mlm = "cls.predictions.transform.dense.weight" in aliases
    if "qa_outputs.weight" in aliases:
        return "BertQuestionAnswerer", True
    if "classifier.weight" in aliases:
        pooled = "pooler.dense.weight" in aliases
        return CLASSIFIERS[0 if pooled else 1], False
    if "cls.seq_relationship.weight" in aliases:
        return "BertPretrainer", True
    return ("BertMaskedLM" if mlm else None), True


def _task_config(config, path, store, aliases):
    """Labels and dropout; the number of classes comes from the head."""
    found = {}
    dropout = config.get("classifier_dropout")
    if dropout is None:
        dropout = config.get("hidden_dropout_prob", 0.1)
    found["dropout"] = configs.checked_rate(dropout, "classifier_dropout", path)
    labels = _labels(config, path)
    if labels and "classifier.weight" in aliases:
        classes = store.shape(aliases["classifier.weight"])[0]
        if classes not in (1, len(labels)):
            raise ValueError(
                f"{path} names {len(labels)} labels, but the classifier "
                f"`{aliases['classifier.weight']}` has {classes} classes"
            )
        generic = [f"LABEL_{i}" for i in range(len(labels))]
        if classes == len(labels) and labels != generic:
            found["labels"] = labels
    return found


def _problem_type(config, path, notes):
    """`problem_type` of the config; what it means here goes to the notes."""
    kind = config.get("problem_type")
    if kind is not None and kind not in _PROBLEM_TYPES:
        raise ValueError(
            f"{path}: problem_type should be one of "
            f"{', '.join(_PROBLEM_TYPES)}, found {kind!r}"
        )
    several = len(_labels(config, path) or "12") > 1
    if kind == "multi_label_classification" or (
        kind == "regression" and several
    ):
        notes.append(
            f"the config has problem_type {kind}: the outputs are the same "
            "numbers here, but `classify` and the loss of `fit` take them for "
            "classes of which one is right"
        )
    return kind


def _labels(config, path):
    names = config.get("id2label")
    try:
        if not names and config.get("label2id"):
            numbers = config["label2id"]
            names = {number: label for label, number in numbers.items()}
        if not names:
            return None
        names = {int(number): label for number, label in names.items()}
        return [names[i] for i in range(len(names))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: id2label should number the labels from 0, found "
            f"{config.get('id2label')}"
        ) from error


def _sentence_embedder(folder):
    """Pooling and length of a sentence-transformers folder."""
    if not (folder / "modules.json").is_file():
        return {}
    arguments = {"normalize": False}
    for path in sorted(folder.glob("*_Pooling/config.json")):
        pooling = read_json(path)
        for mode, key in (
            ("cls", "pooling_mode_cls_token"),
            ("max", "pooling_mode_max_tokens"),
            ("mean", "pooling_mode_mean_tokens"),
        ):
            if pooling.get(key):
                arguments["pooling_mode"] = mode
    text = (folder / "modules.json").read_text("utf-8")
    arguments["normalize"] = "Normalize" in text
    lengths = folder / "sentence_bert_config.json"
    found = {"embedder_config": arguments}
    if lengths.is_file():
        length = read_json(lengths).get("max_seq_length")
        if length:
            found["preprocessor_config"] = {"sequence_length": length}
    return found
