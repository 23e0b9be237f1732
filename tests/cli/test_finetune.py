"""finetune, evaluate and predict over the table of tasks."""

import json
import re
import shutil
import zipfile

import pytest

from keras_bert.cli import finetune
from keras_bert.cli.main import build_parser
from keras_bert.cli.main import main
from keras_bert.tasks.table import TASKS


@pytest.fixture(scope="module")
def runs(folder, glue, tmp_path_factory):
    """A run of two seeds for CoLA, and one for MNLI."""
    place = tmp_path_factory.mktemp("runs")
    words = ["--model", f"{folder}/run", "--epochs", "1"]
    words += ["--sequence-length", "16", "--batch-size", "4"]
    assert not main(
        ["finetune", "cola", "--data", f"{glue}/CoLA", "-o", f"{place}/cola"]
        + [*words, "--seeds", "2"]
    )
    assert not main(
        ["finetune", "mnli", "--data", f"{glue}/MNLI", "-o", f"{place}/mnli"]
        + words
    )
    return place


def _result(run):
    return json.loads((run / "result.json").read_text())


def test_every_run_is_recorded_and_the_best_is_kept(runs):
    result = _result(runs / "cola")
    lines = (runs / "cola" / "runs.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [r["head_seed"] for r in records] == [1, 2]
    scores = [r["score"] for r in records]
    (summary,) = result["summary"]
    assert summary["mean"] == pytest.approx(sum(scores) / 2)
    # The deviation of a sample of two is their distance over sqrt(2).
    assert summary["std"] == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5)
    assert summary["best"] == max(scores) == result["score"]
    assert summary["failed"] == sum(score <= 0 for score in scores)
    assert result["labels"] == ["0", "1"]


def test_the_run_folder_holds_a_report_for_people(runs):
    folder = runs / "cola"
    names = {path.name for path in folder.iterdir()}
    assert {"report.md", "confusion.tsv", "misread.jsonl", "preset"} <= names
    table = [
        line.split("\t")[1:]
        for line in (folder / "confusion.tsv").read_text().splitlines()
    ]
    counts = [list(map(int, row)) for row in table[1:]]
    assert table[0] == ["0", "1"]
    # dev holds 1, 0, 1, 0, 1.
    assert [sum(row) for row in counts] == [2, 3]
    wrong = [
        json.loads(line)
        for line in (folder / "misread.jsonl").read_text().splitlines()
    ]
    assert len(wrong) == counts[0][1] + counts[1][0]
    assert all(one["label"] != one["predicted"] for one in wrong)
    assert "Confusion" in (folder / "report.md").read_text()


def test_mnli_measures_both_dev_sets_and_predicts_both_test_sets(
    runs, glue, tmp_path, run_json
):
    result = _result(runs / "mnli")
    assert result["dev"]["examples"] == 4
    assert result["dev"]["dev_mismatched"]["examples"] == 3
    assert result["labels"] == ["contradiction", "entailment", "neutral"]
    code, found = run_json(
        "evaluate", "mnli", "--data", glue / "MNLI", "--model", runs / "mnli"
    )
    assert code == 0 and found == result["dev"]
    words = ["predict", "mnli", "--model", runs / "mnli", "-o"]
    code, found = run_json(*words, tmp_path / "out", "--data", glue / "MNLI")
    assert code == 0 and found["rows"] == 5
    for name, count in (("MNLI-m.tsv", 3), ("MNLI-mm.tsv", 2)):
        lines = (tmp_path / "out" / name).read_text().splitlines()
        assert lines[0] == "index\tprediction" and len(lines) == count + 1
        assert {line.split("\t")[1] for line in lines[1:]} <= set(
            result["labels"]
        )
    one = tmp_path / "one.tsv"
    test = glue / "MNLI" / "test_mismatched.tsv"
    assert run_json(*words, one, "--data", test)[0] == 0
    assert one.read_text() == (tmp_path / "out" / "MNLI-mm.tsv").read_text()


