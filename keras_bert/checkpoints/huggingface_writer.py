"""Writing a folder that transformers loads without a missing name."""

import json
from pathlib import Path

from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.files import write_json
from keras_bert.checkpoints.safetensors_file import write_safetensors

# Which class of transformers has a place for which head.
_ARCHITECTURES = {
    "BertTextClassifier": "BertForSequenceClassification",
    "BertTokenClassifier": "BertForTokenClassification",
    "BertMultipleChoice": "BertForMultipleChoice",
}
_WITHOUT_POOLER = (
    "BertForMaskedLM",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
)


def write_huggingface(folder, parts):
    """config.json, model.safetensors, vocab.txt, tokenizer_config.json."""
    architecture = architecture_of(parts)
    # BertModel itself has no prefix; inside the other classes it is `bert`.
    prefix = "" if architecture == "BertModel" else "bert."
    items = [
        (
            [
                name
                if name.startswith(("cls.", "classifier.", "qa_outputs."))
                else prefix + name
                for name in entry.foreign
            ],
            dtype,
            shapes,
            read,
        )
        for entry, dtype, shapes, read in parts.foreign("huggingface")
        if entry.name not in without_place(parts)
    ]
    write_safetensors(
        Path(folder) / "model.safetensors", items, {"format": "pt"}
    )
    write_json(
        Path(folder) / "config.json", _config(parts, architecture, items)
    )
    tokenizer_files.write_tokenizer(
        folder,
        parts.tokenizer,
        parts.backbone_config["max_sequence_length"],
    )
    if architecture == "BertModel":
        _write_sentence_embedder(Path(folder), parts)


def _write_sentence_embedder(folder, parts):
    """The files by which sentence-transformers pools and normalises."""
    pooling = parts.embedder_config.get("pooling_mode")
    layers = parts.embedder_config.get("hidden_layers", -1)
    if pooling not in ("mean", "cls", "max") or layers != -1:
        return
    kinds = ["Transformer", "Pooling"]
    if parts.embedder_config.get("normalize", True):
        kinds.append("Normalize")
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{kind}" if i else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    # A list, which `write_json` and `read_json` leave to objects.
    (folder / "modules.json").write_text(json.dumps(modules, indent=2))
    (folder / "1_Pooling").mkdir()
    write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": parts.backbone_config["hidden_dim"],
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
            "pooling_mode_max_tokens": pooling == "max",
        },
    )
    length = (parts.preprocessor_config or {}).get("sequence_length")
    if length:
        write_json(
            folder / "sentence_bert_config.json",
            {"max_seq_length": length, "do_lower_case": False},
        )


def without_place(parts):
    """The pooler, for the classes of transformers that have none."""
    if architecture_of(parts) not in _WITHOUT_POOLER:
        return []
    return [name for name in parts.names() if name.startswith("pooled_dense/")]


def architecture_of(parts):
    heads = parts.heads()
    if "span" in heads:
        return "BertForQuestionAnswering"
    if "classifier" in heads:
        return _ARCHITECTURES.get(parts.task, "BertForSequenceClassification")
    if "next_sentence" in heads:
        with_words = "mlm" in heads
        return (
            "BertForPreTraining"
            if with_words
            else "BertForNextSentencePrediction"
        )
    return "BertForMaskedLM" if "mlm" in heads else "BertModel"


def _config(parts, architecture, items):
    config = configs.to_huggingface(parts.backbone_config)
    config["architectures"] = [architecture]
    config["dtype"] = items[0][1].name
    if "classifier" in parts.heads():
        dropout = parts.task_config.get("dropout")
        if dropout is not None and dropout != config["hidden_dropout_prob"]:
            config["classifier_dropout"] = dropout
        config.update(_labels(parts, architecture))
    return config


def _labels(parts, architecture):
    count = parts.shape("logits/kernel")[1]
    labels = parts.task_config.get("labels")
    if architecture == "BertForMultipleChoice":
        return {}
    found = {}
    if architecture == "BertForSequenceClassification":
        # transformers squashes a single output unless it reads "regression".
        kind = parts.problem_type or ("regression" if count == 1 else None)
        found = {"problem_type": kind} if kind else {}
    if labels is None:
        # Two unnamed labels are the default of transformers.
        if count == 2:
            return found
        labels = [f"LABEL_{i}" for i in range(count)]
    return {
        **found,
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
