"""Complaints 37, 38, 40 and 50 of spec/users.md (39, 42 stand elsewhere)."""

import json

import numpy as np
import pytest
from keras import ops

import keras_bert.models as models
from keras_bert.checkpoints import convert
from keras_bert.checkpoints import load_weights
from keras_bert.checkpoints import open_source


def without(folder, name, target, store):
    from safetensors.numpy import save_file

    arrays = store(folder / "model.safetensors")
    del arrays[name]
    target.mkdir()
    save_file(arrays, str(target / "model.safetensors"))
    (target / "config.json").write_text((folder / "config.json").read_text())


def test_users_37_a_missing_weight_raises_and_is_named(
    write_hf, build, tmp_path, store
):
    folder = write_hf("BertModel")
    name = "encoder.layer.1.attention.self.key.bias"
    without(folder, name, tmp_path / "hole", store)
    ours = "encoder_block_1/self_attention/query_key_value/bias"
    with pytest.raises(ValueError, match=ours):
        build(tmp_path / "hole")
    _, report = build(tmp_path / "hole", strict=False)
    assert report.missing == [ours]
    # Its two companions could not be used either: they are told.
    assert sorted(report.unused) == [
        name.replace("key", "query"),
        name.replace("key", "value"),
    ]


def test_users_37_loaded_outputs_differ_from_fresh_ones(write_hf, ids):
    checkpoint = open_source(write_hf("BertModel"))
    model = models.BertBackbone(**checkpoint.backbone_config)
    fresh = ops.convert_to_numpy(model(ids)["sequence_output"])
    load_weights(model, checkpoint)
    loaded = ops.convert_to_numpy(model(ids)["sequence_output"])
    assert np.abs(fresh - loaded).max() > 0.1


def test_users_38_loading_before_or_after_the_first_call_is_equal(
    write_hf, ids
):
    checkpoint = open_source(write_hf("BertModel"))
    first = models.BertBackbone(**checkpoint.backbone_config)
    load_weights(first, checkpoint)
    second = models.BertBackbone(**checkpoint.backbone_config)
    second(ids)
    load_weights(second, checkpoint)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(first(ids)["pooled_output"]),
        ops.convert_to_numpy(second(ids)["pooled_output"]),
    )


def test_users_40_heads_survive_tensorflow_to_torch_and_back(
    write_hf, tmp_path, store, assert_same_bytes
):
    folder = write_hf("BertForPreTraining")
    convert(folder, tmp_path / "tensorflow", "google")
    report = convert(tmp_path / "tensorflow", tmp_path / "torch", "huggingface")
    assert report.dropped == []
    assert_same_bytes(
        store(folder / "model.safetensors"),
        store(tmp_path / "torch" / "model.safetensors"),
    )


def test_users_40_what_a_format_has_no_place_for_is_reported(
    write_hf, tmp_path, caplog
):
    folder = write_hf("BertForTokenClassification")
    with caplog.at_level("WARNING", logger="keras_bert"):
        report = convert(folder, tmp_path / "out", "google")
    assert report.dropped == ["logits/kernel", "logits/bias"]
    assert "no place for logits/kernel" in caplog.text


@pytest.mark.parametrize(
    "config, match",
    [
        ({"model_type": "bert"}, None),
        ({}, "neither `model_type` nor `architectures`"),
    ],
)
def test_users_42_config_without_architectures(
    config, match, write_hf, tmp_path, store
):
    from safetensors.numpy import save_file

    folder = write_hf("BertForMaskedLM")
    full = json.loads((folder / "config.json").read_text())
    sizes = {
        key: value
        for key, value in full.items()
        if key not in ("architectures", "model_type")
    }
    save_file(
        store(folder / "model.safetensors"),
        str(tmp_path / "model.safetensors"),
    )
    (tmp_path / "config.json").write_text(json.dumps({**sizes, **config}))
    if match is None:
        assert open_source(tmp_path).task == "BertMaskedLM"
    else:
        with pytest.raises(ValueError, match=match):
            open_source(tmp_path)


