"""`keras-bert ablate masking|size|steps`: what each row trains, the tables.

Training itself is left out: the settings of each row are handed to the verb
pretrain, whose own tests say what they do.
"""

import json

import numpy as np
import pytest

import keras_bert
from keras_bert.cli import _pretrain
from keras_bert.cli import _pretrain_settings
from keras_bert.cli._pretrain_text import Text
from keras_bert.cli.ablations import _runs
from keras_bert.cli.main import main


@pytest.fixture
def calls(monkeypatch):
    """Lists that collect what is pretrained and fine-tuned."""
    pretrained, fine_tuned = [], []

    def pretrain(path, settings, resume):
        assert resume
        pretrained.append({"name": path.name, **settings})
        (path / "preset").mkdir(parents=True, exist_ok=True)
        config = {"steps": settings["steps"]}
        (path / "preset" / "config.json").write_text(json.dumps(config))
        saved = {**_pretrain_settings.DEFAULTS, **settings}
        (path / "run.json").write_text(json.dumps({"settings": saved}))
        result = {"steps": settings["steps"]}
        if settings.get("held_out"):
            result["held_out"] = {"perplexity": 7.25}
        return result

    def fine_tune(column, source, train, dev, of, label):
        fine_tuned.append({**of, "source": source, "header": column.header})
        return 10.0 * len(fine_tuned)

    monkeypatch.setattr(_runs, "pretrain", pretrain)
    monkeypatch.setattr(_runs, "_fine_tuned", fine_tune)
    monkeypatch.setattr(_runs, "_fits", lambda column, source: True)
    return pretrained, fine_tuned


@pytest.fixture
def ablate(folder, tmp_path):
    def run(name, *words):
        given = ["ablate", name, f"{folder}/corpus.txt", "-o"]
        given += [f"{tmp_path}/out", "--vocab", f"{folder}/vocab.txt"]
        return main([*given, *map(str, words)])

    return run


def _rows(tmp_path):
    return json.loads((tmp_path / "out" / "result.json").read_text())["rows"]


def test_the_six_mixtures_of_table_8_are_in_the_batches(
    calls, ablate, folder, tmp_path
):
    assert not ablate("masking")
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    text = Text([f"{folder}/corpus.txt"], tokenizer)
    # Table 8 of the paper: MASK, SAME, RND.
    table = [(80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0),
             (0, 20, 80), (0, 0, 100)]  # fmt: skip
    for shares, given in zip(table, calls[0], strict=True):
        settings = {**_pretrain_settings.DEFAULTS, **given}
        settings |= {"next_sentence": True, "mask_rate": 0.5}
        counts = np.zeros(3)
        data = _pretrain.dataset_of(text, tokenizer, settings, 32, epochs=20)
        for x, y, weight in data.as_numpy_iterator():
            chosen = weight["mask_ids"] > 0
            ids = np.take_along_axis(x["token_ids"], x["mask_positions"], 1)
            masked = (ids == tokenizer.mask_token_id)[chosen]
            same = (ids == y["mask_ids"])[chosen]
            counts += masked.sum(), same.sum(), (~masked & ~same).sum()
        # A random token is the same one in one of 60 cases.
        error = 4 * np.sqrt(0.25 / counts.sum()) + 1 / 60
        assert counts.sum() > 2000
        np.testing.assert_allclose(
            counts / counts.sum(), np.array(shares) / 100, atol=error
        )


def test_table_8_is_in_the_paper_s_layout(
    calls, ablate, folder, tmp_path, capsys
):
    assert not ablate("masking", "--finetune", f"text={folder}/data")
    shown = capsys.readouterr().out
    header = next(line for line in shown.split("\n") if "paper NER" in line)
    expected = (
        "MASK SAME RND MNLI NER NER features text | paper MNLI paper NER "
        "paper NER features paper text"
    )
    assert " ".join(header.split()) == expected
    assert "blank where none was given" in shown
    assert "ours: bert_tiny, 1,000 steps of 32 x 128" in shown
    assert "1,000,000 steps of 256 x 512" in shown
    rows = _rows(tmp_path)
    assert [list(row["ours"]) for row in rows] == [["text"]] * 6
    assert rows[4]["paper"] == {"MNLI": 83.7, "NER": 94.8, "NER features": 94.6}


