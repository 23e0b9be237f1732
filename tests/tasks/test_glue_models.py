"""Which models fit a task of GLUE, and scores of predictions that do not."""

import math
import sys
import types

import numpy as np
import pytest

from keras_bert.tasks import glue
from keras_bert.tasks.glue import GLUE_TASKS

TASKS = {task.name: task for task in GLUE_TASKS}


def _classifier(outputs, labels=None):
    """What `predict` uses of a text classifier."""
    outputs = np.asarray(outputs, "float32")
    return types.SimpleNamespace(
        classify=None,
        labels=labels,
        num_classes=1 if outputs.ndim == 1 else outputs.shape[-1],
        _output_name="logits",
        predict=lambda x, **_: outputs,
    )


NUMBER = _classifier([1.5, 2.5])
TWO = [[0.0, 1.0], [1.0, 0.0]]
THREE = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("mnli", _classifier(TWO, ["0", "1"]), "contradiction, .*'0', '1'"),
        ("rte", _classifier(TWO, ["0", "1"]), "entailment, .*'0', '1'"),
        ("mnli", _classifier(TWO), "contradiction, .*2 classes"),
        ("cola", NUMBER, "labels 0, 1.*one number"),
        ("sts-b", _classifier(TWO, ["0", "1"]), "one number.*'0', '1'"),
        ("sts-b", _classifier(TWO), "one number.*2 classes"),
    ],
)
def test_a_model_of_another_task_is_refused(task, model, message):
    with pytest.raises(ValueError, match=f"`model`.*{message}"):
        TASKS[task].predict(model, {"x": ["a", "b"]})


def test_a_model_of_the_labels_predicts_them_in_whatever_order():
    rows = {"x": ["a", "b"]}
    # The order of GLUE: contradiction, entailment, neutral.
    for labels, expected in (
        (None, ["neutral", "contradiction"]),
        (["entailment", "neutral", "contradiction"],
         ["contradiction", "entailment"]),
    ):  # fmt: skip
        found = TASKS["mnli"].predict(_classifier(THREE, labels), rows)
        assert found["predicted"] == expected
    found = TASKS["cola"].predict(_classifier(TWO), rows)
    assert found["predicted"] == ["1", "0"] and found["labels"] == ["0", "1"]
    found = TASKS["sts-b"].predict(NUMBER, rows)
    assert found["predicted"] == [1.5, 2.5] and found["labels"] is None


@pytest.mark.parametrize("value", [math.inf, math.nan, 0.5])
def test_a_class_is_no_broken_number(value):
    with pytest.raises(ValueError, match="`y_pred`.*labels out of 0, 1"):
        glue.score("cola", ["1"], [value])
    assert glue.score("cola", ["1", "0"], [1.0, 0.0]) == {"matthews": 1.0}


@pytest.mark.parametrize("value", [math.inf, math.nan, None, "high"])
def test_a_score_is_a_finite_number(value):
    with pytest.raises(ValueError, match="`y_pred`.*numbers"):
        glue.score("sts-b", [1.0, 2.0], [1.0, value])
    with pytest.raises(ValueError, match="`y_true`.*numbers"):
        glue.score("sts-b", [1.0, value], [1.0, 2.0])


def test_a_run_that_diverged_has_the_score_0():
    figures = TASKS["sts-b"].score(
        {"y": [1.0, 2.0, 3.0]}, {"scores": np.array([1.0, math.nan, 3.0])}
    )
    assert (figures["pearson"], figures["score"]) == (0.0, 0.0)
    assert figures["examples"] == 3


def test_missing_libraries_are_told_before_the_training(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(ImportError, match=r"keras3-bert\[eval\]"):
        TASKS["cola"].model_arguments({})
