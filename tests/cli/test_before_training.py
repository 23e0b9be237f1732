"""What is wrong with the data is said before anything is trained."""

import json

import keras
import pytest

from keras_bert.cli.main import main
from keras_bert.tasks import fine_tune as fine_tuning
from keras_bert.tasks import runs
from keras_bert.tasks.table import TASKS
from keras_bert.training.recipe import FINE_TUNING

CONTEXT = "the quick fox jumps over a lazy dog . "


@pytest.fixture
def no_training(monkeypatch):
    monkeypatch.setattr(runs, "fine_tune", lambda *_, **__: 1 / 0)


def _questions(path, question="what ?", **more):
    answers = [{"text": "fox", "answer_start": 10}]
    qa = {"id": "q0", "question": question, "answers": answers, **more}
    part = {"context": CONTEXT * 4, "qas": [qa]}
    path.write_text(json.dumps({"data": [{"paragraphs": [part]}]}))


def _refused(capsys, *words):
    assert main([str(word) for word in words]) == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_dev_file_without_labels(encoder, tmp_path, capsys, no_training):
    (tmp_path / "train.txt").write_text("fox B-x\ndog O\n")
    (tmp_path / "dev.txt").write_text("fox\ndog\n")
    words = ["--data", tmp_path, "--model", encoder, "-o", "out"]
    for verb in (["finetune", "ner"], ["ablate", "feature-based"]):
        error = _refused(capsys, *verb, *words)
        assert "`--data`" in error and "dev rows with labels" in error
    _questions(tmp_path / "train.json")
    _questions(tmp_path / "dev.json", answers=None)
    text = (tmp_path / "dev.json").read_text()
    (tmp_path / "dev.json").write_text(
        text.replace('"answers": null', '"x": 0')
    )
    error = _refused(capsys, "finetune", "squad-v1", *words)
    assert "`--data`" in error and "dev rows with labels" in error


def test_a_dev_question_that_leaves_no_room(
    folder, tmp_path, capsys, no_training
):
    _questions(tmp_path / "train.json")
    _questions(tmp_path / "dev.json", "fox " * 30)
    words = ["finetune", "squad-v1", "--data", tmp_path, "-o", "out"]
    words += ["--model", folder / "run", "--max-query-length", 64]
    words += ["--sequence-length"]
    error = _refused(capsys, *words, 16)
    assert "`--sequence-length`" in error and "question q0" in error
    # A stride that only dev has no room for.
    _questions(tmp_path / "dev.json", "fox " * 7)
    error = _refused(capsys, *words, 32, "--doc-stride", 20)
    assert "`--doc-stride`" in error and "question q0" in error


def test_one_file_is_not_measured_on_itself(encoder, tmp_path, capsys):
    path = tmp_path / "eng.train"
    path.write_text("fox B-x\ndog O\n\n" * 9)
    words = ["ablate", "feature-based", "--model", encoder]
    words += ["-o", "out"]
    # Nine sentences are too few to hold out a tenth.
    error = _refused(capsys, *words, "--data", path)
    assert "`--data`" in error and "10 rows or more" in error


