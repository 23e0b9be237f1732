"""Tables of texts and labels: TSV, CSV, JSONL and their quirks."""

import numpy as np
import pytest

from keras_bert.tasks import classification
from keras_bert.tasks import text


def _write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode("utf-8"))
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "text\tlabel\ngood one\tpos\nbad, one\tneg\n"),
        ("a.tsv", "text\tlabel\r\ngood one\tpos\r\nbad, one\tneg\r\n"),
        ("a.csv", 'label,text\npos,good one\nneg,"bad, one"\n'),
        ("a.csv", '\ufefflabel,text\npos,good one\nneg,"bad, one"'),
        (
            "a.jsonl",
            '{"text": "good one", "label": "pos"}\n\n'
            '{"text": "bad, one", "label": "neg"}',
        ),
    ],
)
def test_every_format_gives_the_same_rows(tmp_path, name, content):
    rows = text.read(_write(tmp_path, name, content))
    assert rows == {
        "x": ["good one", "bad, one"],
        "y": ["pos", "neg"],
        "ids": [0, 1],
        "notes": [],
    }


def test_users_34_a_stray_quote_eats_no_row(tmp_path):
    path = _write(
        tmp_path, "a.tsv", 'text\tlabel\n"so he said\t1\nplain\t0\nlast\t1\n'
    )
    rows = text.read(path)
    assert rows["x"] == ['"so he said', "plain", "last"]
    assert rows["ids"] == [0, 1, 2]


def test_quoted_line_breaks_stay_inside_a_cell(tmp_path):
    path = _write(tmp_path, "a.csv", 'text,label\n"two\nlines",1\nx,0\n')
    assert text.read(path)["x"] == ["two\nlines", "x"]


def test_pairs_numbers_and_empty_cells(tmp_path):
    path = _write(
        tmp_path,
        "a.jsonl",
        '{"text": 7, "text_pair": null, "label": 1.5}\n'
        '{"text": "", "text_pair": "b", "label": 2}\n',
    )
    rows = text.read(path)
    assert rows["x"] == (["7", ""], ["", "b"])
    assert rows["y"] == [1.5, 2]
    # A null is no text that anybody wrote: it is told.
    assert "1 null in `text_pair`" in rows["notes"][0]


def test_a_file_without_a_header_is_read_by_places(tmp_path):
    path = _write(tmp_path, "a.tsv", "1\tgood\n0\tbad\n1\tfine\n")
    rows = text.read(path, text="1", label="0")
    assert rows["x"] == ["good", "bad", "fine"] and rows["y"] == ["1", "0", "1"]
    with pytest.raises(ValueError, match="`label`.*a column of"):
        text.read(path, text="1", label="2")


def test_columns_by_name(tmp_path):
    path = _write(tmp_path, "a.csv", "q,a,kind\none,two,x\n")
    rows = text.read(path, text="q", text_pair="a", label="kind")
    assert rows["x"] == (["one"], ["two"]) and rows["y"] == ["x"]
    assert text.read(path, text="a")["y"] is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "text\tlabel\na\t1\nb\n", "2 columns in line 3"),
        ("a.csv", "text\n", "at least one row"),
        ("a.csv", "body\nx\n", "`text`.*a column of"),
        ("a.jsonl", '{"text": "a"}\nnot json\n', "JSON in line 2"),
        ("a.jsonl", '{"text": "a"}\n{"body": "b"}\n', "line 2.*keys"),
        ("a.jsonl", '{"text": "a", "label": null}\n', "`label`.*row 0"),
        ("a.csv", "text,text\na,b\n", "distinct column names"),
        ("a.txt", "x", "tsv, .csv or .jsonl"),
        ("a.csv", "text\n\0\n", "NUL"),
    ],
)
def test_bad_tables_name_file_and_line(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        text.read(_write(tmp_path, name, content))


def test_not_utf8_and_missing_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text\ncaf\u00e9\n".encode("latin-1"))
    with pytest.raises(ValueError, match="UTF-8"):
        text.read(path)
    with pytest.raises(ValueError, match="existing file"):
        text.read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="train.tsv"):
        text.find(tmp_path, "train")


DEFAULTS = {"text": "text", "text_pair": "text_pair", "label": "label"}


@pytest.mark.parametrize("value", ["high", "nan", "inf"])
def test_targets_of_a_regression_are_finite_numbers(tmp_path, value):
    path = tmp_path / "train.csv"
    path.write_text(f"text,label\na,1e-3\nb,{value}\n")
    with pytest.raises(ValueError, match=r"`label`.*row 1 of .*train\.csv"):
        text.TASK.read(path, "train", **DEFAULTS, regression=True)
    path.write_text("text,label\na,1e-3\nb,-2\n")
    rows = text.TASK.read(path, "train", **DEFAULTS, regression=True)
    assert rows["y"] == [0.001, -2.0]


def test_an_ensemble_is_the_mean_of_the_probabilities():
    one, two = (
        classification.of_scores(["a", "b"], np.array([p]))
        for p in ([0.6, 0.4], [0.1, 0.9])
    )
    found = classification.combine([one, two])
    # (0.6 + 0.1) / 2 and (0.4 + 0.9) / 2
    assert found["scores"] == pytest.approx(np.array([[0.35, 0.65]]))
    assert one["predicted"] == ["a"] and found["predicted"] == ["b"]
    two["labels"] = ["b", "a"]
    with pytest.raises(ValueError, match="`model`.*labels"):
        classification.combine([one, two])
