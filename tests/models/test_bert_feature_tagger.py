"""The feature-based tagger: a frozen encoder under BiLSTMs."""

import keras
import numpy as np
import pytest

import keras_bert

X = [["the", "fox", "jumps"], ["a", "lazy", "dog", "jumps", "over", "it"]]
Y = [["O", "A", "O"], ["O", "O", "A", "O", "O", "O"]]


@pytest.fixture(scope="module")
def make(tokenizer, make_backbone):
    def make(**arguments):
        keras.utils.set_random_seed(1)
        return keras_bert.BertFeatureTagger(
            make_backbone(),
            preprocessor=tokenizer,
            labels=["O", "A"],
            **{
                "hidden_layers": [0, 1, 2],
                "combine": "weighted",
                "lstm_units": 6,
                "dropout": 0.0,
                **arguments,
            },
        )

    return make


@pytest.fixture(scope="module")
def trained(make):
    model = make()
    before = [keras.ops.convert_to_numpy(v) for v in model.backbone.weights]
    model.compile(learning_rate=0.03)
    model.fit(X, Y, epochs=150, verbose=0)
    return model, before


def test_a_toy_task_is_learned_and_the_encoder_stays(trained):
    model, before = trained
    assert model.tag(X) == Y
    for old, variable in zip(before, model.backbone.weights, strict=True):
        np.testing.assert_array_equal(old, keras.ops.convert_to_numpy(variable))
    # Two LSTMs of two directions with three arrays each, the weights of the
    # layers, and a kernel and bias on top.
    assert len(model.trainable_variables) == 2 * 2 * 3 + 1 + 2
    weights = keras.ops.convert_to_numpy(model.layer_mix.layer_weights)
    assert np.abs(weights).max() > 0


@pytest.mark.parametrize(
    ("layers", "combine", "size"),
    [([0], None, 16), ([-2, -1], "concat", 32), (None, "weighted", 16)],
)
def test_the_first_lstm_reads_what_is_combined(make, layers, combine, size):
    model = make(hidden_layers=layers, combine=combine)
    (kernel,) = (
        v for v in model.weights
        if "lstm_0/forward" in v.path and v.path.endswith("lstm_cell/kernel")
    )  # fmt: skip
    assert tuple(kernel.shape) == (size, 4 * 6)


def test_padding_and_the_rows_beside_change_nothing(trained):
    model, _ = trained
    alone = model.predict(X[:1], verbose=0)[0]
    together = model.predict(X, verbose=0)[0]
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_the_logits_are_those_of_keras_layers_alone(trained):
    """Hidden states, mean, two BiLSTMs and a dense layer, one by one."""
    model, _ = trained
    rows = {
        "token_ids": np.array([[2, 5, 7, 8, 3]], "int32"),
        "padding_mask": np.ones((1, 5), "int32"),
    }
    states = [
        keras.ops.convert_to_numpy(s)
        for s in model.backbone.hidden_states(rows)
    ]
    mix = np.exp(keras.ops.convert_to_numpy(model.layer_mix.layer_weights))
    x = sum(w * s for w, s in zip(mix / mix.sum(), states, strict=True))
    for lstm in model.lstms:
        ours = keras.layers.Bidirectional(
            keras.layers.LSTM(6, return_sequences=True)
        )
        ours.build(x.shape)
        ours.set_weights(lstm.get_weights())
        x = keras.ops.convert_to_numpy(ours(x))
    kernel, bias = model.logits.get_weights()
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(model(rows)), x @ kernel + bias, atol=1e-5
    )


def test_a_preset_and_a_file_hold_everything(trained, tmp_path):
    model, _ = trained
    expected = model.predict(X, verbose=0)
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "m.keras")
    for again in (
        keras_bert.load(tmp_path / "preset"),
        keras.saving.load_model(tmp_path / "m.keras"),
    ):
        assert type(again) is keras_bert.BertFeatureTagger
        assert not again.backbone.trainable
        assert (again.hidden_layers, again.lstm_units) == ([0, 1, 2], 6)
        for one, other in zip(
            expected, again.predict(X, verbose=0), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_layers": [3]}, "`hidden_layers`.*-3 to 2"),
        ({"hidden_layers": ["last"]}, "`hidden_layers`.*ints"),
        ({"hidden_layers": []}, "`hidden_layers`.*one at least"),
        ({"combine": None}, "`combine`"),
        ({"combine": "mean"}, "`combine`"),
        ({"lstm_units": 0}, "`lstm_units`"),
        ({"lstm_layers": 0}, "`lstm_layers`"),
    ],
)
def test_bad_arguments_are_named(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
