"""Our own preset folder: save and load are inverse."""

import json

import numpy as np
import pytest
from keras import ops

import keras_bert.models as models
from keras_bert.checkpoints import open_source
from keras_bert.checkpoints import write
from keras_bert.tokenizers import BertTokenizer

SIZES = {
    "vocabulary_size": 20,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 12,
    "max_sequence_length": 16,
}
TASKS = {
    "BertBackbone": {},
    "BertMaskedLM": {},
    "BertPretrainer": {},
    "BertTextClassifier": {"labels": ["a", "b", "c"], "dropout": 0.3},
    "BertTokenClassifier": {"num_classes": 4},
    "BertQuestionAnswerer": {},
    "BertMultipleChoice": {},
    "BertTextEmbedder": {"pooling_mode": "cls", "normalize": False},
}


def make(task, preprocessor=None, **sizes):
    backbone = models.BertBackbone(**{**SIZES, **sizes})
    if task == "BertBackbone":
        return backbone
    return getattr(models, task)(
        backbone, preprocessor=preprocessor, **TASKS[task]
    )


def values(model):
    return [ops.convert_to_numpy(weight) for weight in model.weights]


@pytest.mark.parametrize("task", TASKS)
def test_users_42_save_and_load_are_inverse_for_every_model_and_head(
    task, tmp_path, build
):
    model = make(task)
    write(model, tmp_path / "saved")
    name = None if task == "BertBackbone" else task
    loaded, report = build(tmp_path / "saved", name)
    assert report.complete
    assert open_source(tmp_path / "saved").task == name
    for old, new in zip(values(model), values(loaded), strict=True):
        np.testing.assert_array_equal(old, new)
    old, new = model.get_config(), loaded.get_config()
    assert old.pop("name") and new.pop("name")
    for config in (old, new):
        if "backbone" in config:
            config["backbone"]["config"].pop("name")
    assert old == new


@pytest.mark.parametrize(
    "task", ["BertTextClassifier", "BertTokenClassifier", "BertMaskedLM"]
)
@pytest.mark.parametrize("format", ["huggingface", "keras_bert"])
def test_heads_and_labels_survive_each_format(task, format, tmp_path, build):
    model = make(task, pooler=task != "BertTokenClassifier")
    write(model, tmp_path / "saved", format)
    loaded, report = build(tmp_path / "saved", task)
    assert report.newly_initialised == [] and report.unused == []
    for old, new in zip(values(model), values(loaded), strict=False):
        if old.shape == new.shape:
            np.testing.assert_array_equal(old, new)
    assert getattr(loaded, "labels", None) == getattr(model, "labels", None)
    assert getattr(loaded, "dropout", None) == getattr(model, "dropout", None)


def test_the_preset_holds_vocabulary_settings_labels_task_and_version(
    tmp_path, vocabulary
):
    tokenizer = BertTokenizer(vocabulary, lowercase=True, strip_accents=False)
    model = make("BertTextClassifier", preprocessor=tokenizer)
    write(model, tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "config.json",
        "model.weights.safetensors",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    config = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert config["library"] == "keras_bert"
    assert config["library_version"]
    checkpoint = open_source(tmp_path / "saved")
    assert checkpoint.tokenizer_arguments == {
        "vocabulary": vocabulary,
        "lowercase": True,
        "strip_accents": False,
        "special_tokens_in_strings": False,
    }
    arguments = checkpoint.preprocessor_arguments("BertTextClassifier")
    assert arguments["sequence_length"] == 16
    assert checkpoint.preprocessor_arguments("BertMaskedLM") == {}
    assert checkpoint.task_arguments("BertTextClassifier")["labels"] == [
        "a",
        "b",
        "c",
    ]


def test_saving_again_leaves_nothing_of_the_older_model(tmp_path, vocabulary):
    tokenizer = BertTokenizer(vocabulary, lowercase=True)
    write(make("BertMaskedLM", preprocessor=tokenizer), tmp_path / "saved")
    write(make("BertBackbone"), tmp_path / "saved")
    checkpoint = open_source(tmp_path / "saved")
    assert checkpoint.task is None and checkpoint.vocabulary is None


def test_a_failed_write_leaves_the_older_model_untouched(tmp_path, monkeypatch):
    from keras_bert.checkpoints import preset

    write(make("BertBackbone"), tmp_path / "saved")
    before = {
        path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()
    }

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(preset, "write_json", fail)
    with pytest.raises(OSError, match="disk full"):
        write(make("BertBackbone"), tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    after = {
        path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()
    }
    assert before == after


def test_a_preset_of_a_later_format_is_refused(tmp_path):
    write(make("BertBackbone"), tmp_path / "saved")
    path = tmp_path / "saved" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "format_version": 99}))
    with pytest.raises(ValueError, match="format_version 99"):
        open_source(tmp_path / "saved")


def test_a_float32_checkpoint_loads_under_half_precision_policies(
    tmp_path, build
):
    model = make("BertMaskedLM")
    write(model, tmp_path / "saved")
    for policy in ("mixed_bfloat16", "mixed_float16"):
        loaded, _ = build(tmp_path / "saved", "BertMaskedLM", dtype=policy)
        for old, new in zip(values(model), values(loaded), strict=True):
            np.testing.assert_array_equal(old, new)


def test_a_bfloat16_model_is_written_in_its_own_type(tmp_path, build):
    backbone = models.BertBackbone(**SIZES, dtype="bfloat16")
    write(backbone, tmp_path / "saved", "huggingface")
    checkpoint = open_source(tmp_path / "saved")
    name = "embeddings/token_embedding/embeddings"
    assert checkpoint.dtype(name).name == "bfloat16"
    loaded, _ = build(tmp_path / "saved", dtype="bfloat16")
    for old, new in zip(values(backbone), values(loaded), strict=True):
        np.testing.assert_array_equal(
            old.astype("float32"), new.astype("float32")
        )
