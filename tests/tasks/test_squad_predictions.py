"""The three files of run_squad.py, thresholds and ensembles."""

import json
import math
from types import SimpleNamespace

import pytest

from keras_bert.tasks import _squad_predictions as answers
from keras_bert.tasks.table import TASKS


def _answer(text, start, end):
    return {
        "text": text, "start": 0, "end": 1, "start_logit": start,
        "end_logit": end,
    }  # fmt: skip


def _null(start, end):
    return SimpleNamespace(start_logit=start, end_logit=end, score=start + end)


SPANS = [_answer("cat", 2.0, 1.0), _answer("a cat", 1.0, 1.0)]


def _of(ranked, n_best=20, threshold=0.0, second=True):
    ids = [f"q{number}" for number in range(len(ranked))]
    return answers.predictions_of(ids, ranked, n_best, threshold, second)


def test_entries_and_odds_follow_the_original():
    # By hand, from write_predictions: scores 3, 2 and the null score 2.5.
    found = _of([(SPANS, _null(1.5, 1.0))])
    weights = [math.exp(score) for score in (3.0, 2.5, 2.0)]
    entries = found["nbest"]["q0"]
    assert [entry["text"] for entry in entries] == ["cat", "", "a cat"]
    for entry, weight in zip(entries, weights, strict=True):
        assert entry["probability"] == pytest.approx(weight / sum(weights))
    assert list(entries[1]) == [
        "text", "probability", "start_logit", "end_logit",
    ]  # fmt: skip
    assert found["null_odds"] == {"q0": -0.5}
    assert answers.texts(found) == {"q0": "cat"}
    assert answers.texts({**found, "threshold": -0.6}) == {"q0": ""}


def test_null_is_kept_beside_the_n_best():
    # The original keeps n_best entries and appends "" if it is not there.
    texts = [
        [e["text"] for e in _of([(SPANS, null)], n_best)["nbest"]["q0"]]
        for null, n_best in (
            (_null(0, 0), 2), (_null(9, 9), 2), (_null(0, 0), 1),
        )
    ]  # fmt: skip
    assert texts == [["cat", "a cat", ""], ["", "cat"], ["cat", ""]]


def test_version_1_always_answers():
    found = _of([(SPANS, _null(9, 9)), ([], _null(9, 9))], second=False)
    assert found["null_odds"] is None
    assert [e["text"] for e in found["nbest"]["q0"]] == ["cat", "a cat"]
    assert answers.texts(found) == {"q0": "cat", "q1": ""}


def test_users_24_no_span_is_the_empty_answer_in_every_file(tmp_path):
    found = _of([([], _null(1.0, 2.0))], threshold=-5.0)
    files = answers.write(found, tmp_path / "out")
    assert [path.name for path in files] == list(answers.FILES)
    texts, nbest, odds = (json.loads(path.read_text()) for path in files)
    assert texts == {"q0": ""} and odds == {"q0": 0.0}
    assert [entry["text"] for entry in nbest["q0"]] == [""]
    assert nbest["q0"][0]["probability"] == 1.0
    # SQuAD 1.1 has no null odds.
    files = answers.write(
        _of([([], _null(1, 2))], second=False), tmp_path / "v1"
    )
    assert [path.name for path in files] == list(answers.FILES[:2])
    with pytest.raises(ValueError, match="`-o`"):
        answers.write(found, tmp_path / "out")


def test_an_ensemble_averages_the_probabilities_of_equal_texts():
    one = _of([(SPANS, _null(0.0, 0.0))], threshold=1.0)
    two = _of([([_answer("a cat", 4.0, 4.0)], _null(1.0, 1.0))], threshold=3.0)
    found = answers.combined([one, two])
    by_text = [
        {e["text"]: e["probability"] for e in run["nbest"]["q0"]}
        for run in (one, two)
    ]
    entries = {e["text"]: e["probability"] for e in found["nbest"]["q0"]}
    for text, probability in entries.items():
        mean = sum(run.get(text, 0.0) for run in by_text) / 2
        assert probability == pytest.approx(mean)
    # The second run is surer of "a cat" than the first is of "cat".
    assert next(iter(entries)) == "a cat"
    assert sum(entries.values()) == pytest.approx(1.0)
    assert found["null_odds"] == {"q0": (-3.0 - 6.0) / 2}
    assert found["threshold"] == 2.0


