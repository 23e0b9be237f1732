"""GLUE's files in their original layouts, metrics, submissions.

Counts of real files are those of the table of sizes in the GLUE paper (Wang
et al., 2019) and of the data cards; hand-made files follow the headers of the
download.
"""

import numpy as np
import pytest

from keras_bert.tasks import glue
from keras_bert.tasks.glue import GLUE_TASKS

TASKS = {task.name: task for task in GLUE_TASKS}


def _write(folder, name, *lines, end="\n"):
    path = folder / name
    text = end.join("\t".join(line) for line in lines) + end
    path.write_bytes(text.encode("utf-8"))
    return path


# (folder, file, rows, label counts): label counts from the data cards.
REAL = [
    ("cola", "CoLA/train.tsv", 8551, {"1": 6023, "0": 2528}),
    ("cola", "CoLA/dev.tsv", 1043, {"1": 721, "0": 322}),
    ("cola", "CoLA/test.tsv", 1063, None),
    ("sst-2", "SST-2/train.tsv", 67349, {"1": 37569, "0": 29780}),
    ("sst-2", "SST-2/dev.tsv", 872, {"1": 444, "0": 428}),
    ("sst-2", "SST-2/test.tsv", 1821, None),
    ("qnli", "QNLI/dev.tsv", 5463, {"entailment": 2702,
                                    "not_entailment": 2761}),
    ("wnli", "WNLI/train.tsv", 635, {"0": 323, "1": 312}),
    ("wnli", "WNLI/dev.tsv", 71, {"0": 40, "1": 31}),
    ("wnli", "WNLI/test.tsv", 146, None),
]  # fmt: skip


@pytest.mark.parametrize(("task", "file", "rows", "labels"), REAL)
def test_published_files_have_their_published_sizes(
    shared, task, file, rows, labels
):
    found = glue.read(task, shared / "glue" / file)
    assert found["ids"] == list(range(rows))
    assert found["notes"] == []
    if labels is None:
        assert found["y"] is None
    else:
        assert {y: found["y"].count(y) for y in set(found["y"])} == labels


def test_the_quirks_of_the_published_files(shared):
    folder = shared / "glue"
    cola = glue.read("cola", folder / "CoLA" / "train.tsv")
    # The first line is data, and a control character stays in its sentence.
    assert cola["x"][0].startswith("Our friends won't buy this analysis")
    assert sum("\b" in text for text in cola["x"]) == 3
    mnli = glue.read("mnli", folder / "MNLI" / "dev_matched.tsv")
    first = (folder / "MNLI" / "dev_matched.tsv").read_text().split("\n")[1]
    cells = first.split("\t")
    assert (mnli["x"][0][0], mnli["x"][1][0]) == (cells[8], cells[9])
    assert mnli["y"][0] == cells[15]
    test = glue.read("mnli", folder / "MNLI" / "test_mismatched.tsv")
    assert test["y"] is None and len(test["ids"]) == 5
    # Premise first, hypothesis second, as in the original.
    assert TASKS["mnli"].dev == ("dev_matched", "dev_mismatched")


MRPC = ["\ufeffQuality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
STSB = ["index", "genre", "filename", "year", "old_index", "source1",
        "source2", "sentence1", "sentence2", "score"]  # fmt: skip
QQP = ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]


def test_mrpc_has_a_byte_order_mark_and_stray_quotes(tmp_path):
    rows = [
        MRPC,
        ["1", "7", "8", 'He said "no .', "No ,"],
        ["0", "9", "10", "c", "d"],
    ]
    path = _write(tmp_path, "train.tsv", *rows, end="\r\n")
    found = glue.read("mrpc", path)
    assert found["x"] == (['He said "no .', "c"], ["No ,", "d"])
    assert found["y"] == ["1", "0"]
    test = [["\ufeffindex", *MRPC[1:]], ["0", "1", "2", "e", "f"]]
    found = glue.read("mrpc", _write(tmp_path, "test.tsv", *test))
    assert found["x"] == (["e"], ["f"]) and found["y"] is None


def test_sts_b_has_floats_in_the_last_column(tmp_path):
    row = ["0", "g", "f", "2012", "1", "s", "s", "a", "b", "2.500"]
    found = glue.read("sts-b", _write(tmp_path, "dev.tsv", STSB, row))
    assert found["x"] == (["a"], ["b"]) and found["y"] == [2.5]
    found = glue.read(
        "sts-b", _write(tmp_path, "test.tsv", STSB[:-1], row[:-1])
    )
    assert found["x"] == (["a"], ["b"]) and found["y"] is None
    for wrong in ("5.5", "-1", "nan", "high"):
        path = _write(tmp_path, "dev.tsv", STSB, row, [*row[:-1], wrong])
        with pytest.raises(ValueError, match="`label`.*0 to 5 in line 3"):
            glue.read("sts-b", path)


