"""The official scores of SQuAD: equal to what the scripts print."""

import json

import pytest

from keras_bert.tasks import _squad_metrics as metrics
from keras_bert.tasks import squad


def _data(*questions, version="v2.0"):
    """Questions (id, list of answers) in the layout of SQuAD."""
    qas = [
        {
            "id": key,
            "question": "who ?",
            "answers": [{"text": t, "answer_start": 0} for t in texts],
            **({} if version == "1.1" else {"is_impossible": not texts}),
        }
        for key, texts in questions
    ]
    part = {"context": "x", "qas": qas}
    return {"version": version, "data": [{"paragraphs": [part]}]}


@pytest.mark.parametrize("case", range(5))
def test_scores_equal_the_official_script_to_the_last_digit(shared, case):
    folder = shared / "squad"
    lines = (folder / "expected_scores.jsonl").read_text().splitlines()
    assert len(lines) == 5
    one = json.loads(lines[case])
    odds = one.get("na_prob_file")
    found = squad.evaluate(
        json.loads((folder / one["data"]).read_text()),
        json.loads((folder / one["predictions"]).read_text()),
        odds and json.loads((folder / odds).read_text()),
        one.get("na_prob_thresh", 1.0),
    )
    assert found == one["result"]
    assert list(found) == list(one["result"])
    # Paths do as well.
    assert found == squad.evaluate(
        folder / one["data"],
        str(folder / one["predictions"]),
        odds and folder / odds,
        one.get("na_prob_thresh", 1.0),
    )


def test_version_1_counts_a_missing_prediction_as_wrong():
    # evaluate-v1.1.py: "a cat" and "cat." are both "cat" when normalised; of
    # "big cat" and "cat" precision is 1/2 and recall 1.
    data = _data(
        ("a", ["a cat"]), ("b", ["dog", "cat"]), ("c", ["fox"]), version="1.1"
    )
    found = squad.evaluate(data, {"a": "cat.", "b": "big cat"})
    assert found == {
        "exact_match": pytest.approx(100 / 3),
        "f1": pytest.approx(100 * (1 + 2 / 3) / 3),
    }


def test_version_2_leaves_a_missing_prediction_out():
    data = _data(("a", ["a cat"]), ("b", ["dog"]), ("c", []))
    found = squad.evaluate(data, {"a": "cat.", "c": ""})
    assert (found["exact"], found["total"]) == (100.0, 2)
    assert (found["HasAns_total"], found["NoAns_total"]) == (1, 1)


def test_texts_that_are_empty_once_normalised():
    # evaluate-v2.0.py drops such golds and compares with ""; evaluate-v1.1.py
    # keeps them and gives F1 0 where no word is shared.
    second = squad.evaluate(_data(("a", ["The"])), {"a": "..."})
    assert (second["exact"], second["f1"]) == (100.0, 100.0)
    first = squad.evaluate(_data(("a", ["The"]), version="1.1"), {"a": "..."})
    assert first == {"exact_match": 100.0, "f1": 0.0}


def test_articles_go_after_punctuation():
    # lower, punctuation, articles, white space, in this order: "a-n" is "an"
    # by the time articles are deleted.
    assert metrics.words_of("The  a-n cat's\u00a0hat") == ["cats", "hat"]


def test_the_threshold_decides_who_is_silent():
    data = _data(("a", ["cat"]), ("b", []))
    odds = {"a": 2.0, "b": 3.0}
    answers = {"a": "cat", "b": "dog"}
    exact = [
        squad.evaluate(data, answers, odds, threshold)["exact"]
        for threshold in (1.0, 2.0, 3.0)
    ]
    # Silent on both; on b alone (2.0 is not above 2.0); on neither.
    assert exact == [50.0, 100.0, 50.0]
    best = squad.evaluate(data, answers, odds)
    assert (best["best_exact"], best["best_exact_thresh"]) == (100.0, 2.0)


def test_characters_are_the_words_of_chinese():
    gold, found = "八年北京", "2008年，北京 the Games"
    # Punctuation deleted: 年 北 京 of 4 and of 6 words are common.
    words = metrics.words_of(found, "characters")
    assert words == ["2008", "年", "北", "京", "the", "games"]
    assert metrics.words_of(gold, "characters") == list(gold)
    data = _data(("a", [gold]), version="1.1")
    by_characters = squad.evaluate(data, {"a": found}, unit="characters")
    precision, recall = 3 / 6, 3 / 4
    assert by_characters["f1"] == pytest.approx(
        100 * 2 * precision * recall / (precision + recall)
    )
    assert squad.evaluate(data, {"a": found})["f1"] == 0.0


def test_perfect_answers_score_100_on_chinese_data(shared):
    for name in ("squad/xquad.zh.json", "zh/cmrc2018_trial.json"):
        rows = squad.read(shared / name)
        best = {
            key: answers[0]["text"]
            for key, answers in zip(rows["ids"], rows["y"], strict=True)
        }
        for unit in metrics.UNITS:
            found = squad.evaluate(shared / name, best, unit=unit)
            assert found == {"exact_match": 100.0, "f1": 100.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"data": 3}, {"a": ""}), "`dataset_json`.*`data`"),
        ((_data(("a", [])), {"b": ""}), "`predictions`.*a.*b"),
        ((_data(("a", [])), {"a": 3}), "`predictions`.*text for a"),
        ((_data(("a", [])), {"a": ""}, {}), "`na_probs`.*none for a"),
        ((_data(("a", [])), {"a": ""}, None, 1.0, "letters"), "`unit`"),
        (("no such file", {"a": ""}), "`dataset_json`.*existing"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        squad.evaluate(*arguments)