GOLDS = {"q0": ["cat"], "q1": [], "q2": ["dog"]}


def test_the_tuned_threshold_gives_the_tuned_score():
    """Odds 2 (right), 3 (impossible), 4 (wrong): silent above 2 is best."""
    ranked = [
        ([_answer("cat", 0.0, 0.0)], _null(1.0, 1.0)),
        ([_answer("fox", 0.0, 0.0)], _null(1.0, 2.0)),
        ([_answer("fox", 0.0, 0.0)], _null(2.0, 2.0)),
    ]
    found = _of(ranked)
    tuned = answers.tuned(found, GOLDS, "words")
    assert tuned["tuned_f1"] == pytest.approx(200 / 3)
    assert tuned["tuned_f1_threshold"] == 2.0
    task = TASKS["squad-v2"]
    rows = {
        "ids": list(GOLDS),
        "x": (["?"] * 3, ["cat"] * 3),
        "y": [[{"text": t} for t in texts] for texts in GOLDS.values()],
    }
    before = task.score(rows, found)
    assert before["f1"] == pytest.approx(100 / 3)
    model = SimpleNamespace(preprocessor=SimpleNamespace(null_threshold=0.0))
    after = task.score(rows, task.tune(model, found, before))
    assert model.preprocessor.null_threshold == 2.0
    assert after["f1"] == after["tuned_f1"] == task.headline(after)


def test_questions_of_equal_odds_are_answered_together():
    ranked = [([_answer("cat", 0.0, 0.0)], _null(1.0, 1.0))] * 2
    golds = {"q0": ["cat"], "q1": []}
    tuned = answers.tuned(_of(ranked), golds, "words")
    # The script would stop between the two, at 100.
    assert tuned["tuned_f1"] == tuned["chance"] == 50.0


def test_where_silence_is_best_the_threshold_says_so():
    ranked = [([_answer("fox", 5.0, 5.0)], _null(0.0, 0.0))] * 3
    golds = {"q0": [], "q1": [], "q2": ["dog"]}
    found = _of(ranked)
    tuned = answers.tuned(found, golds, "words")
    found = {**found, "threshold": tuned["tuned_f1_threshold"]}
    assert answers.texts(found) == dict.fromkeys(golds, "")
    assert tuned["tuned_f1"] == pytest.approx(200 / 3)


def test_the_misread_questions_are_listed_worst_first(tmp_path):
    task = TASKS["squad-v1"]
    rows = {
        "ids": ["q0", "q1", "q2"],
        "x": (["who ?"] * 3, ["x"] * 3),
        "y": [[{"text": t}] for t in ("a big cat", "cat", "dog")],
    }
    found = _of([(SPANS, _null(0, 0))] * 3, second=False)
    task.report(rows, found, tmp_path)
    lines = (tmp_path / "misread.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["q2", "q0"]


def test_squad_1_refuses_questions_without_an_answer(tmp_path):
    part = {
        "context": "x",
        "qas": [{"id": "q", "question": "?", "answers": []}],
    }
    path = tmp_path / "train-v1.1.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [part]}]}))
    with pytest.raises(ValueError, match="`data`.*squad-v2.*q"):
        TASKS["squad-v1"].read(tmp_path, "train")
    assert TASKS["squad-v2"].read(tmp_path, "train")["y"] == [[]]
    with pytest.raises(ValueError, match="`data`.*holds dev"):
        TASKS["squad-v2"].read(tmp_path, "dev")
