"""Questions and contexts: windows, labels and answers as plain functions.

    context    hello (1895-a).           pieces with their characters:
               hello|(|1895|-|a|)|.      0-5 6-7 7-11 11-12 12-13 13-14 14-15
    row        [CLS] question [SEP] pieces of one window [SEP]

Characters decide everything: the answer "1895" at 7 is labelled with the
pieces that overlap characters 7 to 11, and an answer is cut out of the raw
context from the first character of its first piece to the last character of
its last one. The original works on words that were split at spaces and maps
back by comparing strings.

Source: https://github.com/google-research/bert/blob/master/run_squad.py
"""

from typing import NamedTuple

import numpy as np

from keras_bert._errors import invalid
from keras_bert.data.segment_rows import SegmentRows
from keras_bert.data.segment_rows import Slices
from keras_bert.data.token_windows import best_windows
from keras_bert.data.token_windows import window_starts


class Pieces(NamedTuple):
    """Pieces of several texts: `ids`, `splits` `[texts + 1]`.

    `starts` and `ends`: characters of each piece in its own text; `None`
    where they are not needed.
    """

    ids: np.ndarray
    splits: np.ndarray
    starts: np.ndarray | None = None
    ends: np.ndarray | None = None


class AnswerWindows(NamedTuple):
    """Rows for questions, `rows.batch` makes them.

    Per row: `question`, its number; `start`, the first piece of the window,
    counted in the context; `size`, how many pieces; `column` of that piece.
    Per question: `splits` `[questions + 1]`, its rows; `context`, which text
    of `pieces`; `room`, how many pieces its windows hold.
    """

    rows: SegmentRows
    question: np.ndarray
    start: np.ndarray
    size: np.ndarray
    column: np.ndarray
    splits: np.ndarray
    context: np.ndarray
    room: np.ndarray
    pieces: Pieces


def answer_windows(
    tokenizer, questions, contexts, context_of, length, stride, max_query_length
):
    """Lays windows over the context of each question.

    Args:
        tokenizer: has the ids of [CLS], [SEP] and [PAD].
        questions: `Pieces` of the questions.
        contexts: `Pieces` of the contexts, each one once.
        context_of: int `[questions]`, the context of each question.
        length: int, how long a row may be.
        stride: int, how far the start of a window moves.
        max_query_length: int, longer questions are cut.

    Raises:
        ValueError: if a question leaves no room for its context, or the
            stride exceeds the room where several windows are needed.
    """
    sizes = np.minimum(np.diff(questions.splits), max_query_length)
    rooms = length - 3 - sizes
    if len(rooms) and rooms.min() < 1:
        worst = int(rooms.argmin())
        raise invalid(
            "sequence_length",
            f"at least {int(sizes[worst]) + 4}: question {worst} has "
            f"{int(sizes[worst])} tokens (max_query_length is "
            f"{max_query_length}) and leaves no room for its context",
            length,
        )
    owner, starts, lengths, counts = [], [], [], []
    context_sizes = np.diff(contexts.splits)
    for index, context in enumerate(context_of):
        total, room = int(context_sizes[context]), int(rooms[index])
        try:
            cuts = window_starts(total, room, stride, "doc_stride")
        except ValueError as error:
            raise ValueError(
                f"{error} (question {index} has {int(sizes[index])} tokens, "
                f"sequence_length is {length})"
            ) from None
        owner += [index] * len(cuts)
        starts += cuts
        lengths += [min(room, total - cut) for cut in cuts]
        counts.append(len(cuts))
    owner, starts, lengths = (
        np.asarray(values, "int64") for values in (owner, starts, lengths)
    )
    context_of = np.asarray(context_of, "int64")
    rows = SegmentRows(
        tokenizer,
        Slices(questions.ids, questions.splits[owner], sizes[owner]),
        Slices(
            contexts.ids, contexts.splits[context_of[owner]] + starts, lengths
        ),
    )
    return AnswerWindows(
        rows,
        owner,
        starts,
        lengths,
        sizes[owner] + 2,
        np.concatenate([[0], np.cumsum(counts, dtype="int64")]),
        context_of,
        rooms,
        contexts,
    )


def locate_answer(context, text, start):
    """The characters of an answer, and whether its start was mended.

    A start that is off by one is mended when exactly one of the two places
    beside it holds the text.

    Returns `(begin, end, mended)`, or `None` when the text is not there.
    """
    if not text or start < 0:
        return None
    if context.startswith(text, start):
        return start, start + len(text), False
    beside = [
        place
        for place in (start - 1, start + 1)
        if place >= 0 and context.startswith(text, place)
    ]
    if len(beside) != 1:
        return None
    return beside[0], beside[0] + len(text), True


def span_of(starts, ends, begin, end):
    """First and last piece that overlap the characters begin to end.

    `None` when no piece does.
    """
    first = int(np.searchsorted(ends, begin, side="right"))
    last = int(np.searchsorted(starts, end, side="left")) - 1
    return (first, last) if first <= last else None


