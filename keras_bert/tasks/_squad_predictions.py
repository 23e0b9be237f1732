"""From n-best spans to the three files of run_squad.py, and ensembles.

Predictions are a dict: `nbest`, per id a list of dicts `text`, `probability`,
`start_logit`, `end_logit`, best first; `null_odds`, per id the score of "no
answer" less that of the best text, or `None` for SQuAD 1.1; `threshold`, above
which the odds make the answer "".

Source: `write_predictions` of
https://github.com/google-research/bert/blob/master/run_squad.py
"""

import json
import math
from pathlib import Path

from keras_bert._errors import invalid
from keras_bert.tasks import _squad_metrics as metrics

FILES = ("predictions.json", "nbest_predictions.json", "null_odds.json")


def predictions_of(ids, ranked, n_best, threshold, second):
    """The predictions of one model.

    Args:
        ids: of the questions.
        ranked: per question the answers and the null span, as
            `predict_n_best` gives them.
        n_best: int, how many entries are kept; "" is kept besides.
        threshold: float, for SQuAD 2.0.
        second: bool, whether "no answer" is an answer.
    """
    nbest, odds = {}, {}
    for key, (answers, null) in zip(ids, ranked, strict=True):
        nbest[key] = _entries(answers, null if second else None, n_best)
        if second:
            # Without any span the null score is compared with nothing, and
            # "" is the answer whatever the threshold.
            best = _score(answers[0]) if answers else null.score
            odds[key] = null.score - best
    return {
        "nbest": nbest,
        "null_odds": odds if second else None,
        "threshold": threshold,
    }


def _score(entry):
    return entry["start_logit"] + entry["end_logit"]


def _entries(answers, null, n_best):
    entries = [
        {key: answer[key] for key in ("text", "start_logit", "end_logit")}
        for answer in answers[:n_best]
    ]
    if null is not None:
        entries.append(
            {
                "text": "",
                "start_logit": null.start_logit,
                "end_logit": null.end_logit,
            }
        )
        # Stable: of equal scores a span stands before the null span.
        entries.sort(key=lambda entry: -_score(entry))
        if len(entries) > n_best and entries[-1]["text"]:
            del entries[-1]
    if not entries:
        entries = [{"text": "", "start_logit": 0.0, "end_logit": 0.0}]
    most = max(map(_score, entries))
    weights = [math.exp(_score(entry) - most) for entry in entries]
    return [
        {
            "text": entry["text"],
            "probability": weight / sum(weights),
            "start_logit": entry["start_logit"],
            "end_logit": entry["end_logit"],
        }
        for entry, weight in zip(entries, weights, strict=True)
    ]


def combined(several):
    """The ensemble: probabilities of equal texts are averaged over the runs.

    A run that did not list a text gives it 0. Null odds and thresholds are
    averaged as well.
    """
    count = len(several)
    nbest = {}
    for key in several[0]["nbest"]:
        merged = {}
        for one in several:
            for entry in one["nbest"][key]:
                total = merged.setdefault(
                    entry["text"], {"text": entry["text"], "runs": 0}
                )
                total["runs"] += 1
                for name in ("probability", "start_logit", "end_logit"):
                    total[name] = total.get(name, 0.0) + entry[name]
        for total in merged.values():
            total["probability"] /= count
            runs = total.pop("runs")
            total["start_logit"] /= runs
            total["end_logit"] /= runs
        nbest[key] = sorted(
            merged.values(), key=lambda entry: -entry["probability"]
        )
    odds = [one["null_odds"] for one in several]
    if any(one is None for one in odds):
        odds = None
    else:
        odds = {key: sum(one[key] for one in odds) / count for key in odds[0]}
    thresholds = [one["threshold"] or 0.0 for one in several]
    return {
        "nbest": nbest,
        "null_odds": odds,
        "threshold": sum(thresholds) / count,
    }


def texts(predictions, always=False):
    """The answer to each question; `always`: never "" if there is a span."""
    odds = predictions["null_odds"]
    found = {}
    for key, entries in predictions["nbest"].items():
        named = [entry["text"] for entry in entries if entry["text"]]
        silent = (
            odds is not None
            and not always
            and odds[key] > predictions["threshold"]
        )
        found[key] = "" if silent or not named else named[0]
    return found


def tuned(predictions, golds, unit):
    """The best F1 and exact match over all thresholds, and these.

    `chance` is the score of never giving an answer.

    Found as the official script finds `best_f1`, but on the texts that would
    be given if every question were answered, so that a threshold above the
    present one is found as well. Where nothing beats no answer at all the
    script says 0; here it is a threshold below all odds, which gives that.
    """
    odds = predictions["null_odds"]
    answers = texts(predictions, always=True)
    scores = metrics.raw_scores(golds, answers, unit)
    silence = 100.0 * sum(not golds[key] for key in golds) / len(golds)
    result = {"chance": silence}
    for name, values in zip(("exact", "f1"), scores, strict=True):
        best, threshold = metrics.best_threshold(
            golds, answers, values, odds, ties=True
        )
        if best == silence:
            threshold = min(odds.values()) - 1.0
        result[f"tuned_{name}"] = best
        result[f"tuned_{name}_threshold"] = threshold
    return result


def write(predictions, folder):
    """The three files into a new or empty folder; the paths."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise invalid("-o", "a new or empty folder", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    contents = (
        texts(predictions), predictions["nbest"], predictions["null_odds"],
    )  # fmt: skip
    written = []
    for name, content in zip(FILES, contents, strict=True):
        if content is None:
            continue
        written.append(folder / name)
        written[-1].write_text(
            json.dumps(content, indent=4, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
    return written
