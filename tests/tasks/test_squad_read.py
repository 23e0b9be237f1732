"""Reading SQuAD's layout; answers that no span of pieces gives."""

import json

import pytest

import keras_bert
from keras_bert.tasks import _squad_labels as labels
from keras_bert.tasks import squad
from keras_bert.tasks.table import TASKS

CONTEXT = "Berlin has 10 inhabitants."


def _qa(key="q", answers=(("10", 11),), question="How many?", **more):
    return {
        "id": key,
        "question": question,
        "answers": [{"text": t, "answer_start": s} for t, s in answers],
        **more,
    }


@pytest.fixture
def write(tmp_path):
    def write(*qas, context=CONTEXT, name="train.json"):
        part = {"context": context, "qas": list(qas)}
        path = tmp_path / name
        path.write_text(
            json.dumps({"data": [{"title": "t", "paragraphs": [part]}]})
        )
        return path

    return write


def test_questions_come_in_the_order_of_the_file(write):
    rows = squad.read(
        write(
            _qa("b", (("10", 11), ("10 inhabitants", 11))),
            _qa("a", (), is_impossible=True),
        )
    )
    assert rows == {
        "x": (["How many?"] * 2, [CONTEXT] * 2),
        "y": [
            [
                {"text": "10", "start": 11},
                {"text": "10 inhabitants", "start": 11},
            ],
            [],
        ],
        "ids": ["b", "a"],
        "notes": [],
    }


def test_an_impossible_question_has_no_answer_whatever_it_lists(write):
    # run_squad.py looks at is_impossible first.
    path = write(_qa(is_impossible=True))
    assert squad.read(path)["y"] == [[]]
    # evaluate-v2.0.py looks at the answers alone (make_qid_to_has_ans).
    assert squad.read(path, "dev")["y"] == [[{"text": "10", "start": 11}]]
    assert squad.evaluate(path, {"q": "10"})["HasAns_total"] == 1


def test_questions_without_an_answer_are_noted_in_dev_of_version_1(write):
    path = write(_qa("a"), _qa("b", ()))
    (note,) = TASKS["squad-v1"].read(path, "dev")["notes"]
    assert note.startswith("1 questions have no answer") and "b" in note
    assert not TASKS["squad-v2"].read(path, "dev")["notes"]


def test_a_test_file_has_no_answers(write):
    qa = _qa()
    del qa["answers"]
    assert squad.read(write(qa))["y"] is None
    with pytest.raises(ValueError, match="`file`.*`answers` in every.*q "):
        squad.read(write(qa, _qa("other")))


@pytest.mark.parametrize("start", [10, 12])
def test_users_27_a_start_off_by_one_is_mended_and_counted(write, start):
    rows = squad.read(write(_qa("a", (("10", start),)), _qa("b")))
    assert rows["y"][0] == [{"text": "10", "start": 11}]
    assert rows["notes"] == [
        "1 answers started one character off and were moved: a"
    ]


def test_answers_of_trivia_qa_are_taken_from_the_context(write):
    """convert_to_squad_format.py writes aliases in lower case, and keeps
    questions without any."""
    path = write(_qa("a", (("berlin", 0),)), _qa("b", ()))
    rows = squad.read(path, "train")
    assert rows["y"] == [[{"text": "Berlin", "start": 0}], []]
    assert rows["notes"] == [
        "1 answers differ from their context by upper and lower case and were "
        "taken from there: a"
    ]
    found = TASKS["squad-v1"].read(path, "train")
    assert (found["ids"], found["y"]) == (["a"], rows["y"][:1])
    assert found["x"] == (["How many?"], [CONTEXT])
    assert found["notes"][1] == (
        "1 questions without an answer were left out: b"
    )
    # Said to have none: that is SQuAD 2.0.
    path = write(_qa("a"), _qa("b", (), is_impossible=True))
    with pytest.raises(ValueError, match="`data`.*squad-v2.*: b"):
        TASKS["squad-v1"].read(path, "train")
    with pytest.raises(ValueError, match="`data`.*an answer to some"):
        TASKS["squad-v1"].read(write(_qa("b", ())), "train")


