"""Google's TensorFlow checkpoints, read and written."""

import shutil

import numpy as np
import pytest
from keras import ops

from keras_bert._tensorflow import tensorflow
from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source
from keras_bert.checkpoints import write


@pytest.fixture
def tiny(shared):
    return shared / "ckpt" / "tf1-tiny"


def arrays(prefix):
    reader = tensorflow().train.load_checkpoint(str(prefix))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if not name.endswith(("adam_m", "adam_v")) and name != "global_step"
    }


def test_released_files_load_with_heads_and_equal_transformers(
    tiny, build, ids
):
    import torch
    import transformers

    # The names and transposes of Google's README and transformers' former
    # converter, written out once more here, independent of our table.
    state = {}
    for name, array in arrays(tiny / "bert_model.ckpt").items():
        key = name.replace("/", ".").replace("layer_", "layer.")
        if key.endswith("kernel"):
            key, array = key[: -len("kernel")] + "weight", array.T
        key = key.replace("gamma", "weight").replace("beta", "bias")
        key = key.replace("output_weights", "weight")
        key = key.replace("output_bias", "bias")
        if key.endswith("_embeddings"):
            key += ".weight"
        state[key] = torch.tensor(array)
    config = transformers.BertConfig.from_json_file(tiny / "bert_config.json")
    theirs = transformers.BertForPreTraining(config).eval()
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected and all("decoder" in name for name in missing)

    model, report = build(tiny, "BertPretrainer")
    assert report.complete and len(report.used) == 38
    batch = {key: value[:, :7] for key, value in ids.items()}
    batch["token_ids"] = batch["token_ids"] % 15
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(batch["token_ids"]),
            token_type_ids=torch.tensor(batch["segment_ids"]),
            attention_mask=torch.tensor(batch["padding_mask"]),
        )
    positions = np.tile(np.arange(7), (4, 1))
    found = model({**batch, "mask_positions": positions})
    real = batch["padding_mask"] > 0
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["mask_ids"])[real],
        expected.prediction_logits.numpy()[real],
        atol=1e-5,
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["next_sentence"]),
        expected.seq_relationship_logits.numpy(),
        atol=1e-5,
    )


def test_export_has_the_names_shapes_and_bytes_of_the_original(
    tiny, build, tmp_path, assert_same_bytes
):
    model, _ = build(tiny, "BertPretrainer")
    write(model, tmp_path / "out", "google")
    original = arrays(tiny / "bert_model.ckpt")
    assert_same_bytes(arrays(tmp_path / "out" / "bert_model.ckpt"), original)
    # Negative control: the comparison sees one changed element.
    changed = dict(original)
    changed["bert/pooler/dense/bias"] = original["bert/pooler/dense/bias"] + 1
    with pytest.raises(AssertionError):
        assert_same_bytes(changed, original)


def test_optimizer_slots_and_step_are_skipped_silently(tiny):
    checkpoint = open_source(tiny)
    assert checkpoint.unused == [] and checkpoint.notes == []


@pytest.mark.parametrize(
    "form",
    [
        ".",
        "bert_model.ckpt",
        "bert_model.ckpt.index",
        "bert_model.ckpt.data-00000-of-00001",
    ],
)
def test_users_39_every_form_of_the_released_files_loads(tiny, form):
    assert open_source(tiny / form).task == "BertPretrainer"


def test_users_39_a_wrong_prefix_names_the_nearest_there_is(tiny):
    with pytest.raises(ValueError, match=r"bert_model\.ckpt`") as caught:
        open_source(tiny / "bert_modle.ckpt")
    assert "bert_modle.ckpt.index" in str(caught.value)


def test_a_zip_that_we_write_loads_again(tiny, tmp_path, assert_same_bytes):
    report = convert(tiny, tmp_path / "uncased_tiny.zip", "google")
    assert report.dropped == []
    found = open_source(tmp_path / "uncased_tiny.zip")
    original = open_source(tiny)
    assert found.vocabulary == original.vocabulary
    assert_same_bytes(
        {name: found.read(name) for name in found.names()},
        {name: original.read(name) for name in original.names()},
    )


