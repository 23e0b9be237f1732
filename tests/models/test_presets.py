"""from_preset, save_to_preset and load, on the real model classes."""

import keras
import numpy as np
import pytest

import keras_bert


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
@pytest.mark.parametrize("segments", [1, 2])
def test_logits_of_both_tasks_equal_transformers(
    activation, segments, tmp_path
):
    import torch
    import transformers

    torch.manual_seed(0)
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=30,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=20,
            max_position_embeddings=24,
            type_vocab_size=segments,
            hidden_act=activation,
            # Wide weights, so that a wrong activation shows.
            initializer_range=0.5,
        )
    ).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    ours = keras_bert.BertPretrainer.from_preset(tmp_path / "theirs")
    rng = np.random.default_rng(0)
    token_ids = rng.integers(0, 30, (3, 11)).astype("int32")
    padding_mask = (np.arange(11) < np.array([[11], [7], [3]])).astype("int32")
    segment_ids = rng.integers(0, segments, (3, 11)).astype("int32")
    positions = np.tile(np.arange(3, dtype="int32"), (3, 1))
    found = ours.predict(
        {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": padding_mask,
            "mask_positions": positions,
        },
        verbose=0,
    )
    with torch.no_grad():
        wanted = theirs(
            input_ids=torch.tensor(token_ids, dtype=torch.long),
            token_type_ids=torch.tensor(segment_ids, dtype=torch.long),
            attention_mask=torch.tensor(padding_mask, dtype=torch.long),
        )
    np.testing.assert_allclose(
        found["mask_ids"],
        wanted.prediction_logits[:, :3].numpy(),
        atol=1e-5,
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        found["next_sentence"],
        wanted.seq_relationship_logits.numpy(),
        atol=1e-5,
        rtol=1e-5,
    )


def test_backbone_preset_round_trip(make_backbone, tmp_path):
    backbone = make_backbone(activation="relu", layer_norm_epsilon=1e-6)
    backbone.save_to_preset(tmp_path / "preset")
    again = keras_bert.BertBackbone.from_preset(tmp_path / "preset")
    assert again.activation == "relu" and again.layer_norm_epsilon == 1e-6
    rows = {"token_ids": np.array([[2, 5, 6, 3]])}
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(again(rows)["sequence_output"]),
        keras.ops.convert_to_numpy(backbone(rows)["sequence_output"]),
    )
    other = keras_bert.BertBackbone.from_preset(
        tmp_path / "preset", load_weights=False, dropout=0.5
    )
    assert other.dropout == 0.5
    loaded = keras_bert.load(tmp_path / "preset")
    assert type(loaded) is keras_bert.BertBackbone


def test_pretrained_encoder_goes_into_a_classifier(
    make_backbone, tokenizer, tmp_path
):
    pretrainer = keras_bert.BertPretrainer(make_backbone(), tokenizer)
    pretrainer.save_to_preset(tmp_path / "preset")
    classifier = keras_bert.BertTextClassifier.from_preset(
        tmp_path / "preset", labels=["a", "b", "c"]
    )
    assert classifier.tokenizer.vocabulary == tokenizer.vocabulary
    assert set(classifier.load_report.newly_initialised) == {
        "logits/kernel",
        "logits/bias",
    }
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(
            classifier.backbone.token_embedding.embeddings
        ),
        keras.ops.convert_to_numpy(
            pretrainer.backbone.token_embedding.embeddings
        ),
    )
    assert classifier.predict(["the fox"], verbose=0).shape == (1, 3)
    assert (
        keras_bert.BertTextClassifier.from_preset(
            tmp_path / "preset", num_classes=2, preprocessor=None
        ).preprocessor
        is None
    )


@pytest.mark.parametrize(
    "classes",
    [{"labels": ["b", "a"]}, {"labels": ["a", "b", "c"]}, {"num_classes": 1}],
)
def test_a_head_for_other_classes_is_dropped_and_reported(
    make_backbone, tokenizer, tmp_path, classes
):
    keras.utils.set_random_seed(1)
    source = keras_bert.BertTextClassifier(
        make_backbone(), preprocessor=tokenizer, labels=["a", "b"]
    )
    source.save_to_preset(tmp_path / "preset")
    head = {"logits/kernel", "logits/bias"}
    other = keras_bert.BertTextClassifier.from_preset(
        tmp_path / "preset", **classes
    )
    assert set(other.load_report.newly_initialised) == head
    assert head <= set(other.load_report.unused)
    # The control: for the same classes it is kept.
    same = keras_bert.BertTextClassifier.from_preset(
        tmp_path / "preset", labels=["a", "b"]
    )
    assert not same.load_report.newly_initialised
    np.testing.assert_array_equal(
        *(keras.ops.convert_to_numpy(m.logits.kernel) for m in (source, same))
    )