def numpy_bert(arrays, prefix, ids, heads):
    """BERT with the MLM head, written out with NumPy (one row, no padding)."""
    erf = np.vectorize(__import__("math").erf)

    def get(name):
        return arrays[prefix + name].astype("float64")

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
        return x * get_norm(name, "weight") + get_norm(name, "bias")

    def get_norm(name, end):
        old = {"weight": "gamma", "bias": "beta"}[end]
        for key in (f"{prefix}{name}.{end}", f"{prefix}{name}.{old}",
                    f"{name}.{end}", f"{name}.{old}"):  # fmt: skip
            if key in arrays:
                return arrays[key].astype("float64")
        raise KeyError(name)

    def dense(x, name, source=get):
        return x @ source(f"{name}.weight").T + source(f"{name}.bias")

    def gelu(x):
        return x * 0.5 * (1 + erf(x / np.sqrt(2)))

    x = get("embeddings.word_embeddings.weight")[ids]
    x = x + get("embeddings.position_embeddings.weight")[: len(ids)]
    x = x + get("embeddings.token_type_embeddings.weight")[0]
    x = norm(x, "embeddings.LayerNorm")
    for i in range(2):
        layer = f"encoder.layer.{i}"
        width = x.shape[-1] // heads
        outputs = []
        for h in range(heads):
            columns = slice(h * width, (h + 1) * width)
            q, k, v = (
                dense(x, f"{layer}.attention.self.{name}")[:, columns]
                for name in ("query", "key", "value")
            )
            scores = q @ k.T / np.sqrt(width)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            outputs.append(weights / weights.sum(-1, keepdims=True) @ v)
        attended = np.concatenate(outputs, axis=-1)
        attended = dense(attended, f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        inner = gelu(dense(x, f"{layer}.intermediate.dense"))
        inner = dense(inner, f"{layer}.output.dense")
        x = norm(x + inner, f"{layer}.output.LayerNorm")

    def head(name):
        return arrays[name].astype("float64")

    x = gelu(dense(x, "cls.predictions.transform.dense", head))
    x = norm(x, "cls.predictions.transform.LayerNorm")
    table = get("embeddings.word_embeddings.weight")
    return x @ table.T + head("cls.predictions.bias")


@pytest.mark.parametrize("old", [False, True])
def test_users_50_a_hand_written_folder_predicts_what_numpy_does(
    old, tmp_path, build, vocabulary
):
    from safetensors.numpy import save_file

    generator = np.random.default_rng(3)
    width, inner, rows = 8, 12, len(vocabulary)
    weight, bias = ("gamma", "beta") if old else ("weight", "bias")
    arrays = {
        "bert.embeddings.word_embeddings.weight": (rows, width),
        "bert.embeddings.position_embeddings.weight": (16, width),
        "bert.embeddings.token_type_embeddings.weight": (2, width),
        f"bert.embeddings.LayerNorm.{weight}": (width,),
        f"bert.embeddings.LayerNorm.{bias}": (width,),
        "cls.predictions.transform.dense.weight": (width, width),
        "cls.predictions.transform.dense.bias": (width,),
        f"cls.predictions.transform.LayerNorm.{weight}": (width,),
        f"cls.predictions.transform.LayerNorm.{bias}": (width,),
        "cls.predictions.bias": (rows,),
    }
    for i in range(2):
        layer = f"bert.encoder.layer.{i}"
        for name, sizes in (
            ("attention.self.query", (width, width)),
            ("attention.self.key", (width, width)),
            ("attention.self.value", (width, width)),
            ("attention.output.dense", (width, width)),
            ("intermediate.dense", (inner, width)),
            ("output.dense", (width, inner)),
        ):
            arrays[f"{layer}.{name}.weight"] = sizes
            arrays[f"{layer}.{name}.bias"] = sizes[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            arrays[f"{layer}.{name}.{weight}"] = (width,)
            arrays[f"{layer}.{name}.{bias}"] = (width,)
    arrays = {
        name: generator.normal(size=shape).astype("float32")
        for name, shape in arrays.items()
    }
    save_file(arrays, str(tmp_path / "model.safetensors"))
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = {
        "model_type": "bert",
        "vocab_size": rows,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": inner,
        "max_position_embeddings": 16,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, report = build(tmp_path, "BertMaskedLM")
    assert report.complete
    ids = np.array([2, 15, 4, 17, 3])
    found = model(
        {"token_ids": ids[None], "mask_positions": np.arange(5)[None]}
    )
    expected = numpy_bert(arrays, "bert.", ids, heads=2)
    np.testing.assert_allclose(
        ops.convert_to_numpy(found)[0], expected, atol=2e-5
    )
