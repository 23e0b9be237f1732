"""SQuAD, NER and the feature-based ablation, from files to figures."""

import dataclasses
import json

import pytest

import keras_bert
from keras_bert.cli import finetune
from keras_bert.cli.main import main
from keras_bert.tasks import squad
from keras_bert.tasks.table import TASKS

CONTEXT = "the quick fox jumps over a lazy dog . it was good and fun ."


def _questions(count):
    qas = []
    for number in range(count):
        text = ("fox", "dog", "lazy dog")[number % 3]
        answers = [{"text": text, "answer_start": CONTEXT.index(text)}]
        impossible = number % 4 == 3
        qas.append(
            {
                "id": f"q{number}",
                "question": f"what was {'bad' if impossible else text} ?",
                "answers": [] if impossible else answers,
                "is_impossible": impossible,
            }
        )
    part = {"context": CONTEXT, "qas": qas}
    return {"version": "v2.0", "data": [{"paragraphs": [part]}]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """squad/ and ner/ with train and dev."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("squad", "ner"):
        (folder / name).mkdir()
    for split, count in (("train", 8), ("dev", 4)):
        path = folder / "squad" / f"{split}-v2.0.json"
        path.write_text(json.dumps(_questions(count)))
        sentence = "the O\nfox I-ANIMAL\njumps O\n\na O\ndog I-ANIMAL\n\n"
        text = "-DOCSTART- -X-\n\n" + sentence
        (folder / "ner" / f"{split}.txt").write_text(text * 2)
    # A tag that training has not.
    with (folder / "ner" / "dev.txt").open("a") as file:
        file.write("it I-THING\n")
    return folder


def _parted(path):
    train, dev = finetune.rows_of(str(path), TASKS["squad-v2"], {})
    return train, dev["dev"]


def test_a_tenth_of_one_file_shares_no_text_with_the_rest(shared, tmp_path):
    train, dev = _parted(shared / "squad" / "train-v2.0-part.json")
    assert len(train["ids"]) + len(dev["ids"]) == 4782
    assert 478 <= len(dev["ids"]) < 2 * 478
    article = dict(zip(*_articles(shared), strict=True))
    sides = [{article[key] for key in side["ids"]} for side in (train, dev)]
    assert len(sides[0] | sides[1]) == 14 and not sides[0] & sides[1]
    # Few articles: by paragraph. Alone in one paragraph: said in a note.
    questions = _questions(12)
    (part,) = questions["data"][0]["paragraphs"]
    questions["data"][0]["paragraphs"] = [
        {**part, "qas": part["qas"][i : i + 3], "context": part["context"] + x}
        for i, x in ((0, ""), (3, " a"), (6, " b"), (9, " c"))
    ]
    path = tmp_path / "few.json"
    path.write_text(json.dumps(questions))
    train, dev = _parted(path)
    assert len(set(dev["x"][1])) == 1 and len(dev["ids"]) == 3
    assert not set(dev["x"][1]) & set(train["x"][1])
    path.write_text(json.dumps(_questions(12)))
    train, dev = _parted(path)
    assert len(dev["ids"]) == 1 and "one paragraph" in train["notes"][-1]


def _articles(shared):
    """Ids of questions, and the articles they belong to, read plainly."""
    path = shared / "squad" / "train-v2.0-part.json"
    pairs = [
        (qa["id"], article["title"])
        for article in json.loads(path.read_text("utf-8"))["data"]
        for part in article["paragraphs"]
        for qa in part["qas"]
    ]
    return zip(*pairs, strict=True)


@pytest.fixture(scope="module")
def squad_run(folder, data, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "squad"
    assert not main(
        ["finetune", "squad-v2", "--data", f"{data}/squad", "-o", str(run)]
        + ["--model", f"{folder}/run", "--epochs", "2", "--batch-size", "4"]
        + ["--sequence-length", "24", "--doc-stride", "5", "--n-best", "6"]
        + ["--max-query-length", "12", "--max-answer-length", "3"]
    )
    return run


def test_a_run_keeps_its_settings_and_the_tuned_threshold(squad_run):
    result = json.loads((squad_run / "result.json").read_text())
    settings = keras_bert.load(squad_run).preprocessor
    assert (settings.sequence_length, settings.doc_stride) == (24, 5)
    assert (settings.n_best, settings.max_query_length) == (6, 12)
    assert settings.max_answer_length == 3
    dev = result["dev"]
    assert settings.null_threshold == dev["null_threshold"]
    assert dev["tuned_f1_threshold"] == dev["null_threshold"]
    # What was tuned is what the run gives.
    assert dev["f1"] == dev["tuned_f1"] >= 25
    table = (squad_run / "confusion.tsv").read_text().splitlines()
    rows = [list(map(int, row.split("\t")[1:])) for row in table[1:]]
    # Of four questions the last has no answer.
    assert [sum(row) for row in rows] == [1, 3]
    lines = (squad_run / "misread.jsonl").read_text().splitlines()
    assert len(lines) == round(4 * (1 - dev["exact"] / 100))
    assert "## Confusion" in (squad_run / "report.md").read_text()
    # Several windows a question: more updates than questions ask for.
    assert result["steps"] > 2 * 8 / 4


def test_files_evaluate_and_the_official_script_agree(
    squad_run, data, tmp_path, run_json
):
    file = data / "squad" / "dev-v2.0.json"
    out = tmp_path / "out"
    code, result = run_json(
        *("predict", "squad-v2", "--data", file, "--model", squad_run),
        *("-o", out),
    )
    assert code == 0 and result["rows"] == 4
    official = squad.evaluate(file, out / "predictions.json")
    dev = json.loads((squad_run / "result.json").read_text())["dev"]
    code, found = run_json(
        *("evaluate", "squad-v2", "--data", file, "--model", squad_run)
    )
    assert code == 0
    for key, value in official.items():
        assert found[key] == dev[key] == value
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    # The best thresholds as the script has them from null_odds.json.
    official = squad.evaluate(
        file, out / "predictions.json", out / "null_odds.json"
    )
    for key in ("best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"):
        assert found[key] == official[key]
    # An ensemble of a run with itself is that run.
    code, twice = run_json(
        *("evaluate", "squad-v2", "--data", file, "--model", squad_run),
        squad_run,
    )
    assert twice == pytest.approx(found)


def test_files_that_could_not_be_written_leave_nothing_behind(
    squad_run, data, tmp_path, monkeypatch
):
    task = TASKS["squad-v2"]

    def fail(rows, predictions, path, **_):
        task.write(rows, predictions, path)
        raise ValueError("the disk is full")

    monkeypatch.setitem(
        TASKS, "squad-v2", dataclasses.replace(task, write=fail)
    )
    file = data / "squad" / "dev-v2.0.json"
    words = ["predict", "squad-v2", "--data", file, "--model", squad_run]
    assert main([*map(str, words), "-o", f"{tmp_path}/out"]) == 2
    assert not list(tmp_path.iterdir())


def test_every_option_changes_what_is_predicted(squad_run, data):
    task = TASKS["squad-v2"]
    model = keras_bert.load(squad_run)
    rows = task.read(data / "squad" / "dev-v2.0.json", "dev")
    kept = task.predict(model, rows)
    for option in (
        {"doc_stride": 2},
        {"max_query_length": 2},
        {"n_best": 2},
        {"max_answer_length": 1},
        {"null_threshold": kept["threshold"] + 1},
    ):
        assert task.predict(keras_bert.load(squad_run), rows, **option) != kept
    # What is not given stays as the run has it.
    assert task.predict(model, rows) == kept
    golds = {**rows, "y": [[{"text": "北 京"}]] + rows["y"][1:]}
    found = {**kept, "threshold": 1e9}
    found["nbest"] = {**kept["nbest"], "q0": [{"text": "北京"}]}
    words, characters = (
        task.score(golds, found, f1_unit=unit)["f1"]
        for unit in ("words", "characters")
    )
    assert words != characters


def test_squad_1_starts_from_another_task(
    squad_run, folder, data, tmp_path, run_json, capsys
):
    """Intermediate fine-tuning: the same head is kept, another is dropped."""
    questions = _questions(3)
    (tmp_path / "v1").mkdir()
    for split in ("train", "dev"):
        path = tmp_path / "v1" / f"{split}-v1.1.json"
        path.write_text(json.dumps(questions))
    words = ["--data", tmp_path / "v1", "--epochs", "1", "--batch-size", "4"]
    words += ["--sequence-length", "32"]
    code, result = run_json(
        *("finetune", "squad-v1", *words, "--model", squad_run),
        *("-o", tmp_path / "same"),
    )
    assert code == 0 and "null_threshold" not in result["dev"]
    assert (
        keras_bert.load(tmp_path / "same").preprocessor.null_threshold is None
    )
    code, result = run_json(
        *("finetune", "ner", "--data", data / "ner", "--epochs", "1"),
        *("--batch-size", "2", "--model", squad_run, "-o", tmp_path / "ner"),
    )
    assert code == 0
    # As `load_report` has it: dropped from the file, and new in the model.
    assert [note.split(":")[0] for note in result["heads"]] == [
        "dropped from the checkpoint",
        "newly initialised",
    ]
    assert all("logits/kernel" in note for note in result["heads"])
    # A tag seen in dev alone is reported.
    assert result["dev"]["tags_not_in_training"] == {"I-THING": 1}
    assert result["labels"] == ["O", "I-ANIMAL"]
    report = (tmp_path / "ner" / "report.md").read_text()
    assert "tags in dev that training has not: I-THING (1)" in report
    names = {path.name for path in (tmp_path / "ner").iterdir()}
    assert {"confusion.tsv", "misread.jsonl", "report.md"} <= names


def test_ner_by_document_and_in_another_scheme(
    folder, data, tmp_path, run_json
):
    run = tmp_path / "run"
    code, result = run_json(
        *("finetune", "ner", "--data", data / "ner", "-o", run),
        *("--model", folder / "run", "--epochs", "1", "--batch-size", "2"),
        *("--context", "document", "--scheme", "bioes"),
        *("--sequence-length", "16"),
    )
    assert code == 0
    assert result["labels"] == ["O", "S-ANIMAL"]
    # Two documents, one batch of 2: the sentences would be two batches.
    assert result["steps"] == 1
    # Both are kept with the run: neither has to be said again.
    words = ["evaluate", "ner", "--data", data / "ner", "--model"]
    for source in (run, run / "preset"):
        code, found = run_json(*words, source)
        assert code == 0 and found == result["dev"]
    # As the tags stand in the file, and as this run never learned them.
    _, found = run_json(*words, run, "--scheme", "iob1")
    assert set(found["tags_not_in_training"]) == {"I-ANIMAL", "I-THING"}
    words = ["predict", "ner", "--data", data / "ner" / "dev.txt"]
    words += ["--model", run, "-o"]
    code, found = run_json(*words, tmp_path / "out")
    assert code == 0 and found["rows"] == 2
    _, found = run_json(*words, tmp_path / "as", "--context", "sentence")
    assert found["rows"] == 5
    lines = (tmp_path / "out").read_text().split("\n")
    # One line per word, with the gold tag and the prediction.
    assert [len(line.split(" ")) for line in lines if line] == [3] * 11
    assert lines[0].startswith("the O ")


def test_feature_based_gives_a_row_of_table_7(
    folder, encoder, data, tmp_path, run_json, monkeypatch, capsys
):
    from keras_bert.models import bert_feature_tagger

    rows = bert_feature_tagger.TABLE_7
    # The six rows of table 7 of the paper.
    assert [row[3] for row in rows] == [91.0, 95.6, 94.9, 95.9, 96.1, 95.5]
    monkeypatch.setattr(bert_feature_tagger, "TABLE_7", rows[4:5])
    words = ["ablate", "feature-based", "--data", data / "ner"]
    words += ["--units", "4", "--batch-size", "3", "--sequence-length", "16"]
    words += ["--epochs", "2", "--learning-rate", "0.01", "--seeds", "1"]
    # A run of two blocks has no "last four": said before any training.
    code = main([*map(str, words), "--model", f"{folder}/run", "-o", "none"])
    assert code == 2 and "`--model`" in capsys.readouterr().err
    words += ["--model", encoder]
    code, result = run_json(*words, "-o", tmp_path / "table")
    assert code == 0
    (row,) = result["rows"]
    assert (row["layers"], row["paper"]) == ("concat last four hidden", 96.1)
    assert 0 <= row["dev_f1"] <= 100
    (record,) = json.loads((tmp_path / "table/result.json").read_text())["runs"]
    # Four sentences in batches of 3, two epochs.
    assert record["steps"] == 4
    # The same command again trains nothing and says the same.
    before = (tmp_path / "table/records.jsonl").read_text()
    assert run_json(*words, "-o", tmp_path / "table") == (0, result)
    assert (tmp_path / "table/records.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": [{"text": "fox", "answer_start": 15}]}, "stands at 10"),
        ({"answers": [{"text": "cat", "answer_start": 10}]}, "does not occur"),
        # A space stands before the full stop and after it.
        (
            {"answers": [{"text": " ", "answer_start": CONTEXT.index(".")}]},
            "stands at 35 and 37, either",
        ),
        ({"id": "q1"}, "ids that occur once"),
        ({"question": None}, "a string `question`"),
    ],
)
def test_bad_questions_are_named_with_file_and_option(
    folder, tmp_path, capsys, change, message
):
    questions = _questions(3)
    questions["data"][0]["paragraphs"][0]["qas"][0].update(change)
    for split in ("train", "dev"):
        path = tmp_path / f"{split}.json"
        path.write_text(json.dumps(questions))
    words = ["finetune", "squad-v1", "--data", str(tmp_path), "-o"]
    words += [f"{tmp_path}/out", "--model", f"{folder}/run"]
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "`--data`" in error and "train.json" in error and message in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "squad-v2", "--context", "document"], "--context"),
        (["evaluate", "squad-v2", "--doc-stride", "30"], "doc_stride"),
        (["evaluate", "squad-v1", "--null-threshold", "1"], "null-threshold"),
        (["evaluate", "ner"], "--model"),
        (["evaluate", "ner", "--model", "another"], "one model"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    squad_run, data, words, message, capsys
):
    kind = "ner" if "ner" in words else "squad"
    more = [] if "--model" in words else ["--model"]
    words = [*words, *more, str(squad_run), "--data", f"{data}/{kind}"]
    assert main(words) == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert message in error
