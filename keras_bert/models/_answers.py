"""Gold answers of questions, as users give them."""

import warnings

from keras_bert._errors import invalid
from keras_bert.data.answer_spans import locate_answer
from keras_bert.data.answer_spans import span_of


def answer_list(y):
    """Answers as a list of (text, start); (`""`, -1) is no answer.

    `y` holds per question a dict `text` and `start`, or a list of such dicts,
    of which the first is used (an empty list is no answer); or it is one dict
    of columns, `text` and `start` of all questions.
    """
    if isinstance(y, dict):
        if set(y) != {"text", "start"}:
            raise invalid("y", "`text` and `start`", sorted(y))
        columns = [
            y[key].numpy() if hasattr(y[key], "numpy") else y[key]
            for key in ("text", "start")
        ]
        pairs = zip(*columns, strict=True)
        return [_pair(text, start, i) for i, (text, start) in enumerate(pairs)]
    found = []
    for index, answer in enumerate(y):
        if isinstance(answer, list | tuple):
            answer = answer[0] if answer else {"text": "", "start": -1}
        if not isinstance(answer, dict) or not {"text", "start"} <= set(answer):
            raise invalid(
                "y",
                "a dict of `text` and `start` per question, or a list of "
                f"such dicts (see question {index})",
                answer,
            )
        found.append(_pair(answer["text"], answer["start"], index))
    return found


def _pair(text, start, index):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "ignore")
    try:
        start = int(start)
    except (TypeError, ValueError):
        raise invalid(
            "y", f"an int `start` (see question {index})", start
        ) from None
    if start < -1 or (start >= 0) != bool(text):
        raise invalid(
            "y",
            "a text and the character where it starts, or an empty text and "
            f"-1 for no answer (see question {index})",
            {"text": text, "start": start},
        )
    return text, start


def answer_pieces(answers, contexts, windows):
    """Per question the (first, last) piece of its answer, `None` without.

    A start that is off by one is mended where that is unambiguous, and an
    answer of which the tokenizer keeps nothing is labelled as no answer; how
    many there were is said in a warning.

    Raises:
        ValueError: if an answer does not stand in its context at its start.
    """
    spans, mended, lost = [], 0, []
    pieces = windows.pieces
    for index, (text, start) in enumerate(answers):
        if start < 0:
            spans.append(None)
            continue
        place = locate_answer(contexts[index], text, start)
        if place is None:
            around = slice(max(0, start - 10), start + len(text) + 10)
            raise invalid(
                "y",
                f"an answer that stands at `start` in its context (question "
                f"{index}, where {contexts[index][around]!r} stands)",
                {"text": text, "start": start},
            )
        begin, end, was_mended = place
        mended += was_mended
        first, last = pieces.splits[windows.context[index] :][:2]
        span = span_of(
            pieces.starts[first:last], pieces.ends[first:last], begin, end
        )
        lost += [text] * (span is None)
        spans.append(span)
    if mended:
        warnings.warn(
            f"{mended} of {len(answers)} answers started one character off "
            "in `y`; they were moved to where their text stands.",
            stacklevel=5,
        )
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(answers)} answers in `y` hold nothing that "
            f"the tokenizer keeps (such as {lost[0]!r}); they were labelled "
            "as no answer.",
            stacklevel=5,
        )
    return spans
