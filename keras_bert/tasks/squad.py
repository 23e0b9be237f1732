"""SQuAD 1.1 and 2.0 and other data in their layout (XQuAD, CMRC 2018).

{"version": "v2.0", "data": [{"title": ..., "paragraphs": [
    {"context": ..., "qas": [
        {"id": ..., "question": ..., "is_impossible": false,
         "answers": [{"text": ..., "answer_start": 159}, ...]}]}]}]}
"""

import json
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.data.answer_spans import locate_answer
from keras_bert.tasks import _squad_metrics as metrics


def read(file, split=None):
    """The questions of one file.

    Answers of training data have to stand where the file says. One that is
    off by one character is moved when only one of the two places fits, and
    one that differs by upper and lower case alone (TriviaQA) is taken as the
    context has it; both are counted. Others are refused. With the split "dev"
    or "test" they are only counted, since the metric compares texts.

    Args:
        file: path of a JSON file in the layout of SQuAD.
        split: `None` or "train", "dev", "test".

    Returns a dict: `x` a pair of lists, questions and contexts; `y` per
    question a list of dicts `text` and `start`, one per gold answer, empty
    for a question without an answer (`None` for a file without answers);
    `ids`; `notes`, sentences on what was mended or looks odd.

    Raises:
        ValueError: naming the file, the question and what was expected.
    """
    return read_with_places(file, split)[0]


def read_with_places(file, split=None):
    """`read`; per question the numbers of its article and paragraph; and the
    ids of the questions that are said to have no answer."""
    questions, contexts, ids, golds, places = [], [], [], [], []
    impossible = []
    for qa, context, place, numbers in _questions(_loaded(file, "file"), file):
        places.append(numbers)
        questions.append(_field(qa, "question", place, kind=str))
        contexts.append(context)
        ids.append(qa["id"])
        golds.append(_answers(qa, place, split))
        impossible += [qa["id"]] * bool(qa.get("is_impossible"))
    if not ids:
        raise invalid("file", "at least one question", str(file))
    notes = []
    for name, texts in (("question", questions), ("context", contexts)):
        empty = [i for i, t in zip(ids, texts, strict=True) if not t.strip()]
        if empty:
            notes.append(f"{len(empty)} with an empty {name}: {named(empty)}")
    rows = {"x": (questions, contexts), "y": None, "ids": ids, "notes": notes}
    if all(gold is None for gold in golds):
        return rows, places, impossible
    for key, gold in zip(ids, golds, strict=True):
        if gold is None:
            raise invalid(
                "file",
                f"`answers` in every question of {file} or in none",
                f"question {key} without",
            )
    golds, more = _located(golds, contexts, ids, file, split)
    return {**rows, "y": golds, "notes": notes + more}, places, impossible


def evaluate(
    dataset_json,
    predictions,
    na_probs=None,
    na_prob_threshold=1.0,
    unit="words",
):
    """The official scores, equal to the last digit.

    Args:
        dataset_json: the parsed JSON of a data set (or its `data` list), or
            the path of the file.
        predictions: dict id -> text, or the path of such a JSON file.
        na_probs: dict id -> number that grows with "no answer"
            (null_odds.json), or a path. SQuAD 2.0 only.
        na_prob_threshold: float. Questions above it count as unanswered; the
            scripts' default leaves odds below 1 alone.
        unit: `"words"`, or `"characters"` for F1 on Chinese.

    Returns for data with `is_impossible` or unanswerable questions the keys
    of evaluate-v2.0.py: `exact`, `f1`, `total`, the same with `HasAns_` and
    `NoAns_`, and with `na_probs` `best_exact`, `best_exact_thresh`, `best_f1`
    and `best_f1_thresh`. For other data the keys of evaluate-v1.1.py:
    `exact_match` and `f1`. As there, a question without a prediction counts 0
    in version 1 and is left out in version 2.

    Raises:
        ValueError: if there is no prediction for any question, or `na_probs`
            lacks one.
    """
    if unit not in metrics.UNITS:
        raise invalid("unit", f"one of {metrics.UNITS}", unit)
    data = _loaded(dataset_json, "dataset_json")
    predictions = _loaded(predictions, "predictions")
    if na_probs is not None:
        na_probs = _loaded(na_probs, "na_probs")
    golds, second = {}, na_probs is not None
    argument = "dataset_json"
    for qa, _, place, _ in _questions(data, "the data", argument):
        answers = _field(qa, "answers", place, argument)
        golds[qa["id"]] = [
            _field(answer, "text", place, argument, str) for answer in answers
        ]
        second = second or "is_impossible" in qa or not answers
    return score(golds, predictions, na_probs, na_prob_threshold, second, unit)


