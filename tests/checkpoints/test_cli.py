"""The verbs convert, info and features."""

import argparse
import importlib
import json

import numpy as np
import pytest
from keras import ops

from keras_bert.checkpoints import open_source


@pytest.fixture
def run():
    """run("convert", "a", "b") -> the verb's result."""

    def call(verb, *arguments):
        module = importlib.import_module(f"keras_bert.cli.{verb}")
        verbs = argparse.ArgumentParser().add_subparsers()
        parser = verbs.add_parser(verb)
        module.add_arguments(parser)
        args, left = parser.parse_known_args([str(a) for a in arguments])
        assert left == []
        return module.run(args)

    return call


def test_convert_says_what_it_wrote(run, write_hf, tmp_path, capsys):
    folder = write_hf("BertForQuestionAnswering")
    result = run("convert", folder, tmp_path / "out", "--format", "google")
    assert result["written"] == 31 and result["dropped"] == []
    assert "read back and equal" in capsys.readouterr().out
    assert open_source(tmp_path / "out").task == "BertQuestionAnswerer"


def test_info_counts_the_released_tiny_checkpoint_exactly(run, shared, capsys):
    result = run("info", shared / "ckpt" / "tf1-tiny")
    # By hand, spec A.7 with V 15, H 4, L 2, I 16, P 16, T 2.
    embeddings = 15 * 4 + 16 * 4 + 2 * 4 + 2 * 4
    layer = 4 * (16 + 4) + 2 * 4 + (64 + 16) + (64 + 4) + 2 * 4
    assert result["parameters"] == {
        "embeddings": embeddings,
        "encoder": 2 * layer,
        "pooler": 20,
        "mlm": 20 + 8 + 15,
        "next_sentence": 10,
        "total": embeddings + 2 * layer + 20 + 43 + 10,
    }
    assert result["format"] == "google" and result["understood"]
    assert result["heads"] == ["masked language model", "next sentence"]
    assert (result["vocabulary_size"], result["lowercase"]) == (15, True)
    json.dumps(result)
    out = capsys.readouterr().out
    assert "understood" in out and "everything" in out


def test_info_says_what_it_did_not_understand(run, write_hf, tmp_path, store):
    from safetensors.numpy import save_file

    folder = write_hf("BertModel")
    arrays = store(folder / "model.safetensors")
    arrays["bert.adapter.weight"] = np.ones(3, "float32")
    save_file(arrays, str(tmp_path / "model.safetensors"))
    config = (folder / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    result = run("info", tmp_path)
    assert not result["understood"]
    assert result["problems"] == ["not understood: bert.adapter.weight"]


@pytest.mark.parametrize("layers", [["--layers", "-1,-2"], ["--layers=-1,-2"]])
def test_features_are_the_hidden_states_in_the_originals_layout(
    layers, run, shared, tmp_path, build
):
    folder = shared / "ckpt" / "tf1-tiny"
    (tmp_path / "in.txt").write_text("all work\nno play ||| a dull boy\n\n")
    run("features", folder, tmp_path / "in.txt", "-o", tmp_path / "o", *layers)
    lines = (tmp_path / "o").read_text().splitlines()
    lines = [json.loads(line) for line in lines]
    assert [line["linex_index"] for line in lines] == [0, 1, 2]
    tokens = [
        [feature["token"] for feature in line["features"]] for line in lines
    ]
    assert tokens == [
        ["[CLS]", "all", "work", "[SEP]"],
        ["[CLS]", "no", "play", "[SEP]", "a", "dull", "boy", "[SEP]"],
        ["[CLS]", "[SEP]"],
    ]
    model, _ = build(folder)
    states = model.hidden_states(
        {
            "token_ids": np.array([[2, 8, 9, 3, 12, 13, 14, 3]]),
            "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 1]]),
        }
    )
    for layer, state in ((0, states[-1]), (1, states[-2])):
        found = [f["layers"][layer] for f in lines[1]["features"]]
        assert {part["index"] for part in found} == {-1 - layer}
        np.testing.assert_allclose(
            [part["values"] for part in found],
            ops.convert_to_numpy(state)[0],
            atol=2e-6,
        )


def test_features_refuses_a_layer_that_is_not_there(run, shared, tmp_path):
    (tmp_path / "in.txt").write_text("all\n")
    source = shared / "ckpt" / "tf1-tiny"
    with pytest.raises(ValueError, match="`--layers`.*-2 to 1"):
        run("features", source, tmp_path / "in.txt", "-o", tmp_path / "o",
            "--layers", "-3")  # fmt: skip
    assert not (tmp_path / "o").exists()
