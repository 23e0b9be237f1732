"""Answers that no span of pieces gives exactly, and why."""

from keras_bert.data.answer_spans import locate_answer
from keras_bert.data.answer_spans import span_of

REASONS = {
    "part of a word": "begin or end inside a piece: the whole piece is given",
    "white space": "begin or end with white space, which is left out",
    "lost characters": "begin or end with characters that the tokenizer "
    "deletes",
    "no window": "fit whole into no window",
    "not there": "do not stand in their context",
}


def inexact(preprocessor, rows):
    """The gold answers that cannot be given as they are written.

    Args:
        preprocessor: a `BertQuestionAnswererPreprocessor`.
        rows: as `squad.read` gives them.

    Returns a list of dicts `id`, `text` (of the answer), `label` (the text
    that is marked instead, "" for none) and `reason`, a key of `REASONS`.
    """
    questions, contexts = rows["x"]
    windows = preprocessor.windows(questions, contexts)
    pieces = windows.pieces
    found = []
    for number, (context, answers) in enumerate(
        zip(contexts, rows["y"], strict=True)
    ):
        begin, end = pieces.splits[windows.context[number] :][:2]
        starts, ends = pieces.starts[begin:end], pieces.ends[begin:end]
        rows_here = slice(*windows.splits[number : number + 2])
        for answer in answers:
            text = answer["text"]
            place = locate_answer(context, text, answer["start"])
            span = place and span_of(starts, ends, *place[:2])
            label, reason = "", "not there"
            if span is not None:
                left, right = int(starts[span[0]]), int(ends[span[1]])
                label = context[left:right]
                reason = _reason(text, label, place, left, right)
                if not _whole(windows, rows_here, span):
                    label, reason = "", "no window"
            elif place is not None:
                reason = "lost characters"
            if reason is not None:
                found.append(
                    {
                        "id": rows["ids"][number],
                        "text": text,
                        "label": label,
                        "reason": reason,
                    }
                )
    return found


def _reason(text, label, place, left, right):
    if label == text:
        return None
    if left < place[0] or right > place[1]:
        return "part of a word"
    if label == text.strip():
        return "white space"
    return "lost characters"


def _whole(windows, rows, span):
    """Whether some window of a question holds a whole span."""
    starts, sizes = windows.start[rows], windows.size[rows]
    return bool(((starts <= span[0]) & (starts + sizes > span[1])).any())


def notes(preprocessor, rows):
    """Sentences that count what `inexact` finds."""
    found = inexact(preprocessor, rows)
    total = sum(map(len, rows["y"]))
    sentences = []
    for reason, meaning in REASONS.items():
        some = [one for one in found if one["reason"] == reason]
        if some:
            sentences.append(
                f"{len(some)} of {total:,} answers {meaning} (such as "
                f"{some[0]['text'][:60]!r}, given as "
                f"{some[0]['label'][:60]!r})"
            )
    return sentences
