"""The text classifier on raw strings, pairs, numbers and names."""

import io
import json

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.models import _row_prediction
from keras_bert.training import Progress

TEXTS = ["good film", "bad film", "the film was fun .", "it was dull"] * 4
NAMES = ["good", "bad", "good", "bad"] * 4


@pytest.fixture(scope="module")
def classifier(make_backbone, tokenizer):
    keras.utils.set_random_seed(3)
    return keras_bert.BertTextClassifier(
        make_backbone(), preprocessor=tokenizer, labels=["bad", "good"]
    )


def test_learns_names_and_gives_them_back(classifier):
    # Negative control: without training the labels are not known.
    before = classifier.evaluate(TEXTS, NAMES, verbose=0, return_dict=True)
    assert before["accuracy"] < 1.0
    classifier.compile(learning_rate=5e-3)
    classifier.fit(TEXTS, NAMES, epochs=30, batch_size=8, verbose=0)
    found = [one["label"] for one in classifier.classify(TEXTS[:4])]
    assert found == NAMES[:4]


def test_users_35_evaluate_and_predict_agree(classifier):
    texts, names = TEXTS[:7], NAMES[:7]
    logits = classifier.predict(texts, batch_size=4, verbose=0)
    ids = [classifier.labels.index(name) for name in names]
    accuracy = float((logits.argmax(-1) == ids).mean())
    scores = classifier.evaluate(
        texts, names, batch_size=4, verbose=0, return_dict=True
    )
    assert scores["accuracy"] == pytest.approx(accuracy)


def test_rows_keep_their_order_whatever_the_batch_size(classifier):
    texts = ["fox", "the lazy dog was good . it was fun , a film", "bad"] * 3
    whole = classifier.predict(texts, batch_size=9, verbose=0)
    ones = np.concatenate(
        [classifier.predict([text], verbose=0) for text in texts[:3]]
    )
    assert whole.shape == (9, 2) and whole.dtype == np.float32
    np.testing.assert_allclose(whole[:3], ones, atol=1e-5)
    # The rows differ, so an exchanged order would show.
    assert np.abs(whole[0] - whole[1]).max() > 1e-5


def test_a_tuple_is_a_pair_and_the_second_part_counts(classifier):
    pair = (["the fox", "the fox"], ["good film", "bad dog"])
    logits = classifier.predict(pair, verbose=0)
    alone = classifier.predict(["the fox"] * 2, verbose=0)
    assert logits.shape == (2, 2)
    assert np.abs(logits[0] - logits[1]).max() > 1e-5
    assert np.abs(logits - alone).max() > 1e-5
    one = classifier.classify(("the fox", "good film"))
    assert one["label"] == ["bad", "good"][logits[0].argmax()]


def test_tf_data_with_names_equals_lists(classifier):
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, NAMES)).batch(5)
    from_dataset = classifier.evaluate(dataset, verbose=0, return_dict=True)
    from_lists = classifier.evaluate(
        TEXTS, NAMES, batch_size=5, verbose=0, return_dict=True
    )
    assert from_dataset == pytest.approx(from_lists, abs=1e-6)
    unlabelled = tf.data.Dataset.from_tensor_slices(TEXTS).batch(5)
    np.testing.assert_allclose(
        classifier.predict(unlabelled, verbose=0),
        classifier.predict(TEXTS, verbose=0),
        atol=1e-5,
    )
    pairs = tf.data.Dataset.from_tensors(((TEXTS, TEXTS),))
    np.testing.assert_allclose(
        classifier.predict(pairs, verbose=0),
        classifier.predict((TEXTS, TEXTS), verbose=0),
        atol=1e-5,
    )


def test_py_datasets_and_generators_of_strings(classifier):
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            rows = slice(index * 8, index * 8 + 8)
            return TEXTS[rows], NAMES[rows]

    from_lists = classifier.evaluate(
        TEXTS, NAMES, batch_size=8, verbose=0, return_dict=True
    )
    batches = Batches()
    assert classifier.evaluate(
        batches, verbose=0, return_dict=True
    ) == pytest.approx(from_lists, abs=1e-6)
    generator = (batches[index] for index in range(2))
    assert classifier.evaluate(
        generator, steps=2, verbose=0, return_dict=True
    ) == pytest.approx(from_lists, abs=1e-6)
    classifier.fit(batches, verbose=0)


def test_regression_learns_numbers(make_backbone, tokenizer):
    keras.utils.set_random_seed(0)
    model = keras_bert.BertTextClassifier(
        make_backbone(), num_classes=1, preprocessor=tokenizer
    )
    values = [4.0 if name == "good" else 1.0 for name in NAMES]
    model.compile(learning_rate=1e-2)
    model.fit(TEXTS, values, epochs=40, batch_size=8, verbose=0)
    found = model.predict(TEXTS[:4], verbose=0)
    assert found.shape == (4,)
    # The mean of the values has the error 2.25.
    assert np.mean((found - values[:4]) ** 2) < 1.0
    assert model.classify(TEXTS[0])["label"] is None


