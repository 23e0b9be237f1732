"""Files that open, but hold what no BERT holds: refused by name."""

import json
import shutil

import numpy as np
import pytest

import keras_bert
from keras_bert.checkpoints import convert
from keras_bert.checkpoints import describe
from keras_bert.checkpoints import open_source


@pytest.fixture
def folder(write_hf, tmp_path):
    shutil.copytree(write_hf("BertForSequenceClassification"), tmp_path / "in")
    return tmp_path / "in"


def refused(folder, match):
    with pytest.raises(ValueError, match=match):
        convert(folder, folder.parent / "out")
    assert [path.name for path in folder.parent.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("num_attention_heads", True, "num_heads as True"),
        ("hidden_size", "8", "hidden_dim as '8'"),
        ("hidden_dropout_prob", 2.0, "dropout as 2.0"),
        ("attention_probs_dropout_prob", "x", "attention_dropout as 'x'"),
        ("classifier_dropout", 5, "classifier_dropout as 5"),
        ("layer_norm_eps", -1, "layer_norm_eps as -1"),
        ("layer_norm_eps", "1e-12", "layer_norm_eps as '1e-12'"),
        ("initializer_range", [], r"initializer_range as \[\]"),
        ("hidden_act", ["gelu"], r"hidden_act=\['gelu'\]"),
        ("id2label", ["a", "b"], "id2label should number"),
    ],
)
def test_config_values_that_are_none(key, value, match, folder):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    refused(folder, match)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        # bool("no") is true.
        ({"do_lower_case": "no"}, "do_lower_case as 'no'"),
        ({"strip_accents": 1}, "strip_accents as 1"),
        ({"added_tokens_decoder": {"x": {"content": "a"}}}, "added tokens"),
        ({"added_tokens_decoder": {"1": 3}}, "added tokens"),
    ],
)
def test_tokenizer_settings_that_are_none(settings, match, folder):
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    refused(folder, match)


@pytest.mark.parametrize("vocab", [None, ["a"], {"a": "b"}, {"a": 0, "b": 2}])
def test_tokenizer_json_whose_ids_have_holes(vocab, folder):
    (folder / "vocab.txt").unlink()
    model = {"model": {"type": "WordPiece", "vocab": vocab}}
    (folder / "tokenizer.json").write_text(json.dumps(model))
    refused(folder, "number its tokens from 0 without holes")


def test_tokenizer_json_of_another_kind_blocks_only_the_tokenizer(folder):
    (folder / "vocab.txt").unlink()
    model = {"model": {"type": "BPE", "vocab": {}}}
    (folder / "tokenizer.json").write_text(json.dumps(model))
    checkpoint = open_source(folder)
    assert "type 'BPE'" in checkpoint.tokenizer_problems[0]
    with pytest.raises(ValueError, match="expected 'WordPiece'"):
        checkpoint.tokenizer_arguments  # noqa: B018


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [("fox", "quick", "repeats"), ("[SEP]", "sep", r"\[SEP\]")],
)
def test_a_vocabulary_that_no_tokenizer_takes_is_said_before_it_is_used(
    old, new, match, folder
):
    path = folder / "vocab.txt"
    path.write_text(path.read_text().replace(old, new))
    result = describe(folder)
    assert not result["understood"] and result["vocabulary_size"] is None
    (problem,) = result["problems"]
    assert str(path.parent) in problem
    with pytest.raises(ValueError, match=match):
        open_source(folder).vocabulary  # noqa: B018


@pytest.mark.parametrize("format", ["safetensors", "bin"])
def test_a_git_lfs_pointer_is_called_so(format, folder):
    # The first line of git-lfs' specification of pointer files.
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    (folder / "model.safetensors").unlink()
    name = {"bin": "pytorch_model.bin"}.get(format, "model.safetensors")
    (folder / name).write_bytes(text)
    refused(folder, f"{name} is a Git LFS pointer")


