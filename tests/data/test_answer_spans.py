"""From characters to pieces and back; the choice of an answer."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.data.answer_spans import Pieces
from keras_bert.data.answer_spans import Span
from keras_bert.data.answer_spans import answer_windows
from keras_bert.data.answer_spans import best_answer
from keras_bert.data.answer_spans import label_windows
from keras_bert.data.answer_spans import locate_answer
from keras_bert.data.answer_spans import n_best_answers
from keras_bert.data.answer_spans import question_spans
from keras_bert.data.answer_spans import span_of
from keras_bert.data.answer_spans import window_spans
from keras_bert.tokenizers import BertTokenizer

IDS = SimpleNamespace(cls_token_id=2, sep_token_id=3, pad_token_id=0)
# hello ( 1895 - a ) .
CONTEXT = "hello (1895-a)."
STARTS = np.array([0, 6, 7, 11, 12, 13, 14])
ENDS = np.array([5, 7, 11, 12, 13, 14, 15])


def _one_question(tokens=10, room=6, stride=4, question=2):
    return answer_windows(
        IDS,
        Pieces(np.full(question, 9), np.array([0, question])),
        Pieces(
            np.arange(20, 20 + tokens),
            np.array([0, tokens]),
            np.arange(tokens) * 2,
            np.arange(tokens) * 2 + 1,
        ),
        [0],
        room + question + 3,
        stride,
        64,
    )


def test_users_27_an_answer_glued_to_punctuation_is_exact():
    assert locate_answer(CONTEXT, "1895", 7) == (7, 11, False)
    first, last = span_of(STARTS, ENDS, 7, 11)
    assert (first, last) == (2, 2)
    assert CONTEXT[STARTS[first] : ENDS[last]] == "1895"


@pytest.mark.parametrize("start", [6, 8])
def test_users_27_a_start_off_by_one_is_mended(start):
    assert locate_answer(CONTEXT, "1895", start) == (7, 11, True)


def test_users_27_other_starts_are_refused():
    assert locate_answer(CONTEXT, "1895", 5) is None
    assert locate_answer(CONTEXT, "1896", 7) is None
    # One stands before and one after the start: which is meant?
    assert locate_answer("a.a", "a", 1) is None


def test_an_answer_that_no_piece_holds_has_no_span():
    assert span_of(STARTS, ENDS, 5, 6) is None


def test_rows_hold_the_question_and_a_window():
    windows = _one_question()
    assert windows.start.tolist() == [0, 4]
    rows = windows.rows.batch([0, 1])
    assert rows["token_ids"].tolist() == [
        [2, 9, 9, 3, 20, 21, 22, 23, 24, 25, 3],
        [2, 9, 9, 3, 24, 25, 26, 27, 28, 29, 3],
    ]
    assert rows["segment_ids"].tolist() == [[0] * 4 + [1] * 7] * 2


def test_labels_are_columns_and_zero_where_the_answer_is_not_whole():
    windows = _one_question()
    start, end = label_windows(windows, [(5, 6)])
    assert (start.tolist(), end.tolist()) == ([0, 5], [0, 6])
    start, end = label_windows(windows, [(4, 5)])
    assert (start.tolist(), end.tolist()) == ([8, 4], [9, 5])
    start, end = label_windows(windows, [None])
    assert (start.tolist(), end.tolist()) == ([0, 0], [0, 0])


def test_users_25_a_stride_above_the_room_names_all_three_numbers():
    with pytest.raises(ValueError, match="doc_stride") as error:
        _one_question(tokens=20, stride=7)
    for words in ("1 to 6", "question 0 has 2 tokens", "sequence_length is 11"):
        assert words in str(error.value)


def test_users_24_a_question_that_fills_the_row_is_refused():
    with pytest.raises(ValueError, match="sequence_length.*question 0"):
        _one_question(room=0)


def _spans(start, end, **keywords):
    arguments = {
        "column": 2,
        "size": 4,
        "may_start": np.ones(4, bool),
        "n_best": 20,
        "max_length": 30,
        **keywords,
    }
    found = window_spans(np.array(start), np.array(end), **arguments)
    return list(zip(*(values.tolist() for values in found), strict=True))


def test_spans_start_before_they_end_inside_the_window():
    start = [9.0, 9.0, 1.0, 4.0, 2.0, 3.0, 9.0]
    end = [9.0, 9.0, 5.0, 6.0, 8.0, 7.0, 9.0]
    spans = _spans(start, end)
    assert (1, 2, 4.0, 8.0) in spans
    assert {s[:2] for s in spans} == {
        (i, j) for i in range(4) for j in range(i, 4)
    }
    # Of all columns, question and end included, only the n_best are taken.
    assert _spans(start, end, n_best=3) == []
    assert {s[:2] for s in _spans(start, end, n_best=4)} == {(1, 2)}
    assert {s[1] - s[0] for s in _spans(start, end, max_length=2)} == {0, 1}
    may_start = np.array([False, False, True, False])
    assert {s[0] for s in _spans(start, end, may_start=may_start)} == {2}


def _logits(**at):
    start, end = np.full(11, -5.0), np.full(11, -5.0)
    for name, (column, value) in at.items():
        (start if name.startswith("start") else end)[column] = value
    return start, end


def test_a_span_starts_in_the_window_that_shows_most_of_it():
    # Piece 4 is the first of window 1 and counts in window 0 alone.
    windows = _one_question()
    first = _logits(start=(4 + 4, 1.0), end=(4 + 4, 1.0))
    second = _logits(start=(4, 9.0), end=(4, 9.0))
    (begin, end, *scores), _ = question_spans(windows, 0, [first, second], 5, 9)
    assert (begin[0], end[0], scores[0][0]) == (4, 4, 1.0)


def test_the_null_score_is_the_least_over_the_windows():
    windows = _one_question()
    first = _logits(start=(0, 3.0), end=(0, 4.0))
    second = _logits(start=(0, 2.0), end=(0, 1.0))
    _, null = question_spans(windows, 0, [first, second], 5, 9)
    assert (null.start_logit, null.end_logit, null.score) == (2.0, 1.0, 3.0)


def test_equal_texts_are_given_once():
    spans = [
        np.array(values)
        for values in ([0, 3, 1], [0, 3, 1], [3.0, 2.0, 1.0], [0.0, 0.0, 0.0])
    ]
    starts, ends = np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7])
    answers = n_best_answers("a b c a", starts, ends, spans, 20)
    assert [a["text"] for a in answers] == ["a", "b"]
    assert answers[0]["start"] == 0
    assert len(n_best_answers("a b c a", starts, ends, spans, 1)) == 1


ANSWERS = [
    {"text": "x", "start": 3, "end": 4, "start_logit": 2.0, "end_logit": 1.0}
]


@pytest.mark.parametrize(
    ("null", "threshold", "text"),
    [
        (3.0, 0.0, "x"),
        (3.5, 0.0, ""),
        (3.5, 1.0, "x"),
        (2.0, -2.0, ""),
        (99.0, None, "x"),
    ],
)
def test_the_empty_text_wins_above_the_threshold(null, threshold, text):
    found = best_answer(ANSWERS, Span(null, 0.0, -1, -1), threshold)
    assert found["text"] == text
    assert (found["start"], found["end"]) == ((3, 4) if text else (-1, -1))
    assert (found["score"], found["null_score"]) == (3.0, null)


@pytest.mark.parametrize("threshold", [0.0, None])
def test_users_24_no_span_gives_the_empty_text_and_a_finite_score(threshold):
    windows = _one_question(tokens=0)
    spans, null = question_spans(windows, 0, [_logits(start=(0, 1.0))], 20, 30)
    answers = n_best_answers("", [], [], spans, 20)
    assert best_answer(answers, null, threshold) == {
        "text": "",
        "score": -4.0,
        "null_score": -4.0,
        "start": -1,
        "end": -1,
    }


def test_labels_of_squad_are_exact_but_for_answers_inside_a_piece(shared):
    """Two answers of the 2,306 are "Japan" where "Japanese" stands."""
    tokenizer = BertTokenizer(
        shared / "vocab/bert-base-uncased-vocab.txt", lowercase=True
    )
    articles = json.loads((shared / "squad/train-v2.0-part.json").read_text())
    wrong, count = [], 0
    for article in articles["data"][::8]:
        paragraphs = article["paragraphs"]
        contexts = [p["context"] for p in paragraphs]
        _, starts, ends = tokenizer.tokenize_with_offsets(contexts)
        for context, s, e, paragraph in zip(
            contexts, starts, ends, paragraphs, strict=True
        ):
            s, e = s.numpy(), e.numpy()
            for answer in (
                qa["answers"][0] for qa in paragraph["qas"] if qa["answers"]
            ):
                begin, end, mended = locate_answer(
                    context, answer["text"], answer["answer_start"]
                )
                assert not mended
                first, last = span_of(s, e, begin, end)
                cut = context[s[first] : e[last]]
                count += 1
                if cut != answer["text"].strip():
                    wrong.append((answer["text"], cut))
    assert count > 200
    assert set(wrong) <= {("Japan", "Japanese")}


def test_users_29_a_thousand_windows_are_decoded_in_under_a_second():
    windows = _one_question(tokens=300, room=381, question=0)
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 384)).astype("float32")
    start = time.process_time()
    for _ in range(1000):
        spans, null = question_spans(windows, 0, [logits], 20, 30)
        n_best_answers(
            "x" * 600, windows.pieces.starts, windows.pieces.ends, spans, 20
        )
    assert time.process_time() - start < 1
