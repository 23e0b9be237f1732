"""Headers of other tasks, and where the downloads keep their files.

The layouts are those of the downloads: Microsoft's package of MRPC, the two
packages of XNLI, and the exports of Hugging Face's data sets.
"""

import pytest

from keras_bert.tasks import glue
from keras_bert.tasks.glue import GLUE_TASKS

TASKS = {task.name: task for task in GLUE_TASKS}


def _write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join("\t".join(one) + "\n" for one in lines).encode())
    return path


RTE = ["index", "sentence1", "sentence2", "label"]
QNLI = ["index", "question", "sentence", "label"]
# Task, name of the file, header and row of another data set.
FOREIGN = {
    "mnli of RTE": ("mnli", "train.tsv", RTE, "0 a b entailment"),
    "qqp of RTE": ("qqp", "train.tsv", RTE, "0 a b entailment"),
    "mrpc of WNLI": ("mrpc", "train.tsv", RTE, "0 a b 1"),
    "mrpc of RTE": ("mrpc", "test.tsv", RTE[:3], "0 a b"),
    "qqp test of RTE": ("qqp", "test.tsv", RTE[:3], "0 a b"),
    "cola with a header": ("cola", "train.tsv", ["text", "label"], "a 1"),
    "cola by any name": ("cola", "any.tsv", ["text", "label"], "a 1"),
    "sts-b exported": ("sts-b", "train.tsv",
                       ["sentence1", "sentence2", "label", "idx"], "a b 5 0"),
    "qqp exported": ("qqp", "train.tsv",
                     ["question1", "question2", "label", "idx"], "a b 1 0"),
    "a pair": ("mnli", "any.tsv", ["id", "premise", "hypothesis"], "0 a b"),
    # As many columns, so only the names tell.
    "qnli of RTE": ("qnli", "train.tsv", RTE, "0 a b entailment"),
    "rte of QNLI": ("rte", "train.tsv", QNLI, "0 a b entailment"),
    "xnli in another order": ("xnli", "any.tsv",
                              ["sentence1", "sentence2", *"abcdef"],
                              "a b neutral d e f g h"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOREIGN)
def test_a_header_of_other_columns_is_refused(tmp_path, case):
    task, name, header, row = FOREIGN[case]
    path = _write(tmp_path / name, header, row.split())
    with pytest.raises(ValueError, match="`data`.*columns.*in line 1") as info:
        glue.read(task, path)
    assert str(path) in str(info.value) and ", ".join(header) in str(info.value)


def test_a_header_of_names_that_no_task_has_is_read_by_places(shared, tmp_path):
    # SST-2 is also handed round under the names text and label, the test
    # file too, where they stand over the number and the sentence.
    folder = shared / "glue" / "SST-2"
    for split in ("train", "dev", "test"):
        path = folder / f"{split}.tsv"
        lines = path.read_text("utf-8").split("\n")
        assert lines[0] == "text\tlabel"
        cells = lines[1].split("\t")
        found = glue.read("sst-2", path)
        assert found["x"][0] == cells[split == "test"]
    path = _write(tmp_path / "dev.tsv", ["id", "one", "two", "gold"],
                  ["0", "a", "b", "entailment"])  # fmt: skip
    found = glue.read("rte", path)
    assert found["x"] == (["a"], ["b"]) and found["y"] == ["entailment"]
    # MNLI's gold label is the last of however many columns.
    row = [*"01234567", "p", "h", "neutral", "x", "entailment"]
    path = _write(tmp_path / "dev.tsv", ["id", *map(str, range(1, 13))], row)
    found = glue.read("mnli", path)
    assert found["x"] == (["p"], ["h"]) and found["y"] == ["entailment"]


def test_a_split_that_does_not_exist_is_refused(tmp_path):
    path = _write(tmp_path / "dev.tsv", RTE, ["0", "a", "b", "entailment"])
    with pytest.raises(ValueError, match="`split`.*train.*validation"):
        glue.read("rte", path, split="validation")


def test_blank_lines_of_one_column_are_rows_in_a_test_file(tmp_path):
    path = _write(tmp_path / "test.tsv", ["sentence"], ["a"], [""], ["b"])
    found = glue.read("cola", path)
    assert found["x"] == ["a", "", "b"] and found["ids"] == [0, 1, 2]
    # With two columns a blank line holds no row.
    path = _write(tmp_path / "test.tsv", ["index", "sentence"], ["0", "a"],
                  [""], ["1", "b"], [""])  # fmt: skip
    assert glue.read("cola", path)["x"] == ["a", "b"]


MSR = ["\ufeffQuality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
# Quality and ids; the texts are named after the ids.
PAIRS = [("1", "1", "2"), ("0", "2", "1"), ("1", "3", "4"), ("0", "1", "3")]


def _msr(*pairs):
    return [MSR, *([y, a, b, f"t{a}", f"u{b}"] for y, a, b in pairs)]


@pytest.mark.parametrize("ids", ["dev_ids.tsv", "mrpc_dev_ids.tsv"])
def test_mrpc_as_microsoft_publishes_it(tmp_path, ids):
    train = _write(tmp_path / "msr_paraphrase_train.txt", *_msr(*PAIRS))
    test = _write(tmp_path / "msr_paraphrase_test.txt", *_msr(*PAIRS[:2]))
    assert glue.read("mrpc", train)["x"][0] == ["t1", "t2", "t3", "t1"]
    # The test file of the package holds the labels.
    assert glue.read("mrpc", test)["y"] == ["1", "0"]
    task = TASKS["mrpc"]
    assert len(task.read(tmp_path, "train")["ids"]) == 4
    assert len(task.read(tmp_path, "test")["ids"]) == 2
    with pytest.raises(ValueError, match="dev.tsv or dev_ids.tsv"):
        task.read(tmp_path, "dev")
    # The first pair, and no other that holds one of its ids.
    _write(tmp_path / ids, ["1", "2"])
    found = {name: task.read(tmp_path, name) for name in ("train", "dev")}
    assert found["dev"]["x"] == (["t1"], ["u2"])
    assert found["train"]["x"] == (["t2", "t3", "t1"], ["u1", "u4", "u3"])
    assert found["train"]["ids"] == [1, 2, 3]
    # Parted files are taken as they are.
    for name in ("train", "dev"):
        _write(tmp_path / f"{name}.tsv", *_msr(PAIRS[0]))
    for name in ("train", "dev"):
        assert len(task.read(tmp_path, name)["ids"]) == 1
    _write(tmp_path / ids, ["1"])
    (tmp_path / "dev.tsv").unlink()
    with pytest.raises(ValueError, match="2 columns, .*line 1 of .*dev_ids"):
        task.read(tmp_path, "dev")


def test_mrpc_of_microsoft_is_found_among_all_data_sets(tmp_path):
    path = tmp_path / "MSRParaphraseCorpus" / "msr_paraphrase_test.txt"
    _write(path, *_msr(PAIRS[0]))
    assert glue.folder_in("mrpc", tmp_path) == path.parent
    _write(tmp_path / "MRPC" / "test.tsv", *_msr(PAIRS[0]))
    assert glue.folder_in("mrpc", tmp_path) == tmp_path / "MRPC"


def test_xnli_is_found_as_its_packages_unpack(tmp_path):
    header = ["language", "gold_label", *"abcd", "sentence1", "sentence2"]
    for split in ("dev", "test"):
        _write(tmp_path / "XNLI-1.0" / f"xnli.{split}.tsv", header,
               ["zh", "neutral", *"abcd", split, "h"])  # fmt: skip
    place = tmp_path / "XNLI-MT-1.0" / "multinli"
    for language in ("zh", "de"):
        _write(place / f"multinli.train.{language}.tsv",
               ["premise", "hypo", "label"], [language, "h", "neutral"],
               )  # fmt: skip
    read = TASKS["xnli"].read
    assert read(tmp_path, "dev", language="zh")["x"] == (["dev"], ["h"])
    assert read(tmp_path, "test", language="zh")["x"] == (["test"], ["h"])
    assert read(tmp_path, "train", language="de")["x"] == (["de"], ["h"])
    with pytest.raises(ValueError, match="`data`.*xnli.more.tsv"):
        glue.find("xnli", tmp_path, "more")


def test_xnli_can_be_predicted_without_labels(tmp_path):
    task = TASKS["xnli"]
    lines = [["premise", "hypo"], ["a", "b"]]
    for rows in (lines, lines[1:]):
        found = task.read(_write(tmp_path / "new.tsv", *rows), "test")
        assert found["x"] == (["a"], ["b"]) and found["y"] is None
    with pytest.raises(ValueError, match="a file with labels"):
        task.read(_write(tmp_path / "new.tsv", *lines), "dev")
    # The test set of XNLI has labels, under any name.
    lines = [["premise", "hypo", "label"], ["a", "b", "neutral"]]
    found = task.read(_write(tmp_path / "test.tsv", *lines), "test")
    assert found["x"] == (["a"], ["b"])


@pytest.mark.parametrize("names", ["sentence1 sentence2", "Premise Hypothesis",
                                   "premise hypothesis"])  # fmt: skip
def test_the_diagnostic_set_goes_by_several_names(tmp_path, names):
    first, second = names.split()
    path = _write(tmp_path / "AX.tsv", [second, "id", first], ["b", "0", "a"])
    assert TASKS["ax"].read(path, "diagnostic")["x"] == (["a"], ["b"])


def test_the_diagnostic_set_is_not_trained_on(tmp_path):
    """MNLI's folder holds a file that ax could take for its own."""
    with pytest.raises(ValueError, match="`task`.*mnli"):
        TASKS["ax"].read(tmp_path, "train")
