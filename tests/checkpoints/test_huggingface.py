"""Random models of transformers: equal outputs here, equal bytes back."""

import json
import shutil

import keras
import ml_dtypes
import numpy as np
import pytest
from keras import ops

from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source
from keras_bert.checkpoints import write

CLASSES = {
    "BertModel": None,
    "BertForPreTraining": "BertPretrainer",
    "BertForMaskedLM": "BertMaskedLM",
    "BertForNextSentencePrediction": "BertPretrainer",
    "BertForSequenceClassification": "BertTextClassifier",
    "BertForTokenClassification": "BertTokenClassifier",
    "BertForQuestionAnswering": "BertQuestionAnswerer",
    "BertForMultipleChoice": "BertMultipleChoice",
}
LABELS = {
    "id2label": {0: "bad", 1: "fair", 2: "good"},
    "label2id": {"bad": 0, "fair": 1, "good": 2},
}


def theirs(folder, name, ids):
    import torch
    import transformers

    model = getattr(transformers, name).from_pretrained(folder).eval()
    batch = {
        "input_ids": ids["token_ids"],
        "token_type_ids": ids["segment_ids"],
        "attention_mask": ids["padding_mask"],
    }
    batch = {key: torch.tensor(value) for key, value in batch.items()}
    if name == "BertForMultipleChoice":
        batch = {key: value.reshape(2, 2, -1) for key, value in batch.items()}
    with torch.no_grad():
        outputs = model(**batch)
    return {
        key: value.numpy()
        for key, value in outputs.items()
        if torch.is_tensor(value)
    }


def ours(model, name, ids):
    ids = dict(ids)
    if name == "BertForMultipleChoice":
        ids = {key: value.reshape(2, 2, -1) for key, value in ids.items()}
    if CLASSES[name] in ("BertPretrainer", "BertMaskedLM"):
        rows, length = ids["token_ids"].shape
        ids["mask_positions"] = np.tile(np.arange(length), (rows, 1))
    outputs = keras.tree.map_structure(ops.convert_to_numpy, model(ids))
    return {
        "BertModel": lambda o: {
            "last_hidden_state": o["sequence_output"],
            "pooler_output": o["pooled_output"],
        },
        "BertForPreTraining": lambda o: {
            "prediction_logits": o["mask_ids"],
            "seq_relationship_logits": o["next_sentence"],
        },
        "BertForNextSentencePrediction": lambda o: {
            "logits": o["next_sentence"]
        },
        "BertForQuestionAnswering": lambda o: {
            "start_logits": o["start"],
            "end_logits": o["end"],
        },
    }.get(name, lambda o: {"logits": o})(outputs)


def assert_close(left, right, mask, tolerance=1e-5):
    for key, value in left.items():
        other = right[key]
        assert value.shape == other.shape, key
        if value.ndim > 1 and value.shape[:2] == mask.shape:
            # What stands at padding is arbitrary on both sides.
            value, other = value[mask > 0], other[mask > 0]
        np.testing.assert_allclose(value, other, atol=tolerance, rtol=0)


@pytest.mark.parametrize("name", CLASSES)
def test_outputs_equal_those_of_transformers(name, write_hf, build, ids):
    extra = LABELS if "Classification" in name else {}
    folder = write_hf(name, **extra)
    model, report = build(folder, CLASSES[name])
    assert report.unused == [] and report.missing == []
    if name != "BertForNextSentencePrediction":
        assert report.newly_initialised == []
    assert_close(
        ours(model, name, ids), theirs(folder, name, ids), ids["padding_mask"]
    )


@pytest.mark.parametrize("name", CLASSES)
def test_written_back_transformers_misses_no_name_and_every_byte_is_equal(
    name, write_hf, build, tmp_path, store, assert_same_bytes
):
    import transformers

    extra = LABELS if "Classification" in name else {}
    folder = write_hf(name, **extra)
    model, _ = build(folder, CLASSES[name])
    write(model, tmp_path / "back", "huggingface")
    loaded, info = getattr(transformers, name).from_pretrained(
        tmp_path / "back", output_loading_info=True
    )
    assert not info["missing_keys"]
    if name == "BertForNextSentencePrediction":
        # Our pretrainer has both heads: the other one is new.
        assert all("predictions" in key for key in info["unexpected_keys"])
        return
    assert not info["unexpected_keys"] and not info["mismatched_keys"]
    assert_same_bytes(
        store(folder / "model.safetensors"),
        store(tmp_path / "back" / "model.safetensors"),
    )
    before = json.loads((folder / "config.json").read_text())
    after = json.loads((tmp_path / "back" / "config.json").read_text())
    for key in ("architectures", "id2label", "label2id", "hidden_act"):
        assert before.get(key) == after.get(key)
    if "Classification" in name:
        assert loaded.config.id2label == LABELS["id2label"]


