"""Bad input: one clear error each, and nothing written."""

import json
import pickle
import shutil
import zipfile

import numpy as np
import pytest

from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source


@pytest.fixture
def copy(write_hf, tmp_path):
    """A writable copy of a folder of transformers, and its weights file."""

    def make(name="BertModel", **config):
        folder = tmp_path / "folder"
        shutil.copytree(write_hf(name, **config), folder)
        return folder

    return make


def refused(source, match, tmp_path):
    """convert fails with that message and leaves no file behind."""
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(ValueError, match=match) as caught:
        convert(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    return str(caught.value)


def edit_config(folder, remove=(), **changes):
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    for key in remove:
        config.pop(key, None)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_truncated_safetensors(keep, copy, tmp_path):
    folder = copy()
    path = folder / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:keep])
    refused(folder, r"model\.safetensors is truncated or corrupt", tmp_path)


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_truncated_tensorflow_files(part, shared, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(shared / "ckpt" / "tf1-tiny", folder)
    path = folder / f"bert_model.ckpt.{part}"
    path.write_bytes(path.read_bytes()[:200])
    refused(folder, "truncated or corrupt", tmp_path)


def test_tensorflow_data_with_one_changed_byte(shared, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(shared / "ckpt" / "tf1-tiny", folder)
    path = folder / "bert_model.ckpt.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[3] ^= 255
    path.write_bytes(data)
    refused(folder, "truncated or corrupt", tmp_path)


def test_missing_shard_is_named(write_hf, tmp_path):
    import transformers

    model = transformers.BertModel.from_pretrained(write_hf("BertModel"))
    folder = tmp_path / "folder"
    model.save_pretrained(folder, max_shard_size="1KB")
    gone = sorted(folder.glob("model-*.safetensors"))[1]
    gone.unlink()
    refused(folder, f"shards that are missing: {gone.name}", tmp_path)


@pytest.mark.parametrize("target", ["../x.safetensors", "/etc/passwd"])
def test_index_that_points_outside_its_folder(target, copy, tmp_path):
    folder = copy()
    (folder / "model.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": target}}))
    refused(folder, "points outside its folder", tmp_path)


def test_index_without_a_weight_map(copy, tmp_path):
    folder = copy()
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("{}")
    refused(folder, "has no `weight_map`", tmp_path)


def test_wrong_shape_names_the_tensor_and_both_shapes(copy, tmp_path):
    folder = copy()
    edit_config(folder, max_position_embeddings=32)
    message = refused(folder, "position_embedding/embeddings", tmp_path)
    assert "(16, 8)" in message and "(32, 8)" in message
    edit_config(folder, max_position_embeddings=16, num_attention_heads=3)
    refused(folder, "hidden size 8 is not a multiple", tmp_path)


def test_wrong_shape_raises_before_any_variable_changes(copy, build):
    from keras import ops

    import keras_bert.models as models
    from keras_bert.checkpoints import load_weights

    checkpoint = open_source(copy())
    model = models.BertBackbone(
        **{**checkpoint.backbone_config, "intermediate_dim": 13}
    )
    before = [ops.convert_to_numpy(v) for v in model.weights]
    with pytest.raises(ValueError, match=r"\(8, 13\).*\(8, 12\)"):
        load_weights(model, checkpoint)
    for old, new in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, ops.convert_to_numpy(new))
    report = load_weights(model, checkpoint, strict=False)
    assert len(report.mismatched) == 6
    assert "encoder_block_0/feedforward" in report.mismatched[0]


def test_longer_position_table_is_refused_with_a_hint(write_hf, build):
    with pytest.raises(ValueError, match="max_sequence_length=16"):
        build(write_hf("BertModel"), max_sequence_length=64)


@pytest.mark.parametrize("tokens", [["extra"], []])
def test_vocabulary_of_another_length_than_the_table(tokens, copy, tmp_path):
    folder = copy()
    path = folder / "vocab.txt"
    lines = path.read_text().split("\n")[:-1]
    lines = [*lines, *tokens] if tokens else lines[:-1]
    path.write_text("\n".join(lines) + "\n")
    message = refused(folder, f"has {len(lines)} tokens", tmp_path)
    assert "20 rows" in message
    (note,) = open_source(folder, strict=False).notes
    assert "20 rows" in note


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "C:/x"])
def test_zip_that_leaves_its_folder(name, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "x")
    refused(path, "leads out of the folder", tmp_path)


def test_zip_with_a_symbolic_link(tmp_path):
    path = tmp_path / "x.zip"
    member = zipfile.ZipInfo("link")
    member.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "/etc")
    refused(path, "leads out of the folder", tmp_path)