def label_windows(windows, spans):
    """Start and end column of the answer in each row.

    Args:
        windows: `AnswerWindows`.
        spans: per question (first, last) piece of its context, or `None`.

    Returns two int32 arrays `[rows]`: 0 (the [CLS] column) in rows that do
    not hold the whole answer.
    """
    first, last = (
        np.array([-1 if span is None else span[i] for span in spans], "int64")[
            windows.question
        ]
        for i in (0, 1)
    )
    inside = (first >= windows.start) & (last < windows.start + windows.size)
    shift = windows.column - windows.start
    return tuple(
        np.where(inside, piece + shift, 0).astype("int32")
        for piece in (first, last)
    )


class Span(NamedTuple):
    """Two logits, and first and last piece of the context (-1 for null)."""

    start_logit: float
    end_logit: float
    first: int
    last: int

    @property
    def score(self):
        return self.start_logit + self.end_logit


def window_spans(
    start_logits, end_logits, column, size, may_start, n_best, max_length
):
    """The spans of one row that are made of its n_best starts and ends.

    Args:
        start_logits, end_logits: float `[length]`, all columns of the row but
            the padding.
        column, size: where the pieces of the context stand.
        may_start: bool `[size]`, the pieces that are read in this window.
        n_best: int. Starts and ends are the n_best columns by logit, of the
            whole row, question included, as in the original.
        max_length: int, most pieces in an answer.

    Returns arrays first, last (counted in the window), start and end logit.
    """
    begins = np.argsort(-start_logits, kind="stable")[:n_best] - column
    ends = np.argsort(-end_logits, kind="stable")[:n_best] - column
    begins = begins[(begins >= 0) & (begins < size)]
    begins = begins[may_start[begins]]
    ends = ends[(ends >= 0) & (ends < size)]
    distance = ends[None, :] - begins[:, None]
    row, other = np.nonzero((distance >= 0) & (distance < max_length))
    first, last = begins[row], ends[other]
    return (
        first,
        last,
        start_logits[first + column],
        end_logits[last + column],
    )


def question_spans(windows, question, logits, n_best, max_length):
    """All spans of a question by falling score, and its null span.

    Args:
        windows: `AnswerWindows`.
        question: int.
        logits: per row of the question a pair of float arrays `[length]`.
        n_best, max_length: as in `window_spans`.

    Returns `(spans, null)`: arrays first, last, start and end logit, and the
    `Span` of the [CLS] columns in the row where their sum is least: a
    question has no answer only if no window holds one.
    """
    rows = range(windows.splits[question], windows.splits[question + 1])
    starts = windows.start[rows.start : rows.stop]
    splits = windows.pieces.splits
    context = windows.context[question]
    total = int(splits[context + 1] - splits[context])
    best = best_windows(total, int(windows.room[question]), starts)
    null, found = None, []
    for index, (row, (start, end)) in enumerate(zip(rows, logits, strict=True)):
        here = Span(float(start[0]), float(end[0]), -1, -1)
        if null is None or here.score < null.score:
            null = here
        begin, size = int(windows.start[row]), int(windows.size[row])
        first, last, *scores = window_spans(
            start,
            end,
            int(windows.column[row]),
            size,
            best[begin : begin + size] == index,
            n_best,
            max_length,
        )
        found.append((first + begin, last + begin, *scores))
    spans = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    order = np.argsort(-(spans[2] + spans[3]), kind="stable")
    return [values[order] for values in spans], null


def n_best_answers(context, starts, ends, spans, n_best):
    """The n_best different texts, best first.

    Args:
        context: str, from which the texts are cut.
        starts, ends: int `[pieces]`, characters of the pieces.
        spans: as `question_spans` gives them.
        n_best: int.

    Returns a list of dicts `text`, `start`, `end` (characters),
    `start_logit`, `end_logit`; it is empty when there is no span.
    """
    answers, seen = [], set()
    for first, last, start_logit, end_logit in zip(*spans, strict=True):
        if len(answers) == n_best:
            break
        begin, end = int(starts[first]), int(ends[last])
        text = context[begin:end]
        if text in seen:
            continue
        seen.add(text)
        answers.append(
            {
                "text": text,
                "start": begin,
                "end": end,
                "start_logit": float(start_logit),
                "end_logit": float(end_logit),
            }
        )
    return answers


def best_answer(answers, null, null_threshold=0.0):
    """The prediction for one question.

    Args:
        answers: as `n_best_answers` gives them.
        null: `Span`, the null span.
        null_threshold: float. The empty text wins when the null score
            exceeds the best score by more than this; `None` never lets it
            win over an answer.

    Returns a dict: `text`; `start` and `end`, characters of the context, -1
    for the empty text; `score`, the sum of the logits of the best span,
    whether or not it wins (the null score where there is no span);
    `null_score`.
    """
    if not answers:
        score, text, start, end = null.score, "", -1, -1
    else:
        best = answers[0]
        score = best["start_logit"] + best["end_logit"]
        text, start, end = best["text"], best["start"], best["end"]
        if null_threshold is not None and null.score - score > null_threshold:
            text, start, end = "", -1, -1
    return {
        "text": text,
        "score": score,
        "null_score": null.score,
        "start": start,
        "end": end,
    }