def test_activation_applies_to_outputs_and_the_loss_follows(
    make_backbone, tokenizer
):
    backbone = make_backbone()
    logits = keras_bert.BertTextClassifier(backbone, 3, tokenizer)
    probabilities = keras_bert.BertTextClassifier(
        backbone, 3, tokenizer, activation="softmax"
    )
    probabilities.logits.set_weights(logits.logits.get_weights())
    outputs = probabilities.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(outputs.sum(-1), 1.0, atol=1e-5)
    y = [0, 1, 2, 0] * 4
    assert probabilities.evaluate(TEXTS, y, verbose=0)[0] == pytest.approx(
        logits.evaluate(TEXTS, y, verbose=0)[0], abs=1e-5
    )
    best = probabilities.classify(TEXTS[0], top_k=3)
    assert [one["score"] for one in best] == pytest.approx(
        sorted(outputs[0].tolist(), reverse=True), abs=1e-5
    )


def test_sorted_data_is_shuffled_whole(classifier):
    # Rows sorted by label: without a shuffle over all rows the first batch
    # of an epoch would hold one label only.
    dataset = classifier._data(
        ["good"] * 32 + ["bad"] * 32, [1] * 32 + [0] * 32, None, 16, True
    )["x"]
    first = next(iter(dataset.as_numpy_iterator()))[1]
    assert 0 < first.sum() < 16


def test_dict_of_ids_bypasses_the_preprocessor(classifier, tokenizer):
    rows = classifier.preprocessor(TEXTS[:3])
    rows = {key: np.asarray(value) for key, value in rows.items()}
    np.testing.assert_allclose(
        classifier.predict(rows, verbose=0),
        classifier.predict(TEXTS[:3], verbose=0),
        atol=1e-5,
    )
    classifier.fit(rows, ["good", "bad", "good"], verbose=0)
    assert classifier.train_on_batch(rows, [1, 0, 1]) is not None
    np.testing.assert_allclose(
        classifier.predict_on_batch(TEXTS[:3]),
        classifier.predict(rows, verbose=0),
        atol=1e-5,
    )


def test_validation_split_and_validation_data(classifier):
    history = classifier.fit(
        TEXTS, NAMES, validation_split=0.25, verbose=0
    ).history
    assert "val_accuracy" in history
    history = classifier.fit(
        TEXTS,
        NAMES,
        validation_data=(TEXTS[:4], NAMES[:4], np.ones(4)),
        sample_weight=np.ones(16),
        verbose=0,
    ).history
    assert "val_accuracy" in history


def test_class_weight_counts(classifier):
    plain, heavy = (
        classifier.fit(TEXTS, NAMES, class_weight=weight, verbose=0).history
        for weight in (None, {0: 9.0, 1: 9.0})
    )
    assert heavy["loss"][0] > 2 * plain["loss"][0]


def test_class_weight_takes_the_names_of_the_classes(classifier):
    """Only the weight of the class that there is counts."""
    names = ["good"] * len(TEXTS)
    none, other = (
        classifier.fit(TEXTS, names, class_weight=weight, verbose=0).history
        for weight in ({"good": 0.0}, {"bad": 0.0})
    )
    assert none["loss"][0] == 0 < other["loss"][0]
    for wrong, found in (
        ({"god": 1.0}, "'god'"),
        ({"good": float("nan")}, "nan"),
        ({"good": -3.0}, "-3.0"),
        ({"good": "3"}, "'3'"),
        ({"good": 1.0, 1: 2.0}, "each class once"),
        ("balanced", "'balanced'"),
        ([1.0, 2.0], "a dict of weights"),
    ):
        with pytest.raises(ValueError, match=f"`class_weight`.*{found}"):
            classifier.fit(TEXTS, names, class_weight=wrong, verbose=0)


def test_training_data_without_labels_is_refused(classifier):
    import tensorflow as tf

    unlabelled = tf.data.Dataset.from_tensor_slices(TEXTS).batch(5)
    with pytest.raises(ValueError, match=r"`x`.*elements are \(x, y\)"):
        classifier.fit(unlabelled, verbose=0)
    with pytest.raises(ValueError, match=r"`x`.*elements are \(x, y\)"):
        classifier.evaluate(unlabelled, verbose=0)
    with pytest.raises(ValueError, match="`y`.*a target for each text"):
        classifier.evaluate(TEXTS, verbose=0)
    # Before the training, not after it.
    before = classifier.get_weights()
    for held_out in (unlabelled, TEXTS):
        with pytest.raises(ValueError, match="`validation_data`"):
            classifier.fit(TEXTS, NAMES, validation_data=held_out, verbose=0)
    for a, b in zip(before, classifier.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="`sample_weight`"):
        classifier.fit(TEXTS, NAMES, sample_weight=["a"] * len(TEXTS))


def test_preset_round_trip_keeps_labels_and_outputs(classifier, tmp_path):
    classifier.save_to_preset(tmp_path / "preset")
    again = keras_bert.load(tmp_path / "preset")
    assert isinstance(again, keras_bert.BertTextClassifier)
    assert again.labels == ["bad", "good"]
    np.testing.assert_allclose(
        again.predict(TEXTS, verbose=0),
        classifier.predict(TEXTS, verbose=0),
        atol=1e-6,
    )
    other = keras_bert.BertTextClassifier.from_preset(
        tmp_path / "preset", num_classes=2, preprocessor=None
    )
    assert other.preprocessor is None


