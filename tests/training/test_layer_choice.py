"""Layer-wise rates, frozen layers, layers drawn anew, best weights."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.training import BestWeights
from keras_bert.training import layer_choice

ROWS = {"token_ids": np.array([[2, 5, 6, 3], [2, 7, 8, 3]], "int32")}


def _classifier(**arguments):
    keras.utils.set_random_seed(0)
    backbone = keras_bert.BertBackbone(
        vocabulary_size=10, num_layers=3, num_heads=2, hidden_dim=8,
        intermediate_dim=16, max_sequence_length=8, dropout=0.0,
        attention_dropout=0.0, name="backbone",
    )  # fmt: skip
    return keras_bert.BertTextClassifier(
        backbone, num_classes=2, dropout=0.0, name="classifier", **arguments
    )


def _values(model):
    return {
        v.path: keras.ops.convert_to_numpy(v) for v in model.trainable_variables
    }


def test_factors_fall_from_the_top_block_to_the_embeddings():
    factors = layer_choice.layer_wise_factors(_classifier().backbone, 0.5)
    # By hand, for three blocks.
    assert factors == {
        "encoder_block_2/": 1.0,
        "encoder_block_1/": 0.5,
        "encoder_block_0/": 0.25,
        "embeddings/": 0.125,
    }


@pytest.mark.parametrize("correction", [True, False])
def test_a_factor_scales_the_step_and_the_decay_of_its_variables(correction):
    """One step from equal weights: the change is the factor times as large."""

    def change(factors):
        model = _classifier()
        before = _values(model)
        model.compile(
            keras_bert.AdamW(
                1e-3, weight_decay=0.1, rate_factors=factors,
                bias_correction=correction,
            )
        )  # fmt: skip
        model.train_on_batch(ROWS, np.array([0, 1]))
        after = _values(model)
        return {path: after[path] - before[path] for path in before}

    whole = change(None)
    factors = layer_choice.layer_wise_factors(_classifier().backbone, 0.5)
    scaled = change(factors)
    for path, expected in whole.items():
        factor = next((f for part, f in factors.items() if part in path), 1.0)
        np.testing.assert_allclose(
            scaled[path], factor * expected, rtol=2e-2, atol=2e-7
        )
        assert np.any(expected != 0), path
    changed = [path for path in whole if "encoder_block_0/" in path]
    assert changed


def test_factors_are_in_the_config():
    optimizer = keras_bert.AdamW(rate_factors={"encoder_block_0/": 0.5})
    again = keras_bert.AdamW.from_config(optimizer.get_config())
    assert again.rate_factors == {"encoder_block_0/": 0.5}


def test_frozen_layers_stay_as_they_are():
    model = _classifier()
    layer_choice.freeze_bottom(model.backbone, 2)
    model.compile(keras_bert.AdamW(1e-2))
    before = [v.numpy() for v in model.backbone.embeddings.weights]
    names = {v.path for v in model.trainable_variables}
    assert not any("embeddings/" in n or "block_0/" in n for n in names)
    assert any("block_2/" in n for n in names)
    model.train_on_batch(ROWS, np.array([0, 1]))
    after = [v.numpy() for v in model.backbone.embeddings.weights]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_top_is_drawn_anew_and_the_rest_is_kept():
    model = _classifier()
    for variable in model.backbone.trainable_variables:
        variable.assign(keras.ops.full(variable.shape, 7.0))
    layer_choice.reinitialise_top(model.backbone, 1)
    for path, value in _values(model).items():
        if "encoder_block_2/" not in path and "pooled_dense" not in path:
            if "logits" not in path:
                assert (value == 7).all(), path
        elif path.endswith("kernel"):
            # A truncated normal of deviation 0.02, cut at two deviations.
            assert 0 < np.abs(value).max() <= 0.04 and value.std() > 0.005
        else:
            assert (value == float(path.endswith("gamma"))).all(), path


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda b: layer_choice.layer_wise_factors(b, 0.0), "layer_decay"),
        (lambda b: layer_choice.layer_wise_factors(b, 1.5), "layer_decay"),
        (lambda b: layer_choice.freeze_bottom(b, 4), "freeze_layers"),
        (lambda b: layer_choice.reinitialise_top(b, 0), "reinitialise_layers"),
        (lambda b: layer_choice.reinitialise_top(b, 4), "reinitialise_layers"),
    ],
)
def test_refusals_name_the_argument(call, argument):
    with pytest.raises(ValueError, match=f"`{argument}`"):
        call(_classifier().backbone)


def test_the_best_weights_are_kept_and_the_run_stops_early():
    model = _classifier()
    model.compile(keras_bert.AdamW(1e-2))
    scores, seen = iter([0.2, 0.9, 0.9, 0.1, 0.8]), []

    def measure():
        # As a task does: predictions in the middle of fit.
        seen.append(model.predict(ROWS, verbose=0))
        return next(scores)

    best = BestWeights(measure, patience=2)
    history = model.fit(
        ROWS, np.array([0, 1]), epochs=5, verbose=0, callbacks=[best]
    )
    # An equal score is no better one: epoch 2 is the best, 4 the last.
    assert history.history["dev_score"] == [0.2, 0.9, 0.9, 0.1]
    assert best.best_epoch == 1
    np.testing.assert_allclose(
        model.predict(ROWS, verbose=0), seen[1], rtol=1e-5
    )
    assert np.abs(seen[3] - seen[1]).max() > 1e-3


def test_arguments_that_no_run_can_mean_are_refused():
    model = _classifier()
    for rate in ("fast", -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="`learning_rate`"):
            model.compile(learning_rate=rate)
    for epochs in (0, -1, 1.5):
        with pytest.raises(ValueError, match="`epochs`"):
            model.fit(ROWS, np.array([0, 1]), epochs=epochs)
    with pytest.raises(ValueError, match="`labels`"):
        keras_bert.BertTextClassifier(model.backbone, labels=["a"])