def test_sizes_of_table_6_and_their_perplexity(calls, ablate, folder, tmp_path):
    sizes = "1:16:4,1:16:2,1:16:1,2:16:4,2:32:4,3:32:4"
    held_out = ["--held-out", f"{folder}/corpus.txt"]
    assert not ablate("size", "--sizes", sizes, *held_out)
    backbones = [given["backbone"] for given in calls[0]]
    assert [one["hidden_dim"] for one in backbones] == [16] * 4 + [32] * 2
    assert [one["num_layers"] for one in backbones] == [1, 1, 1, 2, 2, 3]
    assert [one["num_heads"] for one in backbones] == [4, 2, 1, 4, 4, 4]
    assert {one["intermediate_dim"] for one in backbones} == {64, 128}
    rows = _rows(tmp_path)
    # The paper's own column; all others stay blank.
    assert [row["ours"] for row in rows] == [{"LM ppl": 7.25}] * 6
    assert rows[0]["cells"] == [1, 16, 4, "3/768/12"]
    assert rows[5]["paper"]["SST-2"] == 93.7
    settings = _pretrain_settings.DEFAULTS | calls[0][1]
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    settings["next_sentence"] = True
    model = _pretrain.build(settings, tokenizer).backbone
    assert (model.num_layers, model.hidden_dim, model.num_heads) == (1, 16, 2)
    assert ablate("size", "--sizes", "1:16:3") == 2


@pytest.fixture
def points(monkeypatch):
    from keras_bert.cli.ablations import steps

    # The first, a middle and the last of the paper's points.
    kept = [steps.POINTS[0], steps.POINTS[4], steps.POINTS[7]]
    monkeypatch.setattr(steps, "POINTS", kept)


def test_figure_5_after_an_interruption(
    calls, ablate, points, folder, tmp_path, monkeypatch
):
    pretrained, fine_tuned = calls
    words = ["--steps", 100, "--finetune", f"text={folder}/data"]
    finish = _runs._fine_tuned

    def cut(column, source, *arguments):
        if source.name == "LTR-00000040":
            raise KeyboardInterrupt
        return finish(column, source, *arguments)

    monkeypatch.setattr(_runs, "_fine_tuned", cut)
    assert ablate("steps", *words) == 130
    monkeypatch.setattr(_runs, "_fine_tuned", finish)
    assert not ablate("steps", *words)
    # No objective goes back, and no point is trained or measured twice.
    assert [(one["name"], one["steps"]) for one in pretrained] == [
        (name, step) for name in ("MLM", "LTR") for step in (3, 40, 100)
    ]
    assert [one["source"].name for one in fine_tuned] == [
        f"{name}-{step:08d}" for name in ("MLM", "LTR") for step in (3, 40, 100)
    ]
    # What is measured is the encoder at that point.
    for one in fine_tuned:
        config = json.loads((one["source"] / "config.json").read_text())
        assert config["steps"] == int(one["source"].name[-8:])
    assert {one["schedule_steps"] for one in pretrained} == {100}
    assert {one["next_sentence"] for one in pretrained} == {"no"}
    assert [one["objective"] for one in pretrained[::3]] == [
        "masked", "left-to-right",
    ]  # fmt: skip
    rows = _rows(tmp_path)
    assert [row["cells"] for row in rows] == [
        [3, "30,000"], [40, "400,000"], [100, "1,000,000"],
    ]  # fmt: skip
    assert [row["ours"]["MLM text"] for row in rows] == [10.0, 20.0, 30.0]
    assert [row["ours"]["LTR text"] for row in rows] == [40.0, 50.0, 60.0]
    assert (tmp_path / "out" / "figure5.png").stat().st_size > 1000
    # A task that is given later is measured at every point, without training.
    count = len(pretrained)
    assert not ablate("steps", *words, "--seeds", 2)
    assert len(pretrained) == count and len(fine_tuned) == 12
    assert ablate("steps", "--steps", 200) == 2


def test_every_option_reaches_the_training(
    calls, ablate, points, folder, tmp_path
):
    assert not ablate("steps")
    plain = calls[0][-1]
    words = {
        "--config": "bert_mini", "--steps": 50, "--batch-size": 3,
        "--sequence-length": 64, "--learning-rate": 0.5, "--seed": 7,
        "--held-out": f"{folder}/corpus.txt",
    }  # fmt: skip
    words = [word for option in words.items() for word in option]
    words += ["-o", f"{tmp_path}/other", "--uncased"]
    words += ["--finetune", f"text={folder}/data", "--finetune-epochs", 2]
    words += ["--finetune-rate", 0.25, "--seeds", 2]
    assert not ablate("steps", *words)
    given = calls[0][-1]
    changed = {key for key in given if given[key] != plain.get(key)}
    assert changed == {
        "config", "steps", "batch_size", "sequence_length", "learning_rate",
        "seed", "held_out", "uncased", "schedule_steps", "log_every",
    }  # fmt: skip
    assert {one["epochs"] for one in calls[1]} == {2}
    assert {one["learning_rate"] for one in calls[1]} == {0.25}
    assert [one["seed"] for one in calls[1][:2]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--finetune", "nothing=here"], "--finetune"),
        (["--finetune", "sst-2"], "--finetune"),
        (["--finetune-rate", "0"], "--finetune-rate"),
    ],
)
def test_bad_settings_leave_nothing(
    calls, ablate, tmp_path, capsys, words, named
):
    assert ablate("masking", *words) == 2
    assert f"argument `{named}`" in capsys.readouterr().err
    assert calls == ([], []) and not (tmp_path / "out").exists()
