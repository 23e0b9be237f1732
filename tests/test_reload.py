"""Runs last: see pytest_collection_modifyitems in conftest.py."""

import numpy as np
import pytest

import keras_bert
from keras_bert.testing import check_recorded
from keras_bert.testing import reloading


def tiny_backbone():
    return keras_bert.BertBackbone(
        vocabulary_size=10,
        num_layers=1,
        num_heads=1,
        hidden_dim=4,
        intermediate_dim=8,
        max_sequence_length=4,
    )


def test_models_reload_in_a_new_process():
    x = {"token_ids": np.array([[2, 7, 3]])}
    model = tiny_backbone()
    reloading.record(model, x, model.predict(x, verbose=0))
    report = check_recorded()
    assert report["models"] >= 1
    assert report["failed"] == 0


def test_a_wrong_output_of_the_new_process_is_reported(monkeypatch):
    """Negative control: the check can fail."""
    monkeypatch.setattr(reloading, "_RECORDS", [])
    x = {"token_ids": np.array([[2, 7, 3]])}
    model = tiny_backbone()
    outputs = model.predict(x, verbose=0)
    outputs["pooled_output"] = outputs["pooled_output"] + 0.01
    reloading.record(model, x, outputs)
    with pytest.raises(AssertionError, match="is off by"):
        check_recorded()