def test_bin_files_that_hold_no_plain_tensors(folder):
    import torch

    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    path.write_bytes(b"")
    refused(folder, "truncated or corrupt: EOFError")
    path.write_bytes(b"hello world")
    refused(folder, "pytorch_model.bin is (refused|truncated)")
    for held, match in (
        ([1], "no dict of tensors"),
        ({"model": {}}, r"besides plain tensors under \['model'\]"),
        ({3: torch.zeros(1)}, r"besides plain tensors under \[3\]"),
        ({"a": torch.eye(2).to_sparse()}, r"plain tensors under \['a'\]"),
        ({"a": torch.zeros(2).to(torch.float8_e4m3fn)}, "plain tensors"),
    ):
        torch.save(held, path)
        refused(folder, match)


def edit(folder, store, change):
    from safetensors.numpy import save_file

    arrays = store(folder / "model.safetensors")
    change(arrays)
    save_file(arrays, str(folder / "model.safetensors"))


QUERY = "bert.encoder.layer.0.attention.self.query.weight"
KERNEL = "encoder_block_0/self_attention/query_key_value/kernel"


def test_quantised_weights_are_no_weights(folder, store):
    edit(folder, store, lambda a: a.update({QUERY: a[QUERY].astype("int8")}))
    refused(folder, f"`{QUERY}` has type int8, expected floating point")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused_by_name(value, folder, store):
    """In a foreign folder, in our own, and when a model loads it."""
    from safetensors.numpy import save_file

    ours = folder.parent.with_name(f"{folder.parent.name}_ours")
    convert(folder, ours)
    open_source(folder).read(KERNEL)

    def spoil(arrays):
        arrays[QUERY] = arrays[QUERY].copy()
        arrays[QUERY][1, 2] = value

    edit(folder, store, spoil)
    refused(folder, rf"`{QUERY}` \(here `{KERNEL}`\).* 1 of 64 places")
    path = ours / "model.weights.safetensors"
    arrays = store(path)
    arrays[KERNEL] = np.full_like(arrays[KERNEL], value)
    save_file(arrays, str(path))
    with pytest.raises(ValueError, match=f"`{KERNEL}` should.*in 192 of 192"):
        keras_bert.BertBackbone.from_preset(str(ours))


def test_a_matrix_without_its_axes(folder, store):
    name = "bert.encoder.layer.0.attention.output.dense.weight"
    edit(folder, store, lambda a: a.update({name: a[name].reshape(-1)}))
    refused(folder, f"from `{name}` of shape")


def test_query_key_and_value_of_different_types_are_joined_exactly(
    folder, store, tmp_path
):
    half = {}

    def change(arrays):
        half[QUERY] = arrays[QUERY].astype("float16")
        arrays.update(half)

    edit(folder, store, change)
    convert(folder, tmp_path / "out", "huggingface")
    found = store(tmp_path / "out" / "model.safetensors")[QUERY]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, half[QUERY].astype("float32"))


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("classifier.bias", None, "incomplete: `logits/bias` is missing"),
        ("classifier.bias", np.zeros(7, "float32"), r"\(7,\).*\(2,\)"),
        ("classifier.weight", np.zeros((2, 5), "float32"), r"\(5, 2\)"),
    ],
)
def test_half_a_head_and_a_misshapen_one_do_not_convert(
    name, value, match, folder, store
):
    def change(arrays):
        del arrays[name]
        if value is not None:
            arrays[name] = value

    edit(folder, store, change)
    refused(folder, match)


def test_an_index_that_names_tensors_its_shards_lack(folder, store):
    names = list(store(folder / "model.safetensors"))
    path = folder / "model.safetensors"
    path.rename(folder / "model-00001-of-00001.safetensors")
    where = dict.fromkeys(names, "model-00001-of-00001.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    assert open_source(folder).task == "BertTextClassifier"
    where["gone"] = "model-00001-of-00001.safetensors"
    index.write_text(json.dumps({"weight_map": where}))
    refused(folder, "names 1 tensors that its shards do not hold: gone")
    index.write_text(json.dumps({"weight_map": {"a": 5}}))
    refused(folder, "file names, found 5")