def test_dev_answers_need_no_place(write):
    qa = _qa("a", ())
    qa["answers"] = [{"text": "10"}]
    rows = squad.read(write(qa), "dev")
    assert rows["y"] == [[{"text": "10", "start": -1}]]
    assert rows["notes"][0].startswith("1 answers do not stand")
    with pytest.raises(ValueError, match="`file`.*`answer_start`"):
        squad.read(write(qa), "train")


def test_both_versions_may_stand_in_one_folder(write, tmp_path):
    for version in ("v1.1", "v2.0"):
        write(_qa(version), name=f"train-{version}.json")
    for name, key in (("squad-v1", "v1.1"), ("squad-v2", "v2.0")):
        assert TASKS[name].read(tmp_path, "train")["ids"] == [key]
    write(_qa(), name="train-v2.1.json")
    with pytest.raises(ValueError, match="`data`.*one .json"):
        TASKS["squad-v2"].read(tmp_path, "train")


def test_wrong_answers_are_refused_to_train_on_and_noted_in_dev(shared):
    folder = shared / "squad"
    for name, message in (
        ("qa_answer-offset-wrong.json", "stands at 11"),
        ("qa_answer-wrong.json", "does not occur"),
    ):
        with pytest.raises(ValueError, match=f"`file`.*{message}"):
            squad.read(folder / name, "train")
        rows = squad.read(folder / name, "dev")
        assert "1 answers do not stand" in rows["notes"][0]
    assert squad.read(folder / "qa_noanswer.json")["y"] == [[]]


def test_what_the_files_hold(shared):
    # Counts of the data's README.
    for name, count, impossible in (
        ("squad/train-v2.0-part.json", 4782, 2476),
        ("squad/dev-v2.0-small.json", 626, 333),
        ("squad/xquad.en.json", 1190, 0),
        ("squad/xquad.zh.json", 1190, 0),
    ):
        rows = squad.read(shared / name)
        assert len(rows["ids"]) == len(rows["x"][0]) == count
        assert rows["y"].count([]) == impossible
        assert rows["notes"] == []
    rows = squad.read(shared / "zh/cmrc2018_trial.json")
    # Counted by hand in the file: five answers stand one character before
    # their answer_start, two questions are empty.
    assert rows["notes"][0].startswith("2 with an empty question")
    assert rows["notes"][1].startswith("5 answers started one character off")


@pytest.mark.parametrize(
    ("qas", "message"),
    [
        ([_qa(), _qa()], "`file`.*once.*q"),
        ([], "`file`.*at least one question"),
        ([{"id": "q"}], "`file`.*`question` in question q"),
        ([{"question": "?"}], "`file`.*`id` in paragraph 0 of article 0"),
        ([_qa(answers=(("", 0),))], "`file`.*text and an `answer_start`"),
        ([_qa(answers=(("10", -1),))], "`file`.*text and an `answer_start`"),
    ],
)
def test_bad_files_are_named(write, qas, message):
    with pytest.raises(ValueError, match=message):
        squad.read(write(*qas))


def test_broken_and_missing_files_are_named(tmp_path):
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ValueError, match="`file`.*JSON.*x.json"):
        squad.read(tmp_path / "x.json")
    with pytest.raises(ValueError, match="`file`.*existing"):
        squad.read(tmp_path / "y.json")


def test_an_empty_question_or_context_is_noted(write):
    rows = squad.read(write(_qa(question=" "), _qa("b")))
    assert rows["notes"] == ["1 with an empty question: q"]
    rows = squad.read(write(_qa(answers=()), context=""))
    assert rows["notes"] == ["1 with an empty context: q"]


