"""The multiple-choice model: one score per ending."""

import keras
import numpy as np
import pytest

import keras_bert

CONTEXTS = ["the fox", "a dog", "film", "a lazy fox"]
ENDINGS = [
    ["was good", "was dull", "it"],
    ["dull", "lazy", "good"],
    ["a", "good", "dull dull"],
    ["good fun", "over", "dull"],
]
# The ending with "good".
CHOICES = [0, 2, 1, 0]


@pytest.fixture(scope="module")
def make(tokenizer, make_backbone):
    def make(**arguments):
        return keras_bert.BertMultipleChoice(
            make_backbone(num_layers=1, dropout=0.0, attention_dropout=0.0),
            **{
                "preprocessor": keras_bert.BertMultipleChoicePreprocessor(
                    tokenizer, sequence_length=16
                ),
                "dropout": 0.0,
                **arguments,
            },
        )

    return make


@pytest.fixture(scope="module")
def trained(make):
    keras.utils.set_random_seed(1)
    model = make()
    model.compile(learning_rate=5e-3)
    rows = model.preprocessor((CONTEXTS, ENDINGS))
    # Ids, because strings are tokenized anew in every epoch.
    rows = {key: np.asarray(value) for key, value in rows.items()}
    model.fit(rows, np.array(CHOICES), epochs=60, verbose=0)
    return model


def _dataset(*parts, size=4):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(parts).batch(size)


def test_a_toy_task_is_learned(trained):
    assert trained.evaluate(
        (CONTEXTS, ENDINGS), CHOICES, verbose=0, return_dict=True
    )["accuracy"] == pytest.approx(1.0)
    assert trained.choose(CONTEXTS[1], ENDINGS[1]) == 2
    assert trained.choose(CONTEXTS, ENDINGS) == CHOICES
    # The place of an ending carries no meaning.
    turned = [endings[::-1] for endings in ENDINGS]
    assert trained.choose(CONTEXTS, turned) == [2 - c for c in CHOICES]


def test_predict_keeps_order_and_length(trained):
    outputs = trained.predict((CONTEXTS, ENDINGS), batch_size=3, verbose=0)
    assert outputs.shape == (4, 3) and outputs.dtype == np.float32
    one = trained.predict((CONTEXTS[2], ENDINGS[2]), verbose=0)
    np.testing.assert_allclose(one, outputs[2:3], atol=1e-5)


def test_rows_join_the_context_with_each_ending(trained):
    rows = trained.preprocessor((["a dog"], [["dull", "it was"]]))
    tokens = [
        [trained.tokenizer.id_to_token(i) for i in row[:7]]
        for row in np.asarray(rows["token_ids"])[0]
    ]
    assert tokens == [
        ["[CLS]", "a", "dog", "[SEP]", "dull", "[SEP]", "[PAD]"],
        ["[CLS]", "a", "dog", "[SEP]", "it", "was", "[SEP]"],
    ]
    segments = np.asarray(rows["segment_ids"])[0, :, :7]
    assert segments.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1]]


def test_all_ways_in_give_the_same_loss_and_scores(trained):
    x = (CONTEXTS, ENDINGS)
    expected = trained.evaluate(x, CHOICES, verbose=0)
    rows = {k: np.asarray(v) for k, v in trained.preprocessor(x).items()}
    for found in (
        trained.evaluate(_dataset(x, CHOICES), verbose=0),
        trained.evaluate(rows, np.array(CHOICES), verbose=0),
        trained.evaluate(_dataset(rows, CHOICES), verbose=0),
        trained.test_on_batch(x, CHOICES),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    scores = trained.predict(x, verbose=0)
    for found in (
        trained.predict(_dataset(x, size=3), verbose=0),
        trained.predict(rows, verbose=0),
        trained.predict_on_batch(x),
        keras.ops.convert_to_numpy(trained(rows)),
    ):
        np.testing.assert_allclose(found, scores, atol=1e-5)


def test_the_preprocessor_is_the_same_mapped_and_direct(trained):
    direct = trained.preprocessor((CONTEXTS, ENDINGS))
    dataset = _dataset((CONTEXTS, ENDINGS), size=3)
    for part, join in (
        (dataset, np.concatenate),
        (dataset.unbatch(), np.stack),
    ):
        found = [
            dict(e)
            for e in part.map(
                lambda x: trained.preprocessor(x)
            ).as_numpy_iterator()
        ]
        for key, value in direct.items():
            assert np.array_equal(join([f[key] for f in found]), value), key


def test_inputs_are_symbolic_and_exportable(trained):
    assert {k: v.shape for k, v in trained.input.items()} == {
        key: (None, None, None)
        for key in ("token_ids", "segment_ids", "padding_mask")
    }
    output = trained(trained.input)
    assert len(output.shape) == 2


def test_file_and_preset_give_the_same_scores(trained, tmp_path):
    trained.save(tmp_path / "m.keras")
    trained.save_to_preset(tmp_path / "preset")
    expected = trained.predict((CONTEXTS, ENDINGS), verbose=0)
    for model in (
        keras.saving.load_model(tmp_path / "m.keras"),
        keras_bert.load(tmp_path / "preset"),
    ):
        assert type(model) is keras_bert.BertMultipleChoice
        assert model.get_config() == {
            **trained.get_config(),
            "name": model.name,
            "backbone": model.get_config()["backbone"],
        }
        np.testing.assert_allclose(
            model.predict((CONTEXTS, ENDINGS), verbose=0), expected, atol=1e-5
        )


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((["a", "a"], [["b", "c"], ["b"]]), [0, 0], "`x`.*as many endings"),
        ((["a"], [["b", "c"]]), [2], "`y`.*0 to 1"),
        ((["a"], ["b"]), [0], "`x`.*position 0"),
        ((["a"], [["b"], ["c"]]), [0], "`x`.*1 contexts"),
        (["a"], [0], "`x`.*pair"),
        (([], []), [], "`x`"),
        ((["a"], [["b", 3]]), [0], "`x`.*position 1"),
        ({"token_ids": np.ones((1, 2, 3), "int32")}, [2], "`y`.*0 to 1"),
        ({"token_ids": np.full((1, 2, 3), 99)}, [0], "`token_ids`.*vocabulary"),
        ({"token_ids": np.ones((1, 2), "int32")}, [0], "choices"),
    ],
)
def test_bad_input_names_the_argument(trained, x, y, message):
    with pytest.raises(ValueError, match=message):
        trained.fit(x, np.array(y), verbose=0)


def test_the_backbone_needs_a_pooler(make_backbone):
    with pytest.raises(ValueError, match="`backbone`.*pooler"):
        keras_bert.BertMultipleChoice(make_backbone(pooler=False))
