"""The official scores of SQuAD 1.1 and 2.0, as functions of texts.

Both scripts compare normalised texts: lower case, ASCII punctuation deleted,
the articles a, an and the replaced by a space, white space collapsed. Exact
match is equality, F1 the overlap of words as multisets; a question counts the
best of its gold answers. Sums run in the order of the data, as in the scripts,
so that the last digit agrees.

F1 by characters is for text without spaces between words: a Chinese character
is a word of its own, punctuation of any script is deleted and articles stay.

Source: evaluate-v1.1.py and evaluate-v2.0.py of
https://rajpurkar.github.io/SQuAD-explorer/; Lewis et al. (2020), MLQA, for
the characters.
"""

import collections
import functools
import operator
import re
import string
import unicodedata

UNITS = ("words", "characters")
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_DELETED = str.maketrans("", "", string.punctuation)
_CHINESE = re.compile("([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def words_of(text, unit="words"):
    """The normalised words of a text."""
    text = text.lower()
    if unit == "characters":
        kept = (c for c in text if not unicodedata.category(c).startswith("P"))
        text = "".join(kept).translate(_DELETED)
        return _CHINESE.sub(r" \1 ", text).split()
    return _ARTICLES.sub(" ", text.translate(_DELETED)).split()


def overlap(gold, found):
    """F1 of two lists of words."""
    common = collections.Counter(gold) & collections.Counter(found)
    same = sum(common.values())
    if same == 0:
        return 0.0
    precision = same / len(found)
    recall = same / len(gold)
    return 2 * precision * recall / (precision + recall)


def raw_scores(golds, predictions, unit="words", second=True):
    """Exact match and F1 per question, before any threshold.

    The versions differ where the normalised texts are empty ("The"): version
    2 leaves out such gold answers and gives two empty texts the F1 of 1,
    version 1 does neither.

    Args:
        golds: dict id -> list of answer texts; empty means no answer.
        predictions: dict id -> text. Questions that it lacks are left out.
        unit: `"words"` or `"characters"`.
        second: bool, whether by the rules of version 2.

    Returns two dicts id -> float, in the order of `golds`.
    """
    exact, f1 = {}, {}
    for key, texts in golds.items():
        if key not in predictions:
            continue
        wanted = [words_of(text, unit) for text in texts]
        if second:
            wanted = [words for words in wanted if words]
        wanted = wanted or [[]]
        found = words_of(predictions[key], unit)
        exact[key] = max(float(words == found) for words in wanted)
        if second and not (found and wanted[0]):
            f1[key] = exact[key]
        else:
            f1[key] = max(overlap(words, found) for words in wanted)
    return exact, f1


def scores_v1(golds, predictions, unit="words"):
    """`exact_match` and `f1`; a question without a prediction counts 0."""
    exact, f1 = raw_scores(golds, predictions, unit, second=False)
    total = len(golds)
    # One by one, as the script does: `sum` rounds otherwise since Python 3.12.
    exact, f1 = (
        functools.reduce(operator.add, scores.values(), 0.0)
        for scores in (exact, f1)
    )
    return {"exact_match": 100.0 * exact / total, "f1": 100.0 * f1 / total}


def scores_v2(golds, predictions, na_probs, na_prob_threshold, unit="words"):
    """The figures of evaluate-v2.0.py without the precision-recall curves.

    Args:
        golds, predictions, unit: as for `raw_scores`.
        na_probs: dict id -> number that grows with "no answer", or `None`.
        na_prob_threshold: float. Above it a question counts as unanswered.
    """
    raw = raw_scores(golds, predictions, unit)
    odds = dict.fromkeys(predictions, 0.0) if na_probs is None else na_probs
    exact, f1 = (
        {
            key: float(not golds[key]) if odds[key] > na_prob_threshold else s
            for key, s in scores.items()
        }
        for scores in raw
    )
    result = _means(exact, f1)
    for prefix, has_answer in (("HasAns", True), ("NoAns", False)):
        keys = [key for key in exact if bool(golds[key]) is has_answer]
        if keys:
            part = _means(*({k: s[k] for k in keys} for s in (exact, f1)))
            for name, value in part.items():
                result[f"{prefix}_{name}"] = value
    if na_probs is not None:
        result |= best_thresholds(golds, predictions, na_probs, unit)
    return result


def _means(exact, f1):
    total = len(exact)
    return {
        "exact": 100.0 * sum(exact.values()) / total,
        "f1": 100.0 * sum(f1.values()) / total,
        "total": total,
    }


def best_thresholds(golds, predictions, na_probs, unit="words"):
    """`best_exact`, `best_f1` and their thresholds, as the script has them."""
    result = {}
    raw = raw_scores(golds, predictions, unit)
    for name, scores in zip(("exact", "f1"), raw, strict=True):
        best, threshold = best_threshold(golds, predictions, scores, na_probs)
        result[f"best_{name}"] = best
        result[f"best_{name}_thresh"] = threshold
    return result


def best_threshold(golds, predictions, scores, na_probs, ties=False):
    """The best score over all thresholds, in percent, and that threshold.

    Every question starts unanswered, which is right for those without an
    answer; by rising `na_probs` one after the other gets its prediction.
    The script also stops between questions of equal `na_probs`, at a score
    that no threshold gives; with `ties` they are answered together.
    """
    current = sum(1 for key in scores if not golds[key])
    best, threshold = current, 0.0
    order = [key for key in sorted(na_probs, key=na_probs.get) if key in scores]
    for key, after in zip(order, [*order[1:], None], strict=True):
        if golds[key]:
            current += scores[key]
        elif predictions[key]:
            current -= 1
        if ties and after is not None and na_probs[after] == na_probs[key]:
            continue
        if current > best:
            best, threshold = current, na_probs[key]
    return 100.0 * best / len(scores), threshold
