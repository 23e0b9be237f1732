"""CoNLL files with all their quirks; figures equal to conlleval."""

import json
import re

import pytest

from keras_bert.tasks import ner
from keras_bert.tasks._entities import entities
from keras_bert.tasks.table import TASKS

CONLL_2003 = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- O O

LONDON NNP I-NP I-LOC
"""
WORDS = [["EU", "rejects"], ["Peter", "Blackburn"], ["LONDON"]]
TAGS = [["I-ORG", "O"], ["I-PER", "I-PER"], ["I-LOC"]]


@pytest.fixture
def write(tmp_path):
    def write(text, name="train.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", "   "),
        lambda text: text.replace(" ", "\t\t").replace("\n\n", "\n\t\n"),
        lambda text: text.replace("\n\n", "\n \t \r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: "\ufeff\n\n" + text + "\n\n\n",
        lambda text: text.replace("-DOCSTART- -X- O O", "-DOCSTART-"),
        lambda text: re.sub(" .* ", " ", text),
    ],
    ids=[
        "original", "crlf", "tab", "spaces", "two tabs, tab lines",
        "blank lines", "no last newline", "bom", "bare docstart", "two columns",
    ],
)  # fmt: skip
def test_every_layout_of_columns_reads_the_same(write, change):
    assert ner.read(write(change(CONLL_2003))) == (WORDS, TAGS)


def test_odd_white_space_is_part_of_a_word(write):
    words, tags = ner.read(write("a\u00a0b O\nc\u2028d\tB-x\n"))
    assert words == [["a\u00a0b", "c\u2028d"]] and tags == [["O", "B-x"]]
    # A tab before the first column: the word is empty, the tag stays.
    assert ner.read(write("a\tO\n\tO\n")) == ([["a", ""]], [["O", "O"]])
    # Spaces within a word, where tabs part the columns.
    assert ner.read(write("New York\tB-x\n")) == ([["New York"]], [["B-x"]])


def test_comments_before_a_sentence_are_left_out(write):
    # The layout of GermEval 2014: number, word, outer and inner tag.
    germ = "1\tAm\tO\tO\n2\tMain\tB-LOC\tB-X\n\n"
    germ = "#\thttp://de.example [2009-10-17]\n" + germ
    assert ner.read(write(germ * 2)) == (
        [["Am", "Main"]] * 2, [["O", "B-LOC"]] * 2,
    )  # fmt: skip
    # CoNLL-2012: documents are marked by comments, between blank lines.
    part = "#begin document (a); part 000\na\t0\tB-P\n\nb\t0\tO\n\n"
    path = write((part + "#end document\n") * 2)
    assert ner.read(path) == ([["a"], ["b"]] * 2, [["B-P"], ["O"]] * 2)
    rows = TASKS["ner"].read(path, "train", context="document")
    assert rows["x"] == [["a", "b"]] * 2
    assert rows["notes"][0].startswith("4 lines of comment")
    # As wide as a word with its tag, but no tag.
    words, tags = ner.read(write("# one\na B-x\nb O\n\n# two\nc O\n"))
    assert (words, tags) == ([["a", "b"], ["c"]], [["B-x", "O"], ["O"]])


def test_a_number_sign_can_be_a_word(write):
    # As in emerging.dev.conll of WNUT-17.
    assert ner.read(write("#\tO\na\tB-x\n")) == ([["#", "a"]], [["O", "B-x"]])
    assert ner.read(write("#a\tB-x\n\nb\tO\n"))[0] == [["#a"], ["b"]]
    assert ner.read(write("#\n\nb\n"))[0] == [["#"], ["b"]]
    # Tags without prefixes cannot be told from other words.
    assert ner.read(write("#a PER\nb O\n"))[1] == [["PER", "O"]]


def test_words_alone_have_no_tags(write):
    assert ner.read(write("a\nb\n\nc\n")) == ([["a", "b"], ["c"]], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a B C O\nb B O\n", "`file`.*4 columns in line 2.*train.txt.*3 col"),
        ("a O\nb\n", "`file`.*2 columns in line 2.*1 columns"),
        ("", "`file`.*at least one word"),
        ("-DOCSTART- -X- O O\n\n", "`file`.*at least one word"),
        ("a\0 O\n", "`file`.*NUL"),
    ],
)
def test_bad_files_are_named(write, text, message):
    with pytest.raises(ValueError, match=message):
        ner.read(write(text))


def test_missing_and_misnamed_files(write, tmp_path):
    with pytest.raises(ValueError, match="`file`.*existing"):
        ner.read(tmp_path / "none")
    with pytest.raises(ValueError, match="`scheme`"):
        ner.read(write("a O\n"), scheme="iob")
    with pytest.raises(ValueError, match="`data`.*dev or valid or testa"):
        ner.find(tmp_path, "dev")


def test_the_splits_of_conll_2003_are_found(tmp_path):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).touch()
    found = [ner.find(tmp_path, s).name for s in ("train", "dev", "test")]
    assert found == ["eng.train", "eng.testa", "eng.testb"]


# Worked out by hand from the definitions of the schemes: two persons side by
# side, one of two words, then a place.
SCHEMES = {
    "iob1": ["I-P", "I-P", "B-P", "O", "I-L"],
    "iob2": ["B-P", "I-P", "B-P", "O", "B-L"],
    "bioes": ["B-P", "E-P", "S-P", "O", "S-L"],
}


@pytest.mark.parametrize("source", SCHEMES)
@pytest.mark.parametrize("target", SCHEMES)
def test_schemes_convert_both_ways(write, source, target):
    path = write("".join(f"w {tag}\n" for tag in SCHEMES[source]))
    assert ner.read(path, scheme=target)[1] == [SCHEMES[target]]
    # Without a word nothing is converted.
    assert ner.read(path)[1] == [SCHEMES[source]]


def test_tags_of_all_kinds_are_understood():
    # BILOU is BIOES with other letters.
    bilou = ["B-P", "L-P", "U-P", "O", "U-L"]
    assert ner.convert([bilou], "bioes") == [SCHEMES["bioes"]]
    # So is BMES.
    bmes = ["B-P", "M-P", "E-P", "S-P", "O"]
    assert entities(bmes) == [("P", 0, 3), ("P", 3, 4)]
    # Without a prefix neighbours of a type are one entity.
    assert entities(["P", "P", "O", "L", "U"]) == [
        ("P", 0, 2), ("L", 3, 4), ("U", 4, 5),
    ]  # fmt: skip
    # Types with hyphens; prefixes without a type; a type that changes.
    assert entities(["B-creative-work", "I-creative-work"]) == [
        ("creative-work", 0, 2)
    ]
    assert entities(["B", "I", "B"]) == [("", 0, 2), ("", 2, 3)]
    assert entities(["I-P", "I-L"]) == [("P", 0, 1), ("L", 1, 2)]


def test_figures_equal_conlleval(shared):
    folder = shared / "wnut17"
    line = (folder / "expected_conlleval.jsonl").read_text().split("\n")[0]
    expected = json.loads(line)["output"]
    words, gold = ner.read(folder / "emerging.test.annotated")
    others, predicted = ner.read(folder / "submissions/arcada")
    assert words == others
    found = ner.evaluate(gold, predicted)

    first, second, *types = expected.rstrip("\n").split("\n")
    counts = [int(number) for number in re.findall(r"\d+", first)]
    assert counts == [
        sum(map(len, words)), found["gold"], found["found"], found["correct"],
    ]  # fmt: skip
    keys = ("accuracy", "precision", "recall", "f1")
    figures = re.findall(r"\d+\.\d\d", second)
    assert [f"{found[key]:.2f}" for key in keys] == figures
    assert len(types) == len(found["types"]) == 6
    for line in types:
        kind, rest = line.strip().split(":", 1)
        *figures, count = re.findall(r"\d+\.\d\d|\d+$", rest)
        one = found["types"][kind]
        assert [f"{one[key]:.2f}" for key in keys[1:]] == figures
        assert one["found"] == int(count)


def test_the_scheme_does_not_change_the_figures(shared):
    _, gold = ner.read(shared / "wnut17/emerging.dev.conll")
    predicted = [["O"] * len(tags) for tags in gold[:5]] + gold[5:]
    plain = ner.evaluate(gold, predicted)
    bioes = ner.evaluate(gold, ner.convert(predicted, "bioes"))
    assert plain["f1"] < 100
    for key in ("precision", "recall", "f1", "types"):
        assert plain[key] == bioes[key]
    assert ner.convert(ner.convert(gold, "bioes"), "iob2") == gold


def test_nothing_predicted_is_zero_and_no_crash():
    found = ner.evaluate([["B-P", "O"]], [["O", "O"]])
    assert (found["precision"], found["recall"], found["f1"]) == (0, 0, 0)
    assert ner.evaluate([["O"]], [["O"]])["types"] == {}


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["O"]], [], "`predicted`.*1 sentences"),
        ([["O"]], [["O", "O"]], "`predicted`.*1 tags in sentence 0"),
        (["O"], [["O"]], "`gold`.*sentences"),
    ],
)
def test_bad_tags_are_named(gold, predicted, message):
    with pytest.raises(ValueError, match=message):
        ner.evaluate(gold, predicted)


def test_a_document_is_one_row_and_scored_by_sentence(write):
    task = TASKS["ner"]
    path = write(CONLL_2003)
    rows = task.read(path, "train", context="document")
    assert rows["x"] == [WORDS[0] + WORDS[1], WORDS[2]]
    assert rows["y"] == [TAGS[0] + TAGS[1], TAGS[2]]
    predictions = {"tags": rows["y"], "labels": ["O", "I-ORG", "I-PER"]}
    figures = task.score(rows, predictions)
    # Three entities in three sentences: "I-ORG O I-PER I-PER" as one
    # sentence would hold two, too; the place is a tag that training lacked.
    assert (figures["f1"], figures["gold"]) == (100.0, 3)
    assert figures["tags_not_in_training"] == {"I-LOC": 1}
    with pytest.raises(ValueError, match="`context`.*-DOCSTART-"):
        task.read(write("a O\n"), "train", context="document")
    one = write("-DOCSTART- O\n\na O\n\nb O\n")
    assert task.read(one, "train", context="document")["x"] == [["a", "b"]]


def test_predictions_are_written_for_conlleval(write, tmp_path):
    task = TASKS["ner"]
    rows = task.read(write(CONLL_2003), "test")
    predictions = {"tags": [["O", "O"], ["I-PER", "O"], ["I-LOC"]]}
    task.write(rows, predictions, tmp_path / "out")
    assert (tmp_path / "out").read_text() == (
        "EU I-ORG O\nrejects O O\n\nPeter I-PER I-PER\nBlackburn I-PER O\n\n"
        "LONDON I-LOC I-LOC\n\n"
    )
    # Where a word has a space the columns stand between tabs.
    rows = task.read(write("New York\tB-x\n"), "test")
    task.write(rows, {"tags": [["O"]]}, tmp_path / "tabs")
    assert (tmp_path / "tabs").read_text() == "New York\tB-x\tO\n\n"


def test_the_report_counts_tags_and_shows_the_worst_sentences(write, tmp_path):
    task = TASKS["ner"]
    rows = task.read(write(CONLL_2003), "dev")
    predictions = {
        "tags": [["O", "O"], ["I-PER", "O"], ["I-ORG"]],
        "labels": ["O", "I-ORG", "I-PER"],
    }
    task.report(rows, predictions, tmp_path)
    # Counted by hand; I-LOC is a tag that training has not seen.
    assert (tmp_path / "confusion.tsv").read_text() == (
        "gold \\ predicted\tO\tI-ORG\tI-PER\tI-LOC\n"
        "O\t1\t0\t0\t0\nI-ORG\t1\t0\t0\t0\n"
        "I-PER\t1\t0\t1\t0\nI-LOC\t0\t1\t0\t0\n"
    )
    lines = (tmp_path / "misread.jsonl").read_text().splitlines()
    found = [tuple(json.loads(line).values()) for line in lines]
    # An entity of another length, or type, is one missed and one made up.
    assert found == [
        (1, 2, "PER: Peter Blackburn", "PER: Peter", "Peter Blackburn"),
        (2, 2, "LOC: LONDON", "ORG: LONDON", "LONDON"),
        (0, 1, "ORG: EU", "", "EU rejects"),
    ]
    right = {**predictions, "tags": rows["y"]}
    task.report(rows, right, tmp_path)
    assert (tmp_path / "misread.jsonl").read_text() == ""


def test_all_o_is_nothing_to_learn_from():
    with pytest.raises(ValueError, match="`data`.*other than O"):
        TASKS["ner"].model_arguments({"y": [["O"]]})
    found = TASKS["ner"].model_arguments({"y": [["B-x", "O"], ["B-a"]]})
    assert found == {"labels": ["O", "B-a", "B-x"]}


@pytest.mark.parametrize("tags", [None, "O", ["O"], [[0, 1]], [None]])
def test_tags_are_lists_of_names(tags):
    with pytest.raises(ValueError, match="`gold`.*a list of sentences"):
        ner.evaluate(tags, [["O", "O"]])
    with pytest.raises(ValueError, match="`predicted`.*a list of sentences"):
        ner.evaluate([["O", "O"]], tags)


def test_an_empty_word_is_written_as_it_is_read(write, tmp_path):
    rows = TASKS["ner"].read(write("a\tO\n\tB-x\n"), "dev")
    found = {"tags": rows["y"], "labels": ["O", "B-x"]}
    (path,) = TASKS["ner"].write(rows, found, tmp_path / "out")
    assert ner.read(path) == (rows["x"], rows["y"])