def test_zip_that_is_damaged_or_holds_no_checkpoint(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK\3\4 not a zip")
    refused(path, "truncated or corrupt", tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "x")
    refused(path, "holds no checkpoint", tmp_path)


class Harmful:
    """Unpickling it would create a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("how", ["torch", "pickle"])
def test_bin_that_needs_unpickling_is_refused_and_runs_nothing(
    how, copy, tmp_path
):
    import torch

    folder = copy()
    (folder / "model.safetensors").unlink()
    trace = tmp_path / "executed"
    path = folder / "pytorch_model.bin"
    if how == "torch":
        torch.save({"a": Harmful(trace)}, path)
    else:
        path.write_bytes(pickle.dumps({"a": Harmful(trace)}))
    refused(folder, "is refused: reading it needs arbitrary unp", tmp_path)
    assert not trace.exists()


def test_truncated_bin(write_hf, copy, tmp_path):
    import torch

    folder = copy()
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save({"a": torch.zeros(1000)}, path)
    path.write_bytes(path.read_bytes()[:500])
    refused(folder, r"pytorch_model\.bin is (refused|truncated)", tmp_path)


def test_folder_with_two_formats_lists_both(copy, shared, tmp_path):
    folder = copy()
    for part in ("index", "data-00000-of-00001"):
        name = f"bert_model.ckpt.{part}"
        shutil.copy(shared / "ckpt" / "tf1-tiny" / name, folder / name)
    message = refused(folder, "a folder with one format", tmp_path)
    assert "model.safetensors" in message and "ckpt.index" in message
    # Naming the file chooses.
    assert open_source(folder / "model.safetensors").format == "huggingface"


def test_prefix_without_its_data_file(shared, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(shared / "ckpt" / "tf1-tiny", folder)
    (folder / "bert_model.ckpt.data-00000-of-00001").unlink()
    refused(folder, r"\.data-\*", tmp_path)


def test_prefix_without_a_config(shared, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(shared / "ckpt" / "tf1-tiny", folder)
    (folder / "bert_config.json").unlink()
    refused(folder, "no bert_config.json", tmp_path)


def test_names_that_match_nothing(copy, tmp_path):
    from safetensors.numpy import save_file

    folder = copy()
    save_file({"strange": np.ones(3)}, str(folder / "model.safetensors"))
    refused(folder, r"missing.*not understood: \['strange'\]", tmp_path)


def test_empty_folder_and_no_folder_say_what_was_looked_for(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    message = refused(empty, "argument `source`", tmp_path)
    for name in ("model.safetensors", "bert_config.json", "model.weights.h5"):
        assert name in message
    message = refused(tmp_path / "none", "argument `source`", tmp_path)
    assert f"{tmp_path / 'none'}.index" in message
    refused("owner/name", "hf://owner/name", tmp_path)
    for wrong in (None, 3, ""):
        with pytest.raises(ValueError, match="argument `source`"):
            open_source(wrong)


def test_config_that_is_no_json(copy, tmp_path):
    folder = copy()
    (folder / "config.json").write_text("{")
    refused(folder, r"config\.json is not readable JSON", tmp_path)


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"model_type": "roberta"}, 'model_type is "roberta"'),
        (
            {"position_embedding_type": "relative_key"},
            "positions are relative_key",
        ),
        ({"add_cross_attention": True}, "cross attention"),
        ({"is_decoder": True}, "decoder"),
        ({"embedding_size": 4}, "embedding size 4 differs .* hidden size 8"),
        ({"pruned_heads": {"0": [1]}}, "pruned"),
        ({"hidden_act": "swish"}, "hidden_act='swish'.*gelu_new"),
        ({"num_hidden_layers": 0}, "num_layers as 0"),
        (
            {"model_type": None, "architectures": ["RobertaModel"]},
            "RobertaModel",
        ),
    ],
)
def test_another_architecture_is_refused_with_what_differs(
    changes, match, copy, tmp_path
):
    folder = copy()
    edit_config(folder, **changes)
    refused(folder, match, tmp_path)


def test_decoder_with_a_matrix_of_its_own_is_refused(copy, tmp_path, store):
    from safetensors.numpy import save_file

    folder = copy("BertForMaskedLM")
    arrays = store(folder / "model.safetensors")
    decoder = arrays["bert.embeddings.word_embeddings.weight"].copy()
    arrays["cls.predictions.decoder.weight"] = decoder
    save_file(arrays, str(folder / "model.safetensors"))
    assert open_source(folder).unused == []
    decoder[0, 0] += 1
    save_file(arrays, str(folder / "model.safetensors"))
    refused(folder, "one matrix for both", tmp_path)


def test_labels_that_do_not_fit_the_head(copy, tmp_path):
    folder = copy("BertForSequenceClassification")
    edit_config(folder, id2label={"0": "a", "1": "b", "2": "c"})
    refused(folder, "3 labels, but the classifier .* has 2", tmp_path)
    edit_config(folder, id2label={"1": "a", "2": "b"})
    refused(folder, "should number the labels from 0", tmp_path)


def test_unknown_format_and_occupied_target(copy, tmp_path):
    folder = copy()
    with pytest.raises(ValueError, match="argument `format`"):
        convert(folder, tmp_path / "out", "onnx")
    with pytest.raises(ValueError, match="argument `directory`"):
        convert(folder, folder, "keras_bert")
    with pytest.raises(ValueError, match="argument `directory`"):
        convert(folder, folder / "config.json", "keras_bert")


def test_tokenizer_of_another_kind_blocks_only_the_tokenizer(copy):
    folder = copy()
    path = folder / "tokenizer_config.json"
    for settings, match in (
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "BertJapanese"),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars"),
        ({"cls_token": "<s>"}, "cls_token='<s>'"),
    ):
        path.write_text(json.dumps(settings))
        checkpoint = open_source(folder)
        assert checkpoint.names()
        with pytest.raises(ValueError, match=match):
            checkpoint.vocabulary  # noqa: B018
