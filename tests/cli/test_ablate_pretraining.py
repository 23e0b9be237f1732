"""`keras-bert ablate pretraining`, from a text to table 5."""

import json

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations import pretraining
from keras_bert.cli.main import main


def _words(folder, output, **options):
    given = {"steps": 2, "batch_size": 2, "sequence_length": 32,
             "vocab": folder / "vocab.txt", "finetune_epochs": 1,
             "finetune": f"text={folder}/data", **options}  # fmt: skip
    words = ["ablate", "pretraining", f"{folder}/corpus.txt", "-o", str(output)]
    for name, value in given.items():
        if value is not None:
            words += ["--" + name.replace("_", "-"), str(value)]
    return words


@pytest.fixture(scope="module")
def table(folder, eager, tmp_path_factory):
    """A run that a kill cut in the middle and that was started again."""
    output = tmp_path_factory.mktemp("ablate") / "table5"
    fine_tuned = _runs._fine_tuned
    begun = []

    def cut(*arguments):
        begun.append(arguments[1].name)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return fine_tuned(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_runs, "_fine_tuned", cut)
        assert main(_words(folder, output)) == 130
        assert not (output / "result.json").exists()
        assert not main(_words(folder, output))
    return output, begun


def test_what_is_finished_is_kept_and_the_rest_done(table):
    output, begun = table
    # Table 5 has four rows; the third was cut and is done again, and the
    # fourth is on the encoder of the third.
    assert begun == ["BASE", "no_NSP", *["LTR_no_NSP"] * 3]
    lines = (output / "records.jsonl").read_text().splitlines()
    of = [json.loads(line)["of"] for line in lines]
    assert [one["bilstm"] for one in of] == [False, False, False, True]


def test_columns_are_dev_scores_and_blank_without_data(table):
    rows = json.loads((table[0] / "result.json").read_text())["rows"]
    assert [row["cells"][0] for row in rows] == [
        "BASE", "no NSP", "LTR & no NSP", "+ BiLSTM",
    ]  # fmt: skip
    for row in rows:
        # The six other columns of the paper have no data here.
        assert list(row["ours"]) == ["text"]
        # A share of the 12 rows of dev, in percent.
        assert row["ours"]["text"] * 12 / 100 == pytest.approx(
            round(row["ours"]["text"] * 12 / 100)
        )
    # The paper, table 5.
    assert rows[1]["paper"]["QNLI"] == 84.9
    assert rows[3]["paper"]["SQuAD F1"] == 84.9


def test_each_row_trains_what_it_says(table):
    lines, models = {}, {}
    for name in ("BASE", "no_NSP", "LTR_no_NSP"):
        run = table[0] / name
        lines[name] = json.loads((run / "metrics.jsonl").open().readline())
        models[name] = keras_bert.load(run)
    assert models["BASE"].next_sentence
    assert "next_sentence_loss" in lines["BASE"]
    # The loss of two tasks is more than that of masks alone.
    assert lines["BASE"]["loss"] > lines["BASE"]["masked_lm_loss"] + 0.1
    for name in ("no_NSP", "LTR_no_NSP"):
        assert not models[name].next_sentence
        assert "next_sentence_loss" not in lines[name]
        assert lines[name]["loss"] == pytest.approx(
            lines[name]["masked_lm_loss"], abs=1e-3
        )
    ids = np.array([[2, 7, 8, 9, 3], [2, 7, 8, 5, 3]])
    seen = {}
    for name, model in models.items():
        states = model.backbone({"token_ids": ids})["sequence_output"]
        states = keras.ops.convert_to_numpy(states)
        seen[name] = np.abs(states[0, :3] - states[1, :3]).max()
    # The rows differ from the fourth token on.
    assert seen["LTR_no_NSP"] < 1e-6
    assert min(seen["BASE"], seen["no_NSP"]) > 1e-3


def test_other_settings_are_done_anew_or_refused(
    table, folder, capsys, monkeypatch
):
    output, _ = table
    before = len((output / "records.jsonl").read_text().splitlines())
    done = []
    monkeypatch.setattr(
        _runs, "_fine_tuned", lambda *arguments: done.append(arguments) or 50.0
    )
    assert not main(_words(folder, output))
    assert done == []
    assert "finished before" in capsys.readouterr().out
    for option, value in (("finetune_epochs", 2), ("finetune_rate", 1e-3)):
        assert not main(_words(folder, output, **{option: value}))
        assert len(done) == before
        done.clear()
    assert not main(_words(folder, output, seeds=2))
    # The first seed is there already.
    assert [arguments[4]["seed"] for arguments in done] == [2] * before
    capsys.readouterr()
    for option, value in (("steps", 3), ("batch_size", 3)):
        assert main(_words(folder, output, **{option: value})) == 2
        option = "--" + option.replace("_", "-")
        assert f"argument `{option}`" in capsys.readouterr().err


def test_the_bilstm_is_put_on_the_left_to_right_encoder(table, folder):
    from keras_bert.tasks.table import TASKS

    task = TASKS["text"]
    rows = task.read(f"{folder}/data", "train", **_runs._options(task))
    arguments = task, table[0] / "LTR_no_NSP", rows, "fine-tuning"
    model = _runs.model_of(*arguments, True, 1)
    source = keras_bert.load(table[0] / "LTR_no_NSP").backbone
    assert model.backbone.causal
    found = {v.path.split("/", 1)[1]: v for v in model.backbone.weights}
    assert sum("bilstm" in name for name in found) == 6
    for variable in source.weights:
        other = found[variable.path.split("/", 1)[1]]
        one, other = map(keras.ops.convert_to_numpy, (variable, other))
        np.testing.assert_array_equal(one, other)
    plain = _runs.model_of(*arguments, False, 1)
    assert not any("bilstm" in v.path for v in plain.backbone.variables)


def test_the_paper_s_rows_are_those_of_its_text():
    settings = {name: changes for name, changes, _ in pretraining.ROWS}
    assert settings["no NSP"] == {"next_sentence": "no"}
    assert settings["LTR & no NSP"] == {"objective": "left-to-right"}