def test_kerashub_docstring_examples_run(make_backbone, tokenizer, tmp_path):
    """The examples of KerasHub 0.32's Bert classes, with a local preset.

    Left out: `models.TextClassifierPreprocessor.from_preset`, a class over
    all of KerasHub's architectures that this library does not have.
    """
    keras_hub = keras_bert
    vocabulary = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocabulary += ["The", "quick", "brown", "fox", "jumped", "."]
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=vocabulary)
    tokenizer.detokenize(tokenizer("The quick brown fox jumped."))
    tokenizer(["The quick brown fox jumped.", "The fox slept."])
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        tokenizer=tokenizer, sequence_length=64
    )
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=30,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        max_sequence_length=64,
    )
    features = ["The quick brown fox jumped.", "I forgot my homework."]
    labels = [0, 3]
    classifier = keras_hub.models.BertTextClassifier(
        backbone=backbone, preprocessor=preprocessor, num_classes=4
    )
    classifier.fit(x=features, y=labels, batch_size=2, verbose=0)
    preset = str(tmp_path / "classifier")
    classifier.save_to_preset(preset)
    keras_hub.models.BertBackbone.from_preset(preset)
    keras_hub.models.BertTokenizer.from_preset(preset)
    classifier = keras_hub.models.BertTextClassifier.from_preset(
        preset, num_classes=4
    )
    classifier.predict(x=features, batch_size=2, verbose=0)
    classifier.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.Adam(5e-5),
        jit_compile=keras.config.backend() != "torch",
    )
    classifier.backbone.trainable = False
    classifier.fit(x=features, y=labels, batch_size=2, verbose=0)
    ids = {
        "token_ids": np.ones(shape=(2, 12), dtype="int32"),
        "segment_ids": np.array([[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0]] * 2),
        "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]] * 2),
    }
    classifier = keras_hub.models.BertTextClassifier.from_preset(
        preset, num_classes=4, preprocessor=None
    )
    classifier.fit(x=ids, y=labels, batch_size=2, verbose=0)

    masked_lm = keras_hub.models.BertMaskedLM.from_preset(preset)
    masked_lm.fit(x=features, batch_size=2, verbose=0)
    masked_lm = keras_hub.models.BertMaskedLM.from_preset(
        preset, preprocessor=None
    )
    masked_lm.fit(
        x={
            "token_ids": np.array([[1, 2, 0, 4, 0, 6, 7, 8]] * 2),
            "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 1]] * 2),
            "mask_positions": np.array([[2, 4]] * 2),
            "segment_ids": np.array([[0, 0, 0, 0, 0, 0, 0, 0]] * 2),
        },
        y=[[3, 5]] * 2,
        batch_size=2,
        verbose=0,
    )


def test_preprocessor_three_ways_agree(tokenizer):
    import tensorflow as tf

    preprocessor = keras_bert.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=16
    )
    first = tf.constant(["the quick brown fox .", "a"])
    second = tf.constant(["the fox was bad .", "good film ."])
    label = tf.constant([1, 1])
    for x in (first, (first, second)):
        direct = preprocessor(x, label)
        dataset = tf.data.Dataset.from_tensor_slices((x, label))
        unbatched = next(iter(dataset.map(preprocessor).batch(2)))
        batched = next(iter(dataset.batch(2).map(preprocessor)))
        for other in (unbatched, batched):
            keras.tree.map_structure(
                lambda a, b: np.testing.assert_array_equal(a, b), direct, other
            )
    pairs = tf.data.Dataset.from_tensor_slices((first, second))
    rows = pairs.map(lambda first, second: preprocessor(x=(first, second)))
    assert next(iter(rows))["token_ids"].shape == (16,)


def test_a_folder_with_other_files_is_not_written_into(make_backbone, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="argument `directory`"):
        make_backbone().save_to_preset(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_load_reads_a_keras_file(make_backbone, tokenizer, tmp_path):
    model = keras_bert.BertTextClassifier(make_backbone(), 2, tokenizer)
    model.save(tmp_path / "model.keras")
    again = keras_bert.load(tmp_path / "model.keras")
    np.testing.assert_allclose(
        again.predict(["a fox"], verbose=0),
        model.predict(["a fox"], verbose=0),
        atol=1e-6,
    )