@pytest.mark.parametrize("vocabulary", ["uncased", "cased"])
def test_users_27_labels_are_exact_on_real_questions(shared, vocabulary):
    """All but 15 of 8,078 gold answers; these cut a word in two."""
    tokenizer = keras_bert.BertTokenizer(
        str(shared / f"vocab/bert-base-{vocabulary}-vocab.txt"),
        lowercase=vocabulary == "uncased",
    )
    rows = squad.read(shared / "squad/train-v2.0-part.json")
    preprocessor = keras_bert.BertQuestionAnswererPreprocessor(tokenizer)
    found = labels.inexact(preprocessor, rows)
    assert {one["reason"] for one in found} == {"part of a word"}
    contexts = dict(zip(rows["ids"], rows["x"][1], strict=True))
    answers = dict(zip(rows["ids"], rows["y"], strict=True))
    # The control, without any tokenizer: the answers that begin or end
    # between two letters or digits.
    cut = []
    for key, golds in answers.items():
        for gold in golds:
            around = f" {contexts[key]} "
            begin = gold["start"] + 1
            end = begin + len(gold["text"])
            if around[begin - 1 : begin + 1].isalnum() or (
                around[end - 1 : end + 1].isalnum()
            ):
                cut.append((key, gold["text"]))
    assert {(one["id"], one["text"]) for one in found} <= set(cut)
    for one in found:
        assert one["text"] in one["label"]
    assert sum(map(len, rows["y"])) == 8078 and len(found) == 15


@pytest.mark.parametrize("name", ["squad/xquad.zh", "zh/cmrc2018_trial"])
def test_labels_are_exact_on_chinese_questions(shared, name):
    """But for answers that cut a number or a Latin word."""
    tokenizer = keras_bert.BertTokenizer(
        str(shared / "vocab/bert-base-chinese-vocab.txt"), lowercase=True
    )
    rows = squad.read(shared / f"{name}.json")
    preprocessor = keras_bert.BertQuestionAnswererPreprocessor(tokenizer)
    found = labels.inexact(preprocessor, rows)
    contexts = dict(zip(rows["ids"], rows["x"][1], strict=True))
    for one in found:
        if one["reason"] == "no window":
            # Windows of 317 pieces and more advance by 128.
            assert len(one["text"]) > 317 - 128
            continue
        assert one["reason"] in ("part of a word", "white space")
        if one["reason"] == "part of a word":
            assert one["label"] in contexts[one["id"]]
            assert one["text"] in one["label"]
            around = one["label"].replace(one["text"], "", 1)
            assert around.isascii() and around.strip(), one
    assert len(found) < 0.02 * sum(map(len, rows["y"]))


def test_every_reason_for_an_inexact_label(write):
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "a",
        "b",
        "cd",
        "##e",
    ]
    tokenizer = keras_bert.BertTokenizer(vocabulary, lowercase=False)
    preprocessor = keras_bert.BertQuestionAnswererPreprocessor(
        tokenizer, sequence_length=8, doc_stride=2
    )
    context = "a b cde a \x00a b a b"
    rows = {
        "ids": list("qrstuv"),
        "x": (["a"] * 6, [context] * 6),
        "y": [
            [{"text": "b", "start": 2}],
            [{"text": "d", "start": 5}],
            [{"text": " b ", "start": 1}],
            [{"text": "\x00", "start": 10}],
            [{"text": "b cde a \x00a", "start": 2}],
            [{"text": "x", "start": 0}],
        ],
    }
    found = labels.inexact(preprocessor, rows)
    assert [(f["id"], f["label"], f["reason"]) for f in found] == [
        ("r", "cd", "part of a word"),
        ("s", "b", "white space"),
        ("t", "", "lost characters"),
        # Six pieces with room for four.
        ("u", "", "no window"),
        ("v", "", "not there"),
    ]
    notes = labels.notes(preprocessor, rows)
    assert len(notes) == 5 and notes[0].startswith("1 of 6 answers begin")