def test_the_latest_of_several_is_the_one_that_the_checkpoint_file_names(
    tiny, tmp_path
):
    for step in (10, 9):
        for part in ("index", "data-00000-of-00001"):
            shutil.copy(
                tiny / f"bert_model.ckpt.{part}",
                tmp_path / f"model.ckpt-{step}.{part}",
            )
    shutil.copy(tiny / "bert_config.json", tmp_path)
    with pytest.raises(ValueError, match=r"model\.ckpt-10, model\.ckpt-9"):
        open_source(tmp_path)
    # TensorFlow writes absolute paths of the machine that trained.
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "/gone/model.ckpt-10"\n'
    )
    assert open_source(tmp_path).path.endswith("model.ckpt-10")


@pytest.mark.parametrize(
    "folder, tokens, lowercase",
    [
        # Google's rule, tokenization.validate_case_matches_checkpoint.
        ("uncased_L-2_H-128_A-2", ["A"], True),
        ("multilingual_L-12_H-768_A-12", ["A"], True),
        ("chinese_L-12_H-768_A-12", ["A"], True),
        ("cased_L-12_H-768_A-12", ["a"], False),
        ("multi_cased_L-12_H-768_A-12", ["a"], False),
        ("wwm_cased_L-24_H-1024_A-16", ["a"], False),
        ("wwm_uncased_L-24_H-1024_A-16", ["A"], True),
        # No known name: a cased vocabulary holds capital letters.
        ("model", ["[CLS]", "the"], True),
        ("model", ["[CLS]", "The"], False),
    ],
)
def test_lower_casing_follows_the_folder_name_then_the_vocabulary(
    folder, tokens, lowercase, tmp_path
):
    from keras_bert.checkpoints.tokenizer_files import read_google

    (tmp_path / folder).mkdir()
    (tmp_path / folder / "vocab.txt").write_text("\n".join(tokens))
    found = read_google(tmp_path / folder)
    assert found.arguments["lowercase"] is lowercase


def test_fine_tuned_heads_of_run_classifier_and_run_squad(
    tiny, tmp_path, build
):
    tf = tensorflow()
    values = arrays(tiny / "bert_model.ckpt")
    backbone = {k: v for k, v in values.items() if k.startswith("bert/")}
    for name, head, task in (
        ("classifier", "", "BertTextClassifier"),
        ("squad", "cls/squad/", "BertQuestionAnswerer"),
    ):
        weights = np.arange(8, dtype="float32").reshape(2, 4)
        named = {
            **backbone,
            f"{head}output_weights": weights,
            f"{head}output_bias": np.array([1, 2], "float32"),
        }
        folder = tmp_path / name
        folder.mkdir()
        tf.raw_ops.SaveV2(
            prefix=str(folder / "model.ckpt-3"),
            tensor_names=list(named),
            shape_and_slices=[""] * len(named),
            tensors=[tf.constant(value) for value in named.values()],
        )
        shutil.copy(tiny / "bert_config.json", folder)
        checkpoint = open_source(folder)
        assert checkpoint.task == task
        model, report = build(folder, task)
        assert report.complete
        # The original stores [classes, width].
        np.testing.assert_array_equal(
            ops.convert_to_numpy(model.logits.kernel), weights.T
        )


def test_a_bert_config_without_type_vocab_size_means_16(tmp_path):
    # The 2018 class default, spec A.1.
    from keras_bert.checkpoints.config import from_google

    assert from_google({"vocab_size": 9}, "x")["num_segments"] == 16
    with pytest.raises(ValueError, match="vocab_size"):
        from_google({}, "x")


@pytest.mark.parametrize(
    "name", ["BertForTokenClassification", "BertForMultipleChoice"]
)
def test_a_head_without_a_place_does_not_pass_for_a_text_classifier(
    name, write_hf, tmp_path
):
    report = convert(write_hf(name), tmp_path / "out", "google")
    assert report.dropped == ["logits/kernel", "logits/bias"]
    assert "output_weights" not in arrays(tmp_path / "out" / "bert_model.ckpt")
    assert open_source(tmp_path / "out").task is None