def test_one_row_and_rows_without_a_word_are_rows_like_others(
    runs, tmp_path, run_json
):
    words = ["cola", "--model", runs / "cola", "--data"]
    (tmp_path / "test.tsv").write_text("index\tsentence\n0\t\U0001f600\n1\t\n")
    code, result = run_json(
        "predict", *words, tmp_path / "test.tsv", "-o", tmp_path / "out.tsv"
    )
    assert code == 0 and result["rows"] == 2
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["index", "0", "1"]
    (tmp_path / "dev.tsv").write_text("s\t1\t\t\U0001f600\n")
    code, result = run_json("evaluate", *words, tmp_path / "dev.tsv")
    # One class in the gold labels: the correlation is 0 (scikit-learn).
    assert code == 0 and (result["examples"], result["matthews"]) == (1, 0)


def test_an_ensemble_of_a_run_with_itself_is_that_run(runs, glue, run_json):
    words = ["evaluate", "cola", "--data", glue / "CoLA", "--model"]
    _, one = run_json(*words, runs / "cola")
    _, same = run_json(*words, runs / "cola", runs / "cola")
    assert one == same


def test_one_zip_with_all_submissions(runs, glue, tmp_path, run_json):
    path = tmp_path / "all.zip"
    code, result = run_json(
        "predict", "glue", "--data", glue, "-o", path, "--batch-size", 2,
        "--model", runs / "cola", runs / "mnli",
    )  # fmt: skip
    assert code == 0
    with zipfile.ZipFile(path) as archive:
        content = {
            name: archive.read(name).decode().splitlines()
            for name in archive.namelist()
        }
    assert set(content) == {
        "CoLA.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv", "WNLI.tsv",
    }  # fmt: skip
    assert len(content["CoLA.tsv"]) == 3 and len(content["AX.tsv"]) == 2
    # No run for WNLI: the commonest label, as the paper handed in.
    assert content["WNLI.tsv"] == ["index\tprediction", "0\t0"]
    assert any("wnli: no run" in note for note in result["notes"])
    assert "qnli: no test file, left out" in result["notes"]
    words = ["predict", "glue", "--data", f"{tmp_path}", "-o", "none.zip"]
    assert main([*words, "--model", f"{runs}/cola"]) == 2


def test_the_table_of_glue_from_run_folders(runs, run_json):
    code, result = run_json(
        "evaluate", "glue", "--model", runs / "cola", runs / "mnli"
    )
    rows = result["rows"]
    assert code == 0 and rows["BERT BASE"]["CoLA"] == "52.1"
    summary = _result(runs / "cola")["summary"][0]
    assert rows["these runs, best"]["CoLA"] == f"{100 * summary['best']:.1f}"
    assert rows["these runs, mean"]["CoLA"] == f"{100 * summary['mean']:.1f}"
    assert rows["these runs, best"]["RTE"] == "-"


