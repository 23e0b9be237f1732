"""The official metrics of GLUE and XNLI."""

import numpy as np

from keras_bert._errors import invalid
from keras_bert.tasks._glue_layouts import GLUE


def score(task, y_true, y_pred):
    """The official metrics, each from 0 to 1 (or -1 to 1).

    Args:
        task: one of the names in `keras_bert.tasks.glue`.
        y_true: label names (numbers for sts-b).
        y_pred: the same, or class ids in the order of the task's labels.

    Returns a dict of those that the task has: "matthews", "accuracy", "f1"
    (of class "1"), "pearson", "spearman". A correlation with constant
    predictions is 0.

    Raises:
        ValueError: for another number of predictions, unknown labels, and
            numbers that are not finite.
    """
    if task not in GLUE:
        raise invalid("task", f"one of {', '.join(GLUE)}", task)
    data = GLUE[task]
    if len(y_true) != len(y_pred) or len(y_true) == 0:
        raise invalid(
            "y_pred", f"as many as y_true, {len(y_true)}, and not 0",
            f"{len(y_pred)} predictions",
        )  # fmt: skip
    if data.labels is None:
        y_true = _numbers(y_true, "y_true")
        y_pred = _numbers(y_pred, "y_pred")
    else:
        y_true = _names(y_true, data.labels, "y_true")
        y_pred = _names(y_pred, data.labels, "y_pred")
    return {name: _METRICS[name](y_true, y_pred) for name in data.metrics}


def figures(task, y_true, y_pred):
    """The metrics, their mean as `score`, and what no reading would reach.

    `chance` is the score of the commonest label (0 for correlations). A model
    that has diverged gives no finite numbers: they correlate with nothing,
    and its metrics are 0.
    """
    data = GLUE[task]
    if data.labels is None and not np.isfinite(y_pred).all():
        found = dict.fromkeys(data.metrics, 0.0)
    else:
        found = score(task, y_true, y_pred)
    chance = 0.0
    if data.labels is not None:
        names, counts = np.unique(list(y_true), return_counts=True)
        common = [str(names[counts.argmax()])] * len(y_true)
        chance = _mean(score(task, y_true, common))
    return {
        "score": _mean(found), **found,
        "chance": chance, "examples": len(y_true),
    }  # fmt: skip


def libraries():
    """scikit-learn's metrics and scipy's statistics, which are an extra."""
    try:
        import scipy.stats
        import sklearn.metrics
    except ImportError as error:
        raise ImportError(
            "The official metrics need scikit-learn and scipy: "
            "pip install keras3-bert[eval]"
        ) from error
    return sklearn.metrics, scipy.stats


def _names(y, labels, argument):
    names = []
    for value in y:
        if isinstance(value, float | np.floating) and value.is_integer():
            value = int(value)
        if isinstance(value, int | np.integer) and str(value) not in labels:
            value = labels[value] if 0 <= value < len(labels) else value
        value = str(value)
        if value not in labels:
            raise invalid(argument, f"labels out of {', '.join(labels)}", value)
        names.append(value)
    return names


def _numbers(y, argument):
    try:
        numbers = np.asarray(y, "float64")
    except (TypeError, ValueError):
        raise invalid(argument, "numbers", y) from None
    if not np.isfinite(numbers).all():
        first = int(np.argmin(np.isfinite(numbers)))
        raise invalid(argument, f"finite numbers (see position {first})", y)
    return numbers


def _correlation(name):
    def measure(y_true, y_pred):
        if np.ptp(y_true) == 0 or np.ptp(y_pred) == 0:
            return 0.0
        return float(getattr(libraries()[1], name)(y_true, y_pred)[0])

    return measure


_METRICS = {
    "accuracy": lambda y, found: float(libraries()[0].accuracy_score(y, found)),
    "f1": lambda y, found: float(
        libraries()[0].f1_score(y, found, pos_label="1", zero_division=0)
    ),
    "matthews": lambda y, found: float(
        libraries()[0].matthews_corrcoef(y, found)
    ),
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
}


def _mean(values):
    return float(np.mean(list(values.values())))