def score(golds, predictions, na_probs, na_prob_threshold, second, unit):
    """`evaluate` on gold texts per id; `second`: by the rules of 2.0."""
    answered = [key for key in golds if key in predictions]
    if not answered:
        raise invalid(
            "predictions",
            f"the ids of the data, such as {named(list(golds))}",
            f"{len(predictions)} others: {named(list(predictions))}",
        )
    wrong = [key for key in answered if not isinstance(predictions[key], str)]
    if wrong:
        raise invalid(
            "predictions", f"a text for {wrong[0]}", predictions[wrong[0]]
        )
    if na_probs is not None:
        lacking = [key for key in answered if key not in na_probs]
        if lacking:
            raise invalid(
                "na_probs",
                "a number for each prediction",
                f"none for {named(lacking)}",
            )
    if second:
        return metrics.scores_v2(
            golds, predictions, na_probs, na_prob_threshold, unit
        )
    return metrics.scores_v1(golds, predictions, unit)


def _loaded(source, argument):
    """Parsed JSON; paths are read."""
    if not isinstance(source, str | Path):
        return source
    path = Path(source)
    if not path.is_file():
        raise invalid(argument, "an existing JSON file", str(source))
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise invalid(argument, f"JSON ({path}: {error})", path.name) from error


def _questions(data, file, argument="file"):
    """(question, context, where it stands, in numbers) of all questions."""
    if isinstance(data, list):
        data = {"data": data}
    seen, paragraphs = set(), 0
    for number, article in enumerate(_field(data, "data", file, argument)):
        place = f"article {number} of {file}"
        parts = _field(article, "paragraphs", place, argument)
        for index, part in enumerate(parts):
            here = f"paragraph {index} of {place}"
            context = _field(part, "context", here, argument, str)
            for qa in _field(part, "qas", here, argument):
                key = _field(qa, "id", here, argument, str)
                if key in seen:
                    raise invalid(
                        argument, f"ids that occur once in {file}", key
                    )
                seen.add(key)
                where = f"question {key} of {file}"
                yield qa, context, where, (number, paragraphs)
            paragraphs += 1


def _field(parent, key, place, argument="file", kind=list):
    found = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(found, kind):
        name = "list" if kind is list else "string"
        raise invalid(
            argument,
            f"the layout of SQuAD: a {name} `{key}` in {place}",
            found,
        )
    return found


def _answers(qa, place, split):
    """The gold answers; `[]` if there are none, `None` if nobody says so."""
    # Training looks at is_impossible first, the official scores at answers.
    if qa.get("is_impossible") and split not in ("dev", "test"):
        return []
    if "answers" not in qa:
        return [] if qa.get("is_impossible") else None
    found = []
    for answer in _field(qa, "answers", place):
        text = _field(answer, "text", place, kind=str)
        start = answer.get("answer_start")
        if split in ("dev", "test") and not isinstance(start, int):
            start = -1
        elif split not in ("dev", "test") and (
            not isinstance(start, int) or start < 0 or not text
        ):
            raise invalid(
                "file", f"a text and an `answer_start` in {place}", answer
            )
        found.append({"text": text, "start": start})
    return found


def _located(golds, contexts, ids, file, split):
    """The answers at the places where they stand, and notes on them."""
    strict = split not in ("dev", "test")
    mended, cased, lost, found = [], [], [], []
    for key, context, answers in zip(ids, contexts, golds, strict=True):
        kept = []
        for answer in answers:
            text, start = answer["text"], answer["start"]
            place = locate_answer(context, text, start)
            if place is not None:
                mended += [key] * place[2]
                answer = {"text": text, "start": place[0]}
            elif strict and _same_letters(context, text, start):
                cased.append(key)
                text = context[start : start + len(text)]
                answer = {"text": text, "start": start}
            elif strict:
                stands = _whereabouts(context, text, start)
                raise invalid(
                    "file",
                    f"an answer that stands at `answer_start` in its context "
                    f"(question {key} of {file}; {stands})",
                    {"text": text, "answer_start": start},
                )
            else:
                lost.append(key)
            kept.append(answer)
        found.append(kept)
    notes = []
    if mended:
        notes.append(
            f"{len(mended)} answers started one character off and were moved: "
            f"{named(mended)}"
        )
    if cased:
        notes.append(
            f"{len(cased)} answers differ from their context by upper and "
            f"lower case and were taken from there: {named(cased)}"
        )
    if lost:
        notes.append(
            f"{len(lost)} answers do not stand at their answer_start (the "
            f"metric compares texts): {named(lost)}"
        )
    return found, notes


def _same_letters(context, text, start):
    return context[start : start + len(text)].lower() == text.lower()


def _whereabouts(context, text, start):
    """Where an answer stands that is not where the file says."""
    if text not in context:
        return "it does not occur"
    sides = (max(0, start - 1), start + 1)
    if all(context.startswith(text, place) for place in sides):
        return f"it stands at {sides[0]} and {sides[1]}, either may be meant"
    return f"it stands at {context.index(text)}"


def named(keys, count=3):
    named = ", ".join(map(str, keys[:count]))
    return f"{named}, ..." if len(keys) > count else named
