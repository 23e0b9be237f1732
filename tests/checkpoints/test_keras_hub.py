"""KerasHub preset folders, both ways."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source

SIZES = {
    "vocabulary_size": 20,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 12,
    "max_sequence_length": 16,
    "num_segments": 3,
    "dropout": 0.2,
}


@pytest.fixture(scope="module")
def hub():
    import keras_nlp

    return keras_nlp.models


@pytest.fixture(scope="module")
def preset(hub, vocabulary, tmp_path_factory):
    """preset("BertMaskedLM") -> (model of KerasHub, its folder)."""

    def make(task):
        folder = tmp_path_factory.mktemp(task)
        model = hub.BertBackbone(**SIZES)
        for variable in model.weights:
            variable.assign(
                ops.convert_to_numpy(variable)
                + 0.2 * np.random.default_rng(1).normal(size=variable.shape)
            )
        tokenizer = hub.BertTokenizer(vocabulary, lowercase=True)
        if task == "BertMaskedLM":
            preprocessor = hub.BertMaskedLMPreprocessor(
                tokenizer, sequence_length=12
            )
            model = hub.BertMaskedLM(model, preprocessor=preprocessor)
        if task == "BertTextClassifier":
            preprocessor = hub.BertTextClassifierPreprocessor(
                tokenizer, sequence_length=12
            )
            model = hub.BertTextClassifier(
                model, num_classes=3, preprocessor=preprocessor, dropout=0.4
            )
        model.save_to_preset(str(folder))
        return model, folder

    return make


def test_backbone_gives_kerashubs_outputs(preset, build, ids):
    theirs, folder = preset("BertBackbone")
    model, report = build(folder)
    assert report.complete
    assert model.activation == "gelu_approximate"
    expected = theirs({key: ops.convert_to_tensor(value, "int32")
                       for key, value in ids.items()})  # fmt: skip
    found = model(ids)
    real = ids["padding_mask"] > 0
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["sequence_output"])[real],
        ops.convert_to_numpy(expected["sequence_output"])[real],
        atol=1e-5,
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["pooled_output"]),
        ops.convert_to_numpy(expected["pooled_output"]),
        atol=1e-5,
    )


def test_classifier_head_vocabulary_and_settings_are_read(
    preset, build, ids, vocabulary
):
    theirs, folder = preset("BertTextClassifier")
    model, report = build(folder, "BertTextClassifier")
    assert report.complete
    assert (model.num_classes, model.dropout) == (3, 0.4)
    expected = theirs({key: ops.convert_to_tensor(value, "int32")
                       for key, value in ids.items()})  # fmt: skip
    np.testing.assert_allclose(
        ops.convert_to_numpy(model(ids)),
        ops.convert_to_numpy(expected),
        atol=1e-5,
    )
    checkpoint = open_source(folder)
    # KerasHub lower-cases without stripping accents unless told otherwise.
    assert checkpoint.tokenizer_arguments == {
        "vocabulary": vocabulary,
        "lowercase": True,
        "strip_accents": False,
        "special_tokens_in_strings": False,
    }
    assert checkpoint.preprocessor_arguments("BertTextClassifier") == {
        "sequence_length": 12
    }


@pytest.mark.parametrize("task", ["BertMaskedLM", "BertTextClassifier"])
def test_a_folder_that_we_write_opens_in_kerashub(
    task, hub, preset, tmp_path, assert_same_bytes
):
    theirs, folder = preset(task)
    convert(folder, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", "keras_hub")
    loaded = getattr(hub, task).from_preset(str(tmp_path / "back"))
    before = {v.path: ops.convert_to_numpy(v) for v in theirs.weights}
    after = {v.path: ops.convert_to_numpy(v) for v in loaded.weights}
    assert_same_bytes(before, after)
    assert loaded.preprocessor.tokenizer.get_vocabulary() == (
        theirs.preprocessor.tokenizer.get_vocabulary()
    )
    assert keras.tree.map_structure(
        str, loaded.backbone.get_config()["num_segments"]
    ) == str(SIZES["num_segments"])


def test_what_kerashub_computes_differently_is_said(write_hf, tmp_path):
    report = convert(write_hf("BertForMaskedLM"), tmp_path / "o", "keras_hub")
    notes = " ".join(report.notes)
    assert "tanh form of GELU, not `gelu`" in notes
    assert "pooler: it is newly initialised" in notes
    assert report.dropped == []


def test_another_kerashub_model_is_refused(tmp_path):
    (tmp_path / "model.weights.h5").write_bytes(b"")
    config = {"class_name": "GPT2Backbone", "config": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="'GPT2Backbone'"):
        open_source(tmp_path)


def test_damaged_weights_are_refused(preset):
    _, folder = preset("BertBackbone")
    path = folder / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="truncated or corrupt"):
        open_source(folder)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_stay_bit_for_bit(
    dtype, write_hf, tmp_path, store, assert_same_bytes
):
    folder = write_hf("BertModel", getattr(__import__("torch"), dtype))
    convert(folder, tmp_path / "hub", "keras_hub")
    convert(tmp_path / "hub", tmp_path / "back", "huggingface")
    assert_same_bytes(
        store(folder / "model.safetensors"),
        store(tmp_path / "back" / "model.safetensors"),
    )
