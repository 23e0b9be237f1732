"""The token classifier: one label per word, whatever the text."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.testing import check_model

LABELS = ["O", "ANIMAL", "GOOD"]
TEXTS = [
    ["the", "quick", "Fox", "jumps"],
    "a lazy dog",
    ["good", "foxs", ",", "film"],
    ["dog"],
]
NAMES = [
    ["O", "O", "ANIMAL", "O"],
    ["O", "O", "ANIMAL"],
    ["GOOD", "ANIMAL", "O", "O"],
    ["ANIMAL"],
]


@pytest.fixture(scope="module")
def make(tokenizer, make_backbone):
    def make(sequence_length=16, **arguments):
        preprocessor = keras_bert.BertTokenClassifierPreprocessor(
            tokenizer, sequence_length=sequence_length
        )
        backbone = make_backbone(
            num_layers=1, dropout=0.0, attention_dropout=0.0
        )
        return keras_bert.BertTokenClassifier(
            backbone,
            **{
                "preprocessor": preprocessor,
                "labels": LABELS,
                "dropout": 0.0,
                **arguments,
            },
        )

    return make


@pytest.fixture(scope="module")
def trained(make):
    keras.utils.set_random_seed(1)
    model = make()
    model.compile(learning_rate=1e-2)
    model.fit(TEXTS, NAMES, batch_size=4, epochs=80, verbose=0)
    return model


def _dataset(texts, labels, size):
    import tensorflow as tf

    words = [t.split() if isinstance(t, str) else t for t in texts]
    rows = (tf.ragged.constant(words), tf.ragged.constant(labels))
    return tf.data.Dataset.from_tensor_slices(rows).batch(size)


def test_a_toy_task_is_learned_and_tagged(trained):
    assert trained.evaluate(TEXTS, NAMES, verbose=0, return_dict=True)[
        "accuracy"
    ] == pytest.approx(1.0)
    assert trained.tag(["the", "Fox"]) == ["O", "ANIMAL"]
    assert trained.tag("the Fox") == ["O", "ANIMAL"]
    assert trained.tag([["dog"], ["good", "foxs"]]) == [
        ["ANIMAL"],
        ["GOOD", "ANIMAL"],
    ]


def test_predict_gives_one_row_of_logits_per_word_in_order(trained):
    outputs = trained.predict(TEXTS, batch_size=3, verbose=0)
    assert [o.shape for o in outputs] == [(4, 3), (3, 3), (4, 3), (1, 3)]
    assert all(o.dtype == np.float32 for o in outputs)
    backwards = trained.predict(TEXTS[::-1], batch_size=1, verbose=0)
    for one, other in zip(outputs, backwards[::-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_all_ways_in_give_the_same_loss_and_predictions(trained):
    expected = trained.evaluate(TEXTS, NAMES, verbose=0, batch_size=4)
    ids = [[LABELS.index(name) for name in names] for names in NAMES]
    x, y, weight = trained.preprocessor(TEXTS, ids)
    rows = {key: np.asarray(value) for key, value in x.items()}
    found = [
        trained.evaluate(TEXTS, ids, verbose=0, batch_size=4),
        trained.evaluate(_dataset(TEXTS, NAMES, 4), verbose=0),
        trained.evaluate(_dataset(TEXTS, ids, 4), verbose=0),
        trained.evaluate(iter([(TEXTS, NAMES)]), steps=1, verbose=0),
        trained.test_on_batch(TEXTS, NAMES),
        trained.evaluate(
            rows, np.asarray(y), sample_weight=np.asarray(weight), verbose=0
        ),
    ]
    for one in found:
        np.testing.assert_allclose(one, expected, atol=1e-5)
    outputs = trained.predict(TEXTS, verbose=0)
    for other in (
        trained.predict(_dataset(TEXTS, NAMES, 3), verbose=0),
        trained.predict(iter([TEXTS[:1], TEXTS[1:]]), steps=2, verbose=0),
        trained.predict_on_batch(TEXTS),
    ):
        for a, b in zip(outputs, other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
    assert trained.predict(rows, verbose=0).shape == (4, 16, 3)


def test_evaluate_counts_the_words_that_predict_labels(make):
    model = make(sequence_length=8)
    texts = ["fox dog the quick lazy good film a over it was fun", "a dog"]
    labels = [[0, 1, 2] * 4, [1, 2]]
    found = model.evaluate(texts, labels, verbose=0, return_dict=True)
    outputs = model.predict(texts, verbose=0)
    right = [
        o.argmax(-1) == np.array(y)
        for o, y in zip(outputs, labels, strict=True)
    ]
    assert found["accuracy"] == pytest.approx(np.concatenate(right).mean())


def test_weights_per_text_and_per_word(trained):
    wrong = [NAMES[0], ["ANIMAL"] * 3, *NAMES[2:]]
    assert trained.evaluate(
        TEXTS, wrong, sample_weight=[1, 0, 1, 1], verbose=0
    )[1] == pytest.approx(1.0)
    words = [[1] * 4, [0, 0, 1], [1] * 4, [1]]
    assert trained.evaluate(TEXTS, wrong, sample_weight=words, verbose=0)[
        1
    ] == pytest.approx(1.0)
    assert trained.evaluate(TEXTS, wrong, verbose=0)[1] < 1


def test_long_texts_have_one_prediction_per_word(make):
    model = make(sequence_length=8)
    text = ["fox", "foxs", "dog"] * 20
    (outputs,) = model.predict([text], verbose=0)
    assert outputs.shape == (60, 3)
    # Each word was read: no row is left at zero.
    assert np.abs(outputs).sum(axis=1).min() > 0


def test_users_30_first_pieces_carry_the_labels(make):
    model = make()
    x, y, weight = model.preprocessor([["dog", "foxs", "."]], [[1, 2, 1]])
    tokens = [
        model.tokenizer.id_to_token(i) for i in np.asarray(x["token_ids"])[0]
    ]
    assert tokens[:6] == ["[CLS]", "dog", "fox", "##s", ".", "[SEP]"]
    assert np.asarray(y)[0, :6].tolist() == [0, 1, 2, 0, 1, 0]
    assert np.asarray(weight)[0, :6].tolist() == [0, 1, 1, 0, 1, 0]
    assert len(model.tag(["dog", "foxs", "."])) == 3


def test_users_30_a_word_without_a_piece_does_not_shift_the_others(trained):
    words = ["the", "\u200d", "fox"]
    with pytest.warns(UserWarning, match=r"1 of 3 words.*u200d"):
        (outputs,) = trained.predict([words], verbose=0)
    (without,) = trained.predict([["the", "fox"]], verbose=0)
    np.testing.assert_allclose(outputs[[0, 2]], without, atol=1e-5)
    assert outputs[1].tolist() == [0, 0, 0]
    with pytest.warns(UserWarning, match="words have no token"):
        assert trained.tag(words) == ["O", "O", "ANIMAL"]


def test_users_33_text_with_accents_and_spaces_goes_through_the_preprocessor(
    make,
):
    preprocessor = make().preprocessor
    words = ["The,", "na\u0308ive", "F\u00f3x", "."]
    windows = preprocessor.windows([words])
    ids = windows.rows.batch([0])["token_ids"][0]
    found = [
        preprocessor.tokenizer.id_to_token(ids[column])
        for column in windows.column
    ]
    # Each word's column holds its own first piece.
    assert found == ["the", "[UNK]", "fox", "."]


def test_empty_texts_have_no_words(trained):
    outputs = trained.predict([[], "fox", ""], verbose=0)
    assert [o.shape for o in outputs] == [(0, 3), (1, 3), (0, 3)]
    assert trained.tag([]) == []


def test_the_preprocessor_is_the_same_mapped_and_direct(make):
    import tensorflow as tf

    preprocessor = make(sequence_length=8).preprocessor
    texts = ["fox dog the quick lazy good film a over", "a dog", "it was fun"]
    direct = preprocessor(texts)
    dataset = tf.data.Dataset.from_tensor_slices(texts)
    single = [dict(e) for e in dataset.map(preprocessor).as_numpy_iterator()]
    batched = [
        dict(e) for e in dataset.batch(2).map(preprocessor).as_numpy_iterator()
    ]
    for key, value in direct.items():
        for parts in (single, batched):
            found = np.concatenate([part[key] for part in parts])
            assert np.array_equal(found, value), key


def test_contract(make, tmp_path):
    x = {
        "token_ids": np.array([[2, 6, 7, 3], [2, 8, 3, 0]], "int32"),
        "segment_ids": np.zeros((2, 4), "int32"),
        "padding_mask": np.array([[1, 1, 1, 1], [1, 1, 1, 0]], "int32"),
    }
    y = np.array([[0, 1, 2, 0], [0, 1, 0, 0]], "int32")

    def build(**keywords):
        keywords = {"dtype": "float32", **keywords}
        backbone = keras_bert.BertBackbone(
            vocabulary_size=12,
            num_layers=1,
            num_heads=2,
            hidden_dim=8,
            intermediate_dim=8,
            dropout=0.0,
            attention_dropout=0.0,
            **keywords,
        )
        return keras_bert.BertTokenClassifier(
            backbone, num_classes=3, dropout=0.0, **keywords
        )

    check_model(
        build,
        x,
        y,
        sample_weight=x["padding_mask"].astype("float32"),
        compile_arguments={"optimizer": "adam"},
    )


def test_file_and_preset_give_the_same_predictions(trained, tmp_path):
    trained.save(tmp_path / "m.keras")
    trained.save_to_preset(tmp_path / "preset")
    expected = trained.predict(TEXTS, verbose=0)
    for model in (
        keras.saving.load_model(tmp_path / "m.keras"),
        keras_bert.load(tmp_path / "preset"),
    ):
        assert type(model) is keras_bert.BertTokenClassifier
        assert model.labels == LABELS
        assert model.preprocessor.get_config() == (
            trained.preprocessor.get_config()
        )
        for a, b in zip(model.predict(TEXTS, verbose=0), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (TEXTS, NAMES[:3], "`y`.*rows .4."),
        (TEXTS, [["O"]] * 4, "`y`.*one label per word .4 in text 0"),
        ([["fox"]], [["CAT"]], "`y`.*CAT"),
        ([["fox"]], [[3]], "`y`.*from 0 to 2"),
        ([["fox"]], ["O"], "`y`.*position 0"),
        ([], [], "`x`"),
        ([[1]], [["O"]], "`x`.*position 0"),
        ([[], ""], [[], []], "`x`.*token"),
    ],
)
def test_bad_input_names_the_argument(trained, x, y, message):
    with pytest.raises(ValueError, match=message):
        trained.fit(x, y, verbose=0)


def test_a_bad_label_in_tf_data_leaves_the_model_usable(trained):
    bad = [["O"] * 4, ["O"] * 3, ["CAT"] * 4, ["O"]]
    with pytest.raises(ValueError, match="`y`.*CAT"):
        trained.evaluate(_dataset(TEXTS, bad, 2), verbose=0)
    assert trained.tag(["dog"]) == ["ANIMAL"]


@pytest.mark.parametrize("stride", [0, 7])
def test_stride_must_fit_the_room(tokenizer, stride):
    with pytest.raises(ValueError, match="`stride`.*1 to 6"):
        keras_bert.BertTokenClassifierPreprocessor(
            tokenizer, sequence_length=8, stride=stride
        )
