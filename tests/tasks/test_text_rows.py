"""Tables of text at their edges: quotes, blank lines, broken numbers."""

import csv
import json
import math

import numpy as np
import pytest

from keras_bert.tasks import classification
from keras_bert.tasks import swag
from keras_bert.tasks import text

COLUMNS = {"text": "text", "text_pair": "text_pair", "label": "label"}


def _write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode("utf-8"))
    return path


def test_users_34_quotes_that_pair_up_over_lines_eat_no_row(tmp_path):
    path = _write(
        tmp_path,
        "a.tsv",
        'text\tlabel\n"I went home.\t1\nThen I slept."\t0\nplain\t1\n',
    )
    rows = text.read(path)
    assert rows["x"] == ['"I went home.', 'Then I slept."', "plain"]
    assert rows["y"] == ["1", "0", "1"]
    # With three columns as well.
    path = _write(tmp_path, "a.tsv", 'a\ttext\tb\n1\t"x\t2\n3\ty"\t4\n')
    assert text.read(path)["x"] == ['"x', 'y"']


@pytest.mark.parametrize(
    "content",
    [
        'text\tlabel\n"two\nlines"\t1\n"a ""b"""\t0\n',
        'label\ttext\n1\t"two\nlines"\n0\t"a ""b"""\n',
        # One column: each line would be a row, which is no proof.
        'text\n"two\nlines"\n"a ""b"""\n',
    ],
)
def test_a_quoted_line_break_in_a_tsv_stays_in_its_cell(tmp_path, content):
    rows = text.read(_write(tmp_path, "a.tsv", content))
    assert rows["x"] == ["two\nlines", 'a "b"']


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_one_column_is_an_empty_text(tmp_path, name, end):
    lines = ["text", "foo", "", "", "bar", "", ""]
    rows = text.read(_write(tmp_path, name, end.join(lines)))
    assert rows["x"] == ["foo", "", "", "bar"] and rows["ids"] == [0, 1, 2, 3]
    lines = ["", "text,label".replace(",", ",\t"[name == "a.tsv"]), ""]
    lines += ["foo\t1" if name == "a.tsv" else "foo,1", ""]
    assert text.read(_write(tmp_path, name, end.join(lines)))["x"] == ["foo"]


def test_suffixes_in_upper_case_are_suffixes(tmp_path):
    for name, content in (
        ("TEST.TSV", "text\ta\nx\ty\n"),
        ("DATA.CSV", "text,a\nx,y\n"),
        ("D.JSONL", '{"text": "x"}\n'),
    ):
        assert text.read(_write(tmp_path, name, content))["x"] == ["x"]
    _write(tmp_path, "train.CSV", "text,label\nx,y\n")
    assert text.find(tmp_path, "train").name == "train.CSV"


def test_a_cell_may_be_longer_than_the_csv_module_likes(tmp_path):
    before = csv.field_size_limit()
    assert before < 200_000
    path = _write(tmp_path, "a.csv", "text,label\n" + "x" * 200_000 + ",1\n")
    assert text.read(path)["x"] == ["x" * 200_000]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("label", ["null", '{"a": 1}', '""'])
def test_labels_do_not_matter_where_rows_are_predicted(tmp_path, label):
    path = _write(tmp_path, "a.jsonl", f'{{"text": "a", "label": {label}}}\n')
    rows = text.TASK.read(path, "test", **COLUMNS)
    assert rows["x"] == ["a"] and rows["y"] is None
    with pytest.raises(ValueError, match="label"):
        text.TASK.read(path, "dev", **COLUMNS)
    # Nor need there be a column of them.
    path = _write(tmp_path, "a.csv", "text,kind\na,b\n")
    other = {**COLUMNS, "label": "same"}
    assert text.TASK.read(path, "test", **other)["x"] == ["a"]
    with pytest.raises(ValueError, match="`label`.*a column of"):
        text.TASK.read(path, "dev", **other)


def test_a_test_file_of_swag_may_have_any_label(tmp_path):
    path = _write(tmp_path, "a.csv", "sent1,ending0,ending1,label\na,b,c,-1\n")
    rows = swag.TASK.read(path, "test")
    assert rows["x"] == (["a"], [["b", "c"]]) and rows["y"] is None
    with pytest.raises(ValueError, match="`label`"):
        swag.TASK.read(path, "dev")


def test_half_a_surrogate_pair_can_be_written_again(tmp_path):
    path = _write(
        tmp_path,
        "a.jsonl",
        r'{"text": "a\ud800b", "label": "x\udc00"}' + "\n"
        r'{"text": "\ud83d\ude00", "label": "x"}' + "\n",
    )
    rows = text.TASK.read(path, "dev", **COLUMNS)
    assert rows["x"] == ["ab", "\U0001f600"] and rows["y"] == ["x", "x"]
    found = classification.of_scores(["x", "y"], np.array([[0.1, 0.9]] * 2))
    classification.report(rows, found, tmp_path)
    lines = (tmp_path / "misread.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == rows["x"]


def _strict(value):
    raise AssertionError(f"{value} is no JSON")


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200])
def test_a_regression_that_diverged_has_the_least_score_in_json(
    tmp_path, value
):
    rows = {"x": ["a", "b"], "y": [0.0, 2.0], "ids": [0, 1]}
    found = classification.of_scores(None, np.array([0.0, value]))
    figures = classification.score(rows, found)
    assert figures["score"] == classification.WORST and figures["mse"] is None
    json.dumps(figures, allow_nan=False)
    classification.report(rows, found, tmp_path)
    classification.write(rows, found, tmp_path / "a.jsonl")
    for name, count in (("misread.jsonl", 1), ("a.jsonl", 2)):
        lines = (tmp_path / name).read_text().splitlines()
        assert len(lines) == count
        for line in lines:
            json.loads(line, parse_constant=_strict)
    # A run that learned nothing is better: the mean explains 0.
    found = classification.of_scores(None, np.array([1.0, 1.0]))
    assert classification.score(rows, found)["score"] == 0.0


def test_probabilities_of_a_model_that_diverged_are_null(tmp_path):
    rows = {"x": ["a"], "y": ["y"], "ids": [0]}
    found = classification.of_scores(["x", "y"], np.array([[math.nan] * 2]))
    classification.report(rows, found, tmp_path)
    line = json.loads((tmp_path / "misread.jsonl").read_text())
    assert line["predicted"] == "x" and line["probability"] is None
