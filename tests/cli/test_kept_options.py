"""What evaluate and predict take from the run, and zips of GLUE."""

import json
import zipfile

import pytest

from keras_bert.cli import _tasks
from keras_bert.cli.main import build_parser
from keras_bert.cli.main import main
from keras_bert.tasks.table import TASKS


def _run_folder(path, task, settings=None):
    (path / "preset").mkdir(parents=True)
    result = {"task": task, "settings": settings or {}}
    (path / "result.json").write_text(json.dumps(result))
    return path


def _options(*words):
    args = build_parser().parse_args(list(map(str, words)))
    return _tasks.options_of(args, TASKS[args.task], args.model[0])


def test_a_text_run_remembers_its_columns(tmp_path):
    words = ["finetune", "text", "--text", "q1", "--text-pair", "q2"]
    words += ["--label", "same", "--regression", "--data", "d", "--model", "m"]
    args = build_parser().parse_args([*words, "-o", "o"])
    run = _run_folder(tmp_path / "run", "text", _tasks.settings_of(args))
    words = ["text", "--data", "d", "--model", run]
    expected = {
        "text": "q1", "text_pair": "q2", "label": "same", "regression": True,
    }  # fmt: skip
    assert _options("evaluate", *words) == expected
    given = _options("predict", *words, "-o", "o", "--label", "other")
    assert given == {**expected, "label": "other"}
    # What is to be predicted has no label yet, and is read as a pair.
    (tmp_path / "new.csv").write_text("q1,q2\na,b\n")
    rows = TASKS["text"].read(tmp_path / "new.csv", "test", **given)
    assert rows["x"] == (["a"], ["b"])
    args = build_parser().parse_args(
        ["finetune", "text", "--data", "d", "--model", "m", "-o", "o"]
    )
    plain = _run_folder(tmp_path / "plain", "text", _tasks.settings_of(args))
    assert _options("evaluate", "text", "--data", "d", "--model", plain) == {
        "text": "text", "text_pair": "text_pair", "label": "label",
        "regression": False,
    }  # fmt: skip


def _write(path, *lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join("\t".join(one) + "\n" for one in lines))


def test_a_run_of_xnli_remembers_its_language(tmp_path):
    settings = {"language": "de"}
    run = _run_folder(tmp_path / "run", "xnli", settings)
    words = ["evaluate", "xnli", "--data", "d", "--model", run]
    assert _options(*words) == settings
    assert _options(*words, "--language", "fr") == {"language": "fr"}


def test_texts_are_read_in_pairs_where_the_run_was(tmp_path):
    run = _run_folder(tmp_path / "run", "text")
    single = {"x": ["a"], "y": None, "ids": [0], "notes": []}
    pair = {**single, "x": (["a"], ["b"])}
    for pairs, given in ((True, pair), (False, single), (None, pair)):
        result = {"task": "text", "pairs": pairs}
        (run / "result.json").write_text(json.dumps(result))
        assert _tasks.as_trained(run, given, "d") == given
    result = {"task": "text", "pairs": False}
    (run / "result.json").write_text(json.dumps(result))
    found = _tasks.as_trained(run, pair, "d")
    assert found["x"] == ["a"] and "left out" in found["notes"][0]
    result["pairs"] = True
    (run / "result.json").write_text(json.dumps(result))
    with pytest.raises(ValueError, match="`--data`.*two texts"):
        _tasks.as_trained(run, single, "d")


@pytest.fixture
def words(tmp_path):
    run = _run_folder(tmp_path / "run", "xnli")
    return ["predict", "glue", "--data", f"{tmp_path}", "--model", f"{run}",
            "-o", f"{tmp_path}/all.zip"]  # fmt: skip


def test_a_zip_of_nothing_is_refused(words, tmp_path, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "`--data`" in error and "test file of GLUE" in error
    assert not (tmp_path / "all.zip").exists()


def test_a_zip_tells_of_rows_that_were_mended(words, tmp_path, run_json):
    header = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]
    _write(tmp_path / "QQP" / "train.tsv", header, [*"01234", "1"])
    _write(tmp_path / "QQP" / "test.tsv", ["id", "question1", "question2"],
           ["0", "a", "b"], ["1", "cut"])  # fmt: skip
    code, result = run_json(*words)
    assert code == 0 and result["rows"] == {"QQP.tsv": 2}
    assert any("not 3 columns (line 3)" in one for one in result["notes"])
    assert any(one.startswith("xnli: no part") for one in result["notes"])
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.namelist() == ["QQP.tsv"]


@pytest.mark.parametrize("content", ["not json", "[1]"])
def test_a_run_folder_with_a_broken_result_names_the_option(
    words, tmp_path, capsys, content
):
    (tmp_path / "run" / "result.json").write_text(content)
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "`--model`" in error and "result.json" in error