def test_config_is_json(classifier):
    config = json.loads(json.dumps(classifier.get_config()))
    again = keras_bert.BertTextClassifier.from_config(config)
    assert json.dumps(again.get_config()) == json.dumps(config)


@pytest.mark.parametrize(
    ("x", "y", "argument"),
    [
        (["a"], [0, 1], "y"),
        (["a"], None, "y"),
        (["a", "b"], "ab", "y"),
        ({"tokens": np.ones((2, 4))}, [0, 1], "x"),
        (["a", "b"], [0, 2], "y"),
        (["a", "b"], [-1, 0], "y"),
        (["a"], ["ugly"], "y"),
        (["a"], [0.5], "y"),
        ([], [], "x"),
        ([1, 2], [0, 1], "x"),
        ((["a"], ["b", "c"]), [0], "x"),
    ],
)
def test_bad_data_names_the_argument(classifier, x, y, argument):
    with pytest.raises(ValueError, match=f"argument `{argument}`"):
        classifier.fit(x, y, verbose=0)


def test_batch_size_is_checked(classifier):
    with pytest.raises(ValueError, match="argument `batch_size`"):
        classifier.fit(["a"], [0], batch_size=0, verbose=0)


def test_unknown_label_inside_tf_data_names_the_argument(classifier):
    import tensorflow as tf

    for bad in (["ugly", "good"], [0, 7]):
        dataset = tf.data.Dataset.from_tensor_slices((["a", "b"], bad))
        with pytest.raises(ValueError, match="argument `y`"):
            classifier.fit(dataset.batch(2), verbose=0)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "num_classes"),
        ({"num_classes": 0}, "num_classes"),
        ({"num_classes": 3, "labels": ["a", "b"]}, "num_classes"),
        ({"labels": ["a", "a"]}, "labels"),
        ({"num_classes": 2, "preprocessor": "bert"}, "preprocessor"),
    ],
)
def test_bad_arguments_are_named(make_backbone, arguments, argument):
    with pytest.raises(ValueError, match=f"argument `{argument}`"):
        keras_bert.BertTextClassifier(make_backbone(), **arguments)


def test_backbone_must_fit_tokenizer_and_head(make_backbone, tokenizer):
    with pytest.raises(ValueError, match="vocabulary of at most 7"):
        keras_bert.BertTextClassifier(
            make_backbone(vocabulary_size=7), 2, tokenizer
        )
    with pytest.raises(ValueError, match="pooler=True"):
        keras_bert.BertTextClassifier(make_backbone(pooler=False), 2)
    with pytest.raises(ValueError, match="sequence_length of at most 64"):
        keras_bert.BertTextClassifier(
            make_backbone(),
            2,
            keras_bert.BertTextClassifierPreprocessor(tokenizer, 65),
        )


def test_learning_rate_with_own_optimizer_is_refused(classifier):
    with pytest.raises(ValueError, match="learning_rate"):
        classifier.compile(optimizer="sgd", learning_rate=0.1)


def test_weights_may_be_a_list(classifier):
    weights = [0.5, 2.0] * 8
    found, wanted = (
        classifier.evaluate(TEXTS, NAMES, sample_weight=one, verbose=0)
        for one in (weights, np.array(weights))
    )
    assert found == wanted
    classifier.fit(TEXTS, NAMES, sample_weight=weights, verbose=0)
    weights[3] = float("nan")
    for one in (weights, np.array(weights)):
        with pytest.raises(ValueError, match="`sample_weight`.*finite"):
            classifier.fit(TEXTS, NAMES, sample_weight=one, verbose=0)


def test_targets_of_a_regression_are_finite(make_backbone, tokenizer):
    model = keras_bert.BertTextClassifier(
        make_backbone(num_layers=1), num_classes=1, preprocessor=tokenizer
    )
    with pytest.raises(ValueError, match="`y`.*finite"):
        model.fit(["a dog", "a fox"], [0.5, float("nan")], verbose=0)


def test_progress_counts_all_batches_of_a_prediction(
    tokenizer, make_backbone, monkeypatch
):
    """Texts are tokenized a part at a time, and it is one prediction."""
    model = keras_bert.BertTextClassifier(
        make_backbone(num_layers=1), labels=["a", "b"],
        preprocessor=tokenizer,
    )  # fmt: skip
    texts = ["a dog " * (1 + n % 3) for n in range(8)]
    whole = model.predict(texts, batch_size=2, verbose=0)
    monkeypatch.setattr(_row_prediction, "_CHUNK", 3)
    out = io.StringIO()
    progress = Progress(stream=out, interval=0)
    parts = model.predict(texts, batch_size=2, verbose=0, callbacks=[progress])
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)
    # Parts of 3, 3 and 2 texts: two, two and one batches.
    lines = [line.split(",")[0] for line in out.getvalue().splitlines()]
    assert lines == [f"step {n}/5" for n in (1, 2, 3, 4, 5, 5)]