def test_qqp_rows_without_all_columns_are_left_out_and_counted(tmp_path):
    rows = [QQP, ["0", "1", "2", "a", "b", "1"], ["1", "3", "cut"],
            ["2", "5", "6", "c", "d", "0"]]  # fmt: skip
    found = glue.read("qqp", _write(tmp_path, "train.tsv", *rows))
    assert found["x"] == (["a", "c"], ["b", "d"]) and found["y"] == ["1", "0"]
    assert found["ids"] == [0, 2]
    (note,) = found["notes"]
    assert "1 rows left out" in note and "line 3" in note
    # In a test file every row keeps its place.
    rows = [["id", "question1", "question2"], ["0", "a", "b"], ["1", "c"]]
    found = glue.read("qqp", _write(tmp_path, "test.tsv", *rows))
    assert found["x"] == (["a", "c"], ["b", ""]) and found["ids"] == [0, 1]
    assert len(found["notes"]) == 1


def test_rows_without_a_gold_label_are_left_out_and_counted(tmp_path):
    header = [f"c{i}" for i in range(8)]
    header = [*header, "sentence1", "sentence2", "label1", "gold_label"]
    rows = [[*"01234567", f"p{y}", f"h{y}", "neutral", y]
            for y in ("neutral", "-", "contradiction")]  # fmt: skip
    found = glue.read("mnli", _write(tmp_path, "train.tsv", header, *rows))
    assert found["y"] == ["neutral", "contradiction"]
    assert (
        found["ids"] == [0, 2] and "without a gold label" in found["notes"][0]
    )


def test_columns_are_found_by_the_names_of_the_header(tmp_path):
    rows = [["label", "sentence2", "sentence1", "index"],
            ["entailment", "b", "a", "0"]]  # fmt: skip
    found = glue.read("rte", _write(tmp_path, "dev.tsv", *rows))
    assert found["x"] == (["a"], ["b"]) and found["y"] == ["entailment"]


def test_xnli_is_read_by_language(tmp_path):
    header = ["language", "gold_label", "b1", "b2", "p1", "p2", "sentence1",
              "sentence2", "promptID"]  # fmt: skip
    rows = [["de", "neutral", *"abcd", "eins", "zwei", "1"],
            ["zh", "contradiction", *"abcd", "一", "二", "2"]]  # fmt: skip
    dev = _write(tmp_path, "xnli.dev.tsv", header, *rows)
    found = glue.read("xnli", dev, language="zh")
    assert found["x"] == (["一"], ["二"]) and found["y"] == ["contradiction"]
    assert len(glue.read("xnli", dev)["ids"]) == 2
    (tmp_path / "multinli").mkdir()
    for language in ("zh", "de"):
        _write(tmp_path / "multinli", f"multinli.train.{language}.tsv",
               ["premise", "hypo", "label"],
               [f"{language} a", "b", "contradictory"])  # fmt: skip
    found = TASKS["xnli"].read(tmp_path, "train", language="zh")
    assert found["x"] == (["zh a"], ["b"]) and found["y"] == ["contradiction"]
    with pytest.raises(ValueError, match="language"):
        TASKS["xnli"].read(tmp_path, "train")
    with pytest.raises(ValueError, match="of the language fr"):
        glue.read("xnli", dev, language="fr")


def test_the_diagnostic_set_with_and_without_labels(tmp_path):
    rows = [["index", "sentence1", "sentence2"], ["0", "a", "b"]]
    _write(tmp_path, "diagnostic.tsv", *rows)
    found = TASKS["ax"].read(tmp_path, "diagnostic")
    assert found["x"] == (["a"], ["b"]) and found["y"] is None
    full = ["Lexical Semantics", "Predicate-Argument Structure", "Logic",
            "Knowledge", "Domain", "Premise", "Hypothesis",
            "Label"]  # fmt: skip
    row = ["", "", "", "", "News", "a", "b", "entailment"]
    _write(tmp_path, "diagnostic-full.tsv", full, row)
    found = TASKS["ax"].read(tmp_path, "diagnostic-full")
    assert found["x"] == (["a"], ["b"]) and found["y"] == ["entailment"]
    with pytest.raises(ValueError, match="mnli"):
        TASKS["ax"].model_arguments(found)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
def test_users_34_rows_in_are_rows_out_with_and_without_a_header(
    tmp_path, end, header
):
    rows = [["index", "question", "sentence", "label"]] * header
    texts = ['"so', "two\u2028lines", "c"]
    rows += [[str(i), t, "b", "entailment"] for i, t in enumerate(texts)]
    found = glue.read("qnli", _write(tmp_path, "dev.tsv", *rows, end=end))
    assert found["x"] == (texts, ["b"] * 3) and found["ids"] == [0, 1, 2]