def test_half_a_run_folder_is_none(runs, tmp_path, capsys):
    shutil.copy(runs / "cola" / "result.json", tmp_path)
    assert main(["evaluate", "glue", "--model", str(tmp_path)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "`--model`" in error and "runs.jsonl" in error


# One option that shows in the losses only, or several that show by name.
OPTIONS = [
    ["--reinitialise-layers", "1"],
    ["--layer-decay", "0.5"],
    ["--freeze-layers", "2"],
    ["--recipe", "stable", "--head-seed", "7", "--data-seed", "8",
     "--early-stopping", "1"],
]  # fmt: skip


@pytest.fixture(scope="module")
def base(folder, glue, tmp_path_factory):
    run = tmp_path_factory.mktemp("base") / "run"
    assert not main(_short(folder, glue, run))
    return _result(run)


def _short(folder, glue, run):
    # A high rate, so that two updates tell.
    return ["finetune", "cola", "--data", f"{glue}/CoLA", "-o", str(run),
            "--model", f"{folder}/run", "--epochs", "1", "--sequence-length",
            "16", "--learning-rate", "0.01", "--batch-size", "4"]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o[0])
def test_every_option_of_finetune_changes_the_result(
    folder, glue, tmp_path, base, options
):
    assert not main([*_short(folder, glue, tmp_path / "run"), *options])
    result = _result(tmp_path / "run")
    assert result["train_loss"] != base["train_loss"]
    if len(options) > 2:
        assert (base["head_seed"], base["data_seed"]) == (1, 1)
        assert (result["head_seed"], result["data_seed"]) == (7, 8)
        assert result["settings"]["recipe"] == "stable"
        assert len(result["dev_scores"]) == 1 and "dev_scores" not in base


def test_recipes_have_the_values_of_their_sources():
    def recipe(*words):
        words = ["finetune", *words, "--data", "d", "--model", "m", "-o", "o"]
        args = build_parser().parse_args(words)
        return finetune.recipe_of(args, TASKS[args.task])

    default = recipe("cola")
    assert (default.learning_rate, default.batch_size) == (2e-5, 32)
    # Devlin et al. (2019), 4.4: batch 16.
    assert recipe("swag").batch_size == 16
    # Mosbach et al. (2021): batch 16, 20 epochs, with bias correction.
    stable = recipe("cola", "--recipe", "stable")
    assert (stable.batch_size, stable.epochs) == (16, 20)
    assert stable.bias_correction and not stable.original_schedule
    # The flags of run_classifier.py: rate 5e-5, batch 32, 3 epochs.
    first = recipe("cola", "--recipe", "2018")
    assert (first.learning_rate, first.batch_size, first.epochs) == (
        5e-5, 32, 3,
    )  # fmt: skip
    assert not first.bias_correction and first.original_schedule
    given = recipe("cola", "--recipe", "2018", "--learning-rate", "1e-4",
                   "--batch-size", "8", "--epochs", "1")  # fmt: skip
    assert (given.learning_rate, given.batch_size) == (1e-4, 8)
    assert given.epochs_for(8) == (1, 1)


def test_the_grid_of_the_paper_has_18_runs():
    from keras_bert.training.recipe import FINE_TUNING
    from keras_bert.training.recipe import paper_grid

    grid = paper_grid(FINE_TUNING["default"])
    # Devlin et al. (2019), appendix A.3.
    assert len(set(grid)) == 18
    assert {one.batch_size for one in grid} == {16, 32}
    assert {one.learning_rate for one in grid} == {5e-5, 3e-5, 2e-5}
    assert {one.epochs for one in grid} == {2, 3, 4}
    assert {one.epochs_for(32)[0] for one in grid} == {2, 3, 4}


def test_without_epochs_small_data_gets_a_thousand_steps():
    from keras_bert.training.recipe import FINE_TUNING

    default = FINE_TUNING["default"]
    # 100 rows are 4 batches of 32: 250 epochs; 40,000 rows need no more.
    assert default.epochs_for(100) == (250, 4)
    assert default.epochs_for(40_000) == (3, 1250)
    assert FINE_TUNING["stable"].epochs_for(100)[0] == 20
    assert FINE_TUNING["2018"].epochs_for(100)[0] == 3


def test_a_grid_is_run_whole(folder, glue, tmp_path, monkeypatch):
    whole = finetune.paper_grid
    monkeypatch.setattr(finetune, "paper_grid", lambda r: whole(r)[2::13])
    words = _short(folder, glue, tmp_path / "run")
    assert not main([*words, "--grid", "paper"])
    found = _result(tmp_path / "run")["summary"]
    assert [one["recipe"]["batch_size"] for one in found] == [16, 32]


def test_swag_end_to_end(folder, tmp_path, run_json):
    (tmp_path / "data").mkdir()
    rows = (
        "sent1,sent2,ending0,ending1,label\n" + "the dog,was,bad,good,1\n" * 4
    )
    for name in ("train", "val"):
        (tmp_path / "data" / f"{name}.csv").write_text(rows)
    run = tmp_path / "run"
    code, result = run_json(
        "finetune", "swag", "--data", tmp_path / "data", "--model",
        folder / "run", "-o", run, "--epochs", 1, "--sequence-length", 16,
    )  # fmt: skip
    assert code == 0 and result["dev"]["accuracy"]["examples"] == 4
    code, _ = run_json(
        "predict", "swag", "--data", tmp_path / "data" / "val.csv",
        "--model", run, "-o", tmp_path / "out.csv",
    )  # fmt: skip
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "index,label,score" and len(lines) == 5


BAD = {
    "task": (["finetune", "cola", "--text", "x"], "--text"),
    "diagnostic": (["finetune", "ax"], "`TASK`.*mnli"),
    "length": (["finetune", "cola", "--sequence-length", "9999"],
               "--sequence-length"),
    "layers": (["finetune", "cola", "--freeze-layers", "3"],
               "--freeze-layers"),
    "new layers": (["finetune", "cola", "--reinitialise-layers", "0"],
                   "--reinitialise-layers"),
    "decay": (["finetune", "cola", "--layer-decay", "2"], "--layer-decay"),
    "rate": (["finetune", "cola", "--learning-rate", "-1"], "--learning-rate"),
    "seed": (["finetune", "cola", "--head-seed", "-1"], "--head-seed"),
    "column": (["finetune", "text", "--text", "nix"], "--text`.*a column of"),
    "label": (["finetune", "text", "--label", "nix"], "--label`.*a column of"),
    "class": (["evaluate", "cola", "--model", "RUN"], "--model"),
    "glue": (["evaluate", "glue", "--model", "RUN"], "--model"),
    "source": (["finetune", "cola", "--model", "nix"], "`--model`"),
    "folder": (["predict", "mnli", "--model", "MNLI", "-o", "one.tsv"], "-o"),
    "table": (["predict", "swag", "--model", "RUN", "-o", "a.txt"],
              "-o`.*Expected a .tsv"),
    "file": (["predict", "squad-v1", "--model", "RUN", "-o", "a.json"],
             "-o`.*Expected a folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_option(
    folder, glue, runs, tmp_path, capsys, monkeypatch, case
):
    monkeypatch.chdir(tmp_path)
    words, named = BAD[case]
    data = {"text": folder / "data", "mnli": glue / "MNLI"}
    words = [
        {"RUN": f"{folder}/run", "MNLI": f"{runs}/mnli"}.get(w, w)
        for w in words
    ]
    words += ["--data", str(data.get(words[1], glue / "CoLA"))]
    if words[0] == "finetune":
        words += ["-o", "out", "--epochs", "1"]
        if "--model" not in words:
            words += ["--model", f"{folder}/run"]
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(named, error), error
    assert list(tmp_path.iterdir()) == []


def test_a_label_of_dev_alone_is_refused_before_any_training(
    folder, tmp_path, capsys, monkeypatch
):
    from keras_bert.tasks import runs

    monkeypatch.setattr(runs, "fine_tune", lambda *_, **__: 1 / 0)
    (tmp_path / "train.csv").write_text("text,label\na,x\nb,y\n")
    words = ["finetune", "text", "--data", str(tmp_path), "--model"]
    words += [f"{folder}/run", "-o", f"{tmp_path}/out"]
    for label in "zx":
        (tmp_path / "dev.csv").write_text(f"text,label\na,x\nb,{label}\n")
        if label == "z":
            assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "`--label`" in error and "row 1" in error and "['z']" in error
    # With the label of training it goes on, to the stand-in for training.
    assert main(words) == 1
    assert "division by zero" in capsys.readouterr().err


def test_every_task_of_the_contract_is_in_the_table():
    assert set(TASKS) == {
        "cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte",
        "wnli", "ax", "xnli", "squad-v1", "squad-v2", "swag", "ner", "text",
    }  # fmt: skip