@pytest.mark.parametrize("name", CLASSES)
def test_convert_needs_no_model_and_gives_every_byte_back(
    name, write_hf, tmp_path, store, assert_same_bytes
):
    folder = write_hf(name)
    convert(folder, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", "huggingface")
    assert_same_bytes(
        store(folder / "model.safetensors"),
        store(tmp_path / "back" / "model.safetensors"),
    )


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_act": "gelu_new"},
        {"hidden_act": "gelu_pytorch_tanh"},
        {"hidden_act": "relu"},
        {"hidden_act": "tanh"},
        {"hidden_act": "linear", "layer_norm_eps": 0.01},
        {"type_vocab_size": 5, "layer_norm_eps": 1e-5},
    ],
    ids=lambda config: "-".join(map(str, config.values())),
)
def test_config_values_reach_every_layer_and_the_head(
    config, write_hf, build, ids
):
    name = "BertForMaskedLM"
    folder = write_hf(name, **config)
    model, _ = build(folder, "BertMaskedLM")
    assert_close(
        ours(model, name, ids), theirs(folder, name, ids), ids["padding_mask"]
    )


# As transformers' classes and its pipeline for text classification read it:
# a single output is squashed by a sigmoid unless it is "regression".
@pytest.mark.parametrize(
    ("kind", "count", "back"),
    [
        (None, 1, "regression"),
        ("regression", 1, "regression"),
        ("regression", 3, "regression"),
        ("multi_label_classification", 3, "multi_label_classification"),
        (None, 3, None),
    ],
)
def test_the_problem_type_of_a_classifier_comes_back(
    kind, count, back, write_hf, build, tmp_path
):
    import transformers

    folder = write_hf(
        "BertForSequenceClassification", num_labels=count, problem_type=kind
    )
    model, report = build(folder, "BertTextClassifier")
    assert model.num_classes == count
    # What our head does not do with these outputs is said when they load.
    assert bool(report.notes) == (kind is not None and count > 1)
    convert(folder, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", format="huggingface")
    if count == 1:
        write(model, tmp_path / "written", format="huggingface")
    for path in tmp_path.iterdir():
        if path.name == "ours":
            continue
        config = transformers.BertConfig.from_pretrained(path)
        assert (config.problem_type, config.num_labels) == (back, count)


def test_a_problem_type_that_is_none_is_refused(write_hf, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(write_hf("BertForSequenceClassification"), folder)
    path = folder / "config.json"
    config = json.loads(path.read_text()) | {"problem_type": "ranking"}
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match="problem_type.*'ranking'"):
        open_source(folder)


def test_one_segment_type_and_one_layer(write_hf, build, ids):
    folder = write_hf("BertModel", type_vocab_size=1, num_hidden_layers=1)
    model, _ = build(folder)
    ids = {**ids, "segment_ids": np.zeros_like(ids["segment_ids"])}
    assert_close(
        ours(model, "BertModel", ids),
        theirs(folder, "BertModel", ids),
        ids["padding_mask"],
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_convert_bit_for_bit(
    dtype, write_hf, tmp_path, store, assert_same_bytes
):
    import torch

    folder = write_hf("BertForMaskedLM", dtype=getattr(torch, dtype))
    source = store(folder / "model.safetensors")
    assert {array.dtype for array in source.values()} == {
        np.dtype(getattr(ml_dtypes, dtype, dtype))
    }
    convert(folder, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "google", "google")
    convert(tmp_path / "google", tmp_path / "back", "huggingface")
    assert_same_bytes(source, store(tmp_path / "back" / "model.safetensors"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_load_into_float32_exactly(dtype, write_hf, build, store):
    import torch

    folder = write_hf("BertModel", dtype=getattr(torch, dtype))
    model, _ = build(folder)
    table = ops.convert_to_numpy(model.token_embedding.embeddings)
    source = store(folder / "model.safetensors")
    np.testing.assert_array_equal(
        table,
        source["embeddings.word_embeddings.weight"].astype("float32"),
    )


def save_file(folder, arrays, config, name="model.safetensors"):
    from safetensors.numpy import save_file as save

    folder.mkdir(exist_ok=True)
    arrays = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
    save(arrays, str(folder / name))
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("prefix", ["", "bert.", "module.bert.", "module."])
@pytest.mark.parametrize("old", [False, True])
def test_old_names_and_every_prefix_load_alike(
    prefix, old, write_hf, tmp_path, store, assert_same_bytes
):
    folder = write_hf("BertModel")
    source = store(folder / "model.safetensors")
    renamed = {}
    for name, array in source.items():
        if old:
            name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            name = name.replace("LayerNorm.bias", "LayerNorm.beta")
        renamed[prefix + name] = array
    renamed[prefix + "embeddings.position_ids"] = np.arange(16)[None]
    config = json.loads((folder / "config.json").read_text())
    save_file(tmp_path / "old", renamed, config)
    checkpoint = open_source(tmp_path / "old")
    assert checkpoint.unused == []
    new = open_source(folder)
    assert_same_bytes(
        {name: checkpoint.read(name) for name in checkpoint.names()},
        {name: new.read(name) for name in new.names()},
    )


def test_shards_and_torch_files_equal_the_one_safetensors_file(
    write_hf, tmp_path, assert_same_bytes
):
    import torch
    import transformers

    folder = write_hf("BertForPreTraining")
    model = transformers.BertForPreTraining.from_pretrained(folder)
    model.save_pretrained(tmp_path / "shards", max_shard_size="2KB")
    assert (tmp_path / "shards" / "model.safetensors.index.json").is_file()
    binary = tmp_path / "bin"
    binary.mkdir()
    # Old files hold the tied decoder and its bias once more.
    torch.save(model.state_dict(), binary / "pytorch_model.bin")
    old = tmp_path / "legacy"
    old.mkdir()
    torch.save(
        model.state_dict(),
        old / "pytorch_model.bin",
        _use_new_zipfile_serialization=False,
    )
    expected = open_source(folder)
    expected = {name: expected.read(name) for name in expected.names()}
    for name in ("shards", "bin", "legacy"):
        config = (folder / "config.json").read_text()
        (tmp_path / name / "config.json").write_text(config)
        checkpoint = open_source(tmp_path / name)
        assert checkpoint.unused == []
        assert checkpoint.task == "BertPretrainer"
        assert_same_bytes(
            {name: checkpoint.read(name) for name in checkpoint.names()},
            expected,
        )


def test_without_pooler_the_backbone_has_none(write_hf, build):
    folder = write_hf("BertModel", keywords={"add_pooling_layer": False})
    model, report = build(folder)
    assert model.pooled_dense is None
    assert report.complete


def test_pooler_that_the_file_lacks_is_named(write_hf, build):
    folder = write_hf("BertForMaskedLM")
    with pytest.raises(ValueError, match=r"pooled_dense/kernel.*pooler=False"):
        build(folder, pooler=True)


def test_head_of_another_task_is_newly_initialised_and_reported(
    write_hf, build
):
    # Two classes, as a question answerer has two outputs: only the task
    # tells the two heads apart.
    folder = write_hf("BertForSequenceClassification")
    _, report = build(folder, "BertQuestionAnswerer")
    assert report.newly_initialised == ["logits/kernel", "logits/bias"]
    assert report.unused == ["classifier.weight", "classifier.bias"]
    text = str(report)
    assert "Newly initialised" in text and "classifier.weight" in text


def test_report_is_logged_once(write_hf, build, caplog):
    folder = write_hf("BertForPreTraining")
    with caplog.at_level("INFO", logger="keras_bert"):
        build(folder)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "cls.predictions.bias" in record.message
    caplog.clear()
    with caplog.at_level("INFO", logger="keras_bert"):
        build(folder, "BertPretrainer")
    (record,) = caplog.records
    assert record.levelname == "INFO"
