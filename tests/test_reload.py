"""Runs last: see pytest_collection_modifyitems in conftest.py."""

import numpy as np

import keras_bert
from keras_bert.testing import check_recorded
from keras_bert.testing import record


def tiny_backbone():
    return keras_bert.BertBackbone(
        vocabulary_size=10,
        num_layers=1,
        num_heads=1,
        hidden_dim=4,
        intermediate_dim=8,
        max_sequence_length=4,
        dropout=0.0,
        attention_dropout=0.0,
    )


def test_models_reload_in_a_new_process():
    """All recorded models, and negative controls of the comparison itself."""
    x = {"token_ids": np.array([[2, 7, 3]])}
    y = {"pooled_output": np.ones((1, 4), "float32")}
    model = tiny_backbone()
    model.compile("adam", {"pooled_output": "mse"})
    loss = model.train_on_batch(x, y)
    outputs = model.predict(x, verbose=0)
    record(model, x, outputs)

    wrong = {**outputs, "pooled_output": outputs["pooled_output"] + 0.01}
    record(model, x, wrong, problem="is off by")
    record(model, x, outputs["pooled_output"], problem="2 outputs")
    # The loss of the step before: the state must have moved on.
    record(
        model,
        x,
        outputs,
        batch=(x, y),
        next_losses=[loss],
        problem="loss 1 after loading",
    )

    report = check_recorded()
    assert report["models"] >= 4
    assert report["failed"] == 0
