"""The contract of all models, kept by the task models of the foundation."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.testing import check_fully_padded_row
from keras_bert.testing import check_model
from keras_bert.testing import check_packing_invariance
from keras_bert.testing import check_padding_invariance


def _backbone(**arguments):
    return keras_bert.BertBackbone(
        vocabulary_size=20,
        num_layers=2,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        max_sequence_length=40,
        dropout=0.0,
        attention_dropout=0.0,
        initializer_range=0.2,
        **arguments,
    )


def classifier(num_classes=3, **arguments):
    return keras_bert.BertTextClassifier(
        _backbone(**arguments), num_classes=num_classes, dropout=0.0
    )


def regressor(**arguments):
    return classifier(num_classes=1, **arguments)


def masked_lm(**arguments):
    return keras_bert.BertMaskedLM(_backbone(**arguments))


def pretrainer(**arguments):
    return keras_bert.BertPretrainer(_backbone(**arguments))


_RNG = np.random.default_rng(0)
_ROWS = {
    "token_ids": _RNG.integers(5, 20, (4, 8)).astype("int32"),
    "segment_ids": np.tile(np.arange(8) // 4, (4, 1)).astype("int32"),
    "padding_mask": (np.arange(8) < np.array([[8], [6], [4], [2]])).astype(
        "int32"
    ),
}
_MASKED = {
    **_ROWS,
    "mask_positions": np.array([[1, 2], [3, 0], [1, 0], [1, 0]], "int32"),
}
_MASK_IDS = np.array([[5, 6], [7, 0], [8, 0], [9, 0]], "int32")
_MASK_WEIGHTS = np.array([[1, 1], [1, 0], [1, 0], [1, 0]], "float32")
_PAIRS = np.array([0, 1, 1, 0], "int32")

# build, x, y, sample_weight
CASES = {
    "classifier": (classifier, _ROWS, np.array([0, 1, 2, 0]), None),
    "regressor": (regressor, _ROWS, np.array([0.0, 1.0, 2.0, 0.5]), None),
    "masked_lm": (masked_lm, _MASKED, _MASK_IDS, _MASK_WEIGHTS),
    "pretrainer": (
        pretrainer,
        _MASKED,
        {"mask_ids": _MASK_IDS, "next_sentence": _PAIRS},
        {
            "mask_ids": _MASK_WEIGHTS,
            "next_sentence": np.ones(4, "float32"),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_task_models_keep_the_contract(name):
    build, x, y, sample_weight = CASES[name]
    check_model(
        build,
        x,
        y,
        sample_weight,
        compile_arguments={
            "optimizer": keras_bert.AdamW(
                keras_bert.WarmupDecay(5e-3, warmup=2, total_steps=50)
            )
        },
    )


def test_packing_leaves_both_tasks_of_the_first_pair_alone():
    model = pretrainer()
    check_packing_invariance(
        model,
        model.backbone.token_embedding,
        {"mask_positions": np.array([[1, 8]], "int32")},
    )


def test_padding_changes_no_class():
    check_padding_invariance(classifier())


def test_a_fully_padded_row_is_finite():
    check_fully_padded_row(classifier)


def test_compute_dtypes():
    with_policy = pretrainer(dtype="mixed_bfloat16")
    out = with_policy(_MASKED)
    assert {keras.backend.standardize_dtype(v.dtype) for v in out.values()} == {
        "float32"
    }
    assert all(
        keras.backend.standardize_dtype(v.dtype) == "float32"
        for v in with_policy.trainable_variables
    )
    hidden = with_policy.backbone(_ROWS)["sequence_output"]
    assert keras.backend.standardize_dtype(hidden.dtype) == "bfloat16"