def test_windows_count_for_the_thousand_steps(folder, tmp_path, monkeypatch):
    """One document of many windows needs fewer epochs than its one row."""
    path = tmp_path / "train.txt"
    path.write_text("-DOCSTART- O\n\n" + "fox B-x\ndog O\n\n" * 640)
    task = TASKS["ner"]
    rows = task.read(path, "train", context="document")
    assert len(rows["ids"]) == 1
    model = fine_tuning.new_model(task, str(folder / "run"), rows, {}, 32)
    asked = {}

    class Stop(Exception):
        pass

    def fit(*arguments, epochs, **keywords):
        asked["epochs"] = epochs
        raise Stop

    monkeypatch.setattr(model, "fit", fit)
    windows = len(task.windows(model, rows).rows)
    pieces = model.preprocessor.tokenizer(["fox", "dog"]).flat_values.shape[0]
    # Windows of 30 pieces advance by 15.
    assert 640 * pieces / 30 < windows <= 640 * pieces / 15 + 1
    with pytest.raises(Stop):
        fine_tuning.fine_tune(
            task, model, rows, {"dev": rows}, FINE_TUNING["default"]
        )
    batches = -(-windows // 32)
    assert asked["epochs"] == -(-1000 // batches) < 1000


def test_the_head_of_another_task_is_dropped(folder, tmp_path):
    """Also where it has the same labels: MRPC and QQP both have 0 and 1."""
    task = TASKS["cola"]
    rows = {"x": ["a fox", "a dog"], "y": ["0", "1"], "notes": []}
    model = fine_tuning.new_model(task, str(folder / "run"), rows, {}, 16)
    run = tmp_path / "run"
    run.mkdir()
    model.save_to_preset(run / "preset")
    for name, kept in (("cola", True), ("mrpc", False)):
        (run / "result.json").write_text(json.dumps({"task": name}))
        again = fine_tuning.new_model(task, str(run), rows, {}, 16, seed=2)
        before, after = (
            keras.ops.convert_to_numpy(one.logits.kernel)
            for one in (model, again)
        )
        assert (before == after).all() == kept
        assert bool(again.load_report.newly_initialised) != kept
    (run / "result.json").write_text("{")
    with pytest.raises(ValueError, match="`source`.*JSON"):
        fine_tuning.new_model(task, str(run), rows, {}, 16)


def test_a_rare_label_is_not_held_out(tmp_path):
    from keras_bert.cli import finetune

    lines = [f"a{n},{'x' if n else 'rare'}" for n in range(20)]
    path = tmp_path / "all.csv"
    path.write_text("text,label\n" + "\n".join(lines))
    options = {"text": "text", "text_pair": "text_pair", "label": "label"}
    options["regression"] = False
    noted = 0
    for seed in range(20):
        train, dev = finetune.rows_of(str(path), TASKS["text"], options, seed)
        assert "rare" in train["y"] and set(dev["dev"]["y"]) == {"x"}
        noted += any("rare" in note for note in train["notes"])
    # A tenth of the seeds would hold it out.
    assert 0 < noted < 10


def test_a_folder_is_no_file_for_tags(folder, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "dev.txt").write_text("fox B-x\n")
    task, rows = TASKS["ner"], {"y": [["O", "B-x"]]}
    model = fine_tuning.new_model(task, str(folder / "run"), rows, {}, 16)
    model.save_to_preset(tmp_path / "tagger")
    words = ["predict", "ner", "--data", tmp_path / "dev.txt"]
    words += ["--model", tmp_path / "tagger", "-o", tmp_path / "out"]
    error = _refused(capsys, *words)
    assert "`-o`" in error and "a file" in error


@pytest.mark.parametrize("rate", ["inf", "nan", "0", "-1"])
def test_a_rate_is_a_positive_number(folder, tmp_path, capsys, rate):
    words = ["finetune", "text", "--data", folder / "data", "--model"]
    words += [folder / "run", "-o", tmp_path / "out", "--learning-rate", rate]
    assert "`--learning-rate`" in _refused(capsys, *words)


def test_a_run_that_diverges_is_no_result(folder, tmp_path, capsys):
    """One run ends with an error; of several the others are kept."""
    words = ["finetune", "text", "--data", folder / "data", "--model"]
    words += [folder / "run", "--epochs", "3", "--batch-size", "4"]
    words += ["--learning-rate", "1e30", "-o", tmp_path / "out"]
    error = _refused(capsys, *words)
    assert "nan" in error.lower() and "step" in error
    assert "some run" in _refused(capsys, *words, "--seeds", 2)
    assert list(tmp_path.iterdir()) == []


def test_columns_without_an_outside_are_no_entities(folder, tmp_path, capsys):
    for split in ("train", "dev"):
        text = "index\tsentence1\tlabel\n0\ta fox\tentailment\n"
        (tmp_path / f"{split}.tsv").write_text(text)
    words = ["finetune", "ner", "--data", tmp_path, "-o", tmp_path / "out"]
    error = _refused(capsys, *words, "--model", folder / "run")
    assert "`--data`" in error and "the tag O" in error


def test_layers_are_frozen_or_drawn_anew(folder, tmp_path, capsys):
    words = ["finetune", "text", "--data", folder / "data", "--model"]
    words += [folder / "run", "-o", tmp_path / "out", "--freeze-layers", 2]
    error = _refused(capsys, *words, "--reinitialise-layers", 1)
    assert "`--freeze-layers`" in error


def test_the_last_seed_is_a_seed_too(folder, tmp_path, capsys):
    words = ["finetune", "text", "--data", folder / "data", "--model"]
    words += [folder / "run", "-o", tmp_path / "out", "--seed", 2**32 - 1]
    assert "`--seeds`" in _refused(capsys, *words, "--seeds", 2)


def test_an_output_below_a_file(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    words = ["finetune", "text", "--data", folder / "data", "--model"]
    words += [folder / "run", "-o", tmp_path / "file" / "out"]
    assert "`-o`" in _refused(capsys, *words)


def test_a_given_threshold_is_not_tuned():
    task, figures = TASKS["squad-v2"], {"tuned_f1_threshold": 3.0}
    found = task.tune(None, {"threshold": 1.0}, figures, null_threshold=1.0)
    assert found == {"threshold": 1.0}


def test_a_model_without_its_vocabulary(folder, tmp_path, capsys):
    rows = {"y": [["O", "B-x"]]}
    source = str(folder / "run")
    model = fine_tuning.new_model(TASKS["ner"], source, rows, {}, 16)
    model.preprocessor = None
    model.save_to_preset(tmp_path / "tagger")
    (tmp_path / "dev.txt").write_text("fox B-x\n")
    words = ["evaluate", "ner", "--data", tmp_path / "dev.txt"]
    error = _refused(capsys, *words, "--model", tmp_path / "tagger")
    assert "`--model`" in error and "vocabulary" in error


def test_what_records_have_already_cannot_be_asked_for(
    folder, tmp_path, capsys
):
    records = tmp_path / "records"
    vocab = ["--vocab", folder / "vocab.txt"]
    words = ["prepare", folder / "corpus.txt", "-o", records, *vocab]
    words += ["--format", "google", "--max-length", 32, "--duplicates", 1]
    assert main([str(word) for word in words]) == 0
    words = ["pretrain", records, "-o", tmp_path / "out", *vocab]
    words += ["--config", "bert_tiny", "--sequence-length", 32]
    for more in (
        ("--mask-rate", 0.3),
        ("--masking", "spans"),
        ("--mask-token-rate", 1),
        ("--random-token-rate", 0),
        ("--sampling", 0.7),
        ("--objective", "left-to-right"),
    ):
        error = _refused(capsys, *words, *more)
        name = more[0].strip("-").replace("-", "_")
        assert f"`{name}`" in error or f"`{more[0]}`" in error
        assert not (tmp_path / "out").exists()


def test_a_rate_that_is_no_number(folder, tmp_path, capsys):
    words = ["pretrain", folder / "corpus.txt", "-o", tmp_path / "out"]
    words += ["--vocab", folder / "vocab.txt", "--config", "bert_tiny"]
    for name in ("mask-rate", "mask-token-rate", "random-token-rate"):
        error = _refused(capsys, *words, f"--{name}", "nan")
        assert name.replace("-", "_") in error and "0 to 1" in error
    assert not (tmp_path / "out").exists()


def test_a_tagger_on_features_that_diverges(encoder, tmp_path, capsys):
    for split in ("train", "dev"):
        (tmp_path / f"{split}.txt").write_text("fox B-x\ndog O\n\n" * 4)
    words = ["ablate", "feature-based", "--model", encoder, "--data", tmp_path]
    words += ["-o", tmp_path / "out", "--learning-rate", "1e30"]
    error = _refused(capsys, *words, "--epochs", 4, "--batch-size", 2)
    assert "`--learning-rate`" in error and "stays a number" in error