def test_bad_files_name_file_line_expected_and_found(tmp_path):
    header = ["index", "question", "sentence", "label"]
    good = ["0", "a", "b", "entailment"]
    path = _write(tmp_path, "dev.tsv", header, good, good[:2])
    with pytest.raises(ValueError, match="4 columns in line 3 of .*dev.tsv.*2"):
        glue.read("qnli", path)
    path = _write(tmp_path, "dev.tsv", header, [*good[:3], "maybe"])
    with pytest.raises(ValueError, match="entailment, .*line 2.*maybe"):
        glue.read("qnli", path)
    path = _write(tmp_path, "test.tsv", header, good)
    with pytest.raises(ValueError, match="test file without labels"):
        glue.read("qnli", path)
    assert glue.read("qnli", path, split="dev")["y"] == ["entailment"]
    path = _write(tmp_path, "dev.tsv", header[:3], good[:3])
    with pytest.raises(ValueError, match="a file with labels"):
        glue.read("qnli", path)
    for content in ("", "\t".join(header) + "\n"):
        (tmp_path / "dev.tsv").write_text(content)
        with pytest.raises(ValueError, match="at least one row"):
            glue.read("qnli", tmp_path / "dev.tsv")
    (tmp_path / "dev.tsv").write_bytes(b"0\t\xff\tb\tentailment\n")
    with pytest.raises(ValueError, match="UTF-8"):
        glue.read("qnli", tmp_path / "dev.tsv")
    with pytest.raises(ValueError, match="existing file"):
        glue.read("qnli", tmp_path / "none.tsv")
    with pytest.raises(ValueError, match="`task`"):
        glue.read("boolq", tmp_path / "dev.tsv")


def test_scores_by_hand():
    y, found = ["1", "1", "0", "0"], ["1", "0", "0", "0"]
    # tp 1, fn 1, tn 2, fp 0.
    assert glue.score("mrpc", y, found) == {
        "accuracy": 0.75, "f1": pytest.approx(2 / 3),
    }  # fmt: skip
    expected = (1 * 2 - 0 * 1) / np.sqrt(1 * 2 * 2 * 3)
    assert glue.score("cola", y, found) == {"matthews": pytest.approx(expected)}
    # No NaN, and no reward, for one answer to everything.
    assert glue.score("cola", y, ["1"] * 4) == {"matthews": 0.0}
    assert glue.score("sts-b", [1.0, 2.0], [3.0, 3.0]) == {
        "pearson": 0.0, "spearman": 0.0,
    }  # fmt: skip
    # Monotonous but not linear: x, x^2.
    found = glue.score("sts-b", [0, 1, 2, 3], [0, 1, 4, 9])
    expected = np.corrcoef([0, 1, 2, 3], [0, 1, 4, 9])[0, 1]
    assert found["spearman"] == pytest.approx(1.0)
    assert found["pearson"] == pytest.approx(expected)


def test_class_ids_and_names_score_alike():
    names = ["contradiction", "neutral", "entailment"]
    assert glue.score("mnli", names, np.array([0, 2, 1])) == {"accuracy": 1.0}
    assert glue.score("mnli", names, [0, 1, 2]) == {"accuracy": 1 / 3}
    with pytest.raises(ValueError, match="`y_pred`.*labels out of"):
        glue.score("mnli", names, ["neutral", "no", "yes"])
    with pytest.raises(ValueError, match="`y_pred`"):
        glue.score("mnli", names, ["neutral"])


def test_two_metrics_are_averaged_beside_the_commonest_label():
    figures = glue.figures("mrpc", ["1", "1", "0"], ["1", "1", "1"])
    # Accuracy 2/3 and F1 4/5, which is also what always saying 1 gets.
    assert figures["score"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert figures["chance"] == figures["score"]


def test_submissions_have_the_official_form(tmp_path):
    path = tmp_path / "STS-B.tsv"
    found = {"labels": None, "scores": np.array([-0.2, 2.34567, 5.2])}
    glue.write("sts-b", {"ids": [0, 1, 2]}, found, path)
    assert path.read_text() == (
        "index\tprediction\n0\t0.000\n1\t2.346\n2\t5.000\n"
    )
    found = {"labels": ["x"], "predicted": ["neutral", "entailment"]}
    glue.write("mnli", {"ids": [0, 1]}, found, path)
    assert path.read_text() == "index\tprediction\n0\tneutral\n1\tentailment\n"
    names = [name for task in glue.GLUE.values() for name in
             task.submission.values()]  # fmt: skip
    assert set(names) - {"XNLI.tsv"} == {
        "CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QQP.tsv",
        "MNLI-m.tsv", "MNLI-mm.tsv", "QNLI.tsv", "RTE.tsv", "WNLI.tsv",
        "AX.tsv",
    }  # fmt: skip


def test_the_diagnostic_set_lies_where_the_downloads_have_it(tmp_path):
    """By itself, as its authors publish it, or in the folder of MNLI."""
    assert glue.folder_in("ax", tmp_path) is None
    (tmp_path / "AX").mkdir()
    assert glue.folder_in("ax", tmp_path) is None
    (tmp_path / "MNLI").mkdir()
    (tmp_path / "MNLI" / "diagnostic.tsv").touch()
    assert glue.folder_in("ax", tmp_path) == tmp_path / "MNLI"
    (tmp_path / "AX" / "AX.tsv").touch()
    assert glue.folder_in("ax", tmp_path) == tmp_path / "AX"
    # One of its two test files is enough, none is not.
    assert glue.folder_in("mnli", tmp_path) is None
    (tmp_path / "MNLI" / "test_mismatched.tsv").touch()
    assert glue.folder_in("mnli", tmp_path) == tmp_path / "MNLI"
