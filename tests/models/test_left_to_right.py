"""Left-to-right training: the causal backbone and its next tokens."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import layers
from keras_bert.data import next_tokens

DOCUMENTS = [["the quick fox jumps .", "it was fun ."], ["a lazy dog ."]] * 4


def test_mask_of_packed_rows_looks_left_within_the_sequence():
    found = layers.attention_mask(np.array([[1, 1, 2, 2, 0]]), causal=True)
    expected = [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0],
    ]
    np.testing.assert_array_equal(
        keras.ops.convert_to_numpy(found)[0].astype(int), expected
    )


def test_a_causal_backbone_sees_nothing_to_the_right(make_backbone):
    keras.utils.set_random_seed(6)
    causal = make_backbone(causal=True)
    both = make_backbone()
    both.set_weights(causal.get_weights())
    rows = np.array([[2, 5, 6, 7, 3, 0], [2, 5, 6, 9, 8, 3]])
    mask = (rows != 0).astype("int32")
    changed = {}
    for name, model in (("causal", causal), ("both", both)):
        out = model({"token_ids": rows, "padding_mask": mask})
        states = keras.ops.convert_to_numpy(out["sequence_output"])
        # The rows are equal up to the third token.
        changed[name] = np.abs(states[0, :3] - states[1, :3]).max()
        if name == "causal":
            dense = model.pooled_dense
            last = keras.ops.convert_to_numpy(
                dense(np.stack([states[0, 4], states[1, 5]]))
            )
            np.testing.assert_allclose(
                keras.ops.convert_to_numpy(out["pooled_output"]),
                last,
                atol=1e-6,
            )
    assert changed["causal"] < 1e-6
    # The control: looking both ways tells the rows apart.
    assert changed["both"] > 1e-3


def test_the_public_config_knows_it_only_where_it_is_used(
    make_backbone, tmp_path
):
    assert "causal" not in make_backbone().get_config()
    backbone = make_backbone(causal=True)
    backbone.save_to_preset(tmp_path / "ltr")
    assert keras_bert.BertBackbone.from_preset(tmp_path / "ltr").causal


def test_every_next_token_is_a_label(tokenizer):
    masked = keras_bert.pretraining_dataset(
        keras_bert.data.Corpus.from_documents(DOCUMENTS, tokenizer),
        tokenizer,
        sequence_length=16,
        batch_size=2,
        next_sentence=False,
        fixed=True,
    )
    seen = 0
    for (mx, my, mw), (x, y, weight) in zip(
        masked.as_numpy_iterator(),
        next_tokens(masked).as_numpy_iterator(),
        strict=True,
    ):
        # The masked tokens are back in their places.
        ids = mx["token_ids"].copy()
        for row, slot in zip(*np.nonzero(mw), strict=True):
            ids[row, mx["mask_positions"][row, slot]] = my[row, slot]
        np.testing.assert_array_equal(x["token_ids"], ids)
        numbers = x["padding_mask"]
        for row, column in np.ndindex(ids.shape):
            inside = (
                column + 1 < ids.shape[1]
                and numbers[row, column] > 0
                and numbers[row, column] == numbers[row, column + 1]
            )
            assert weight[row, column] == inside
            if inside:
                assert y[row, column] == ids[row, column + 1]
                seen += 1
    assert seen > 20


def test_a_left_to_right_model_learns_a_fixed_sentence(
    make_backbone, tokenizer
):
    keras.utils.set_random_seed(7)
    dataset = next_tokens(
        keras_bert.pretraining_dataset(
            keras_bert.data.Corpus.from_documents(
                [["the quick fox jumps over a lazy dog ."]] * 16, tokenizer
            ),
            tokenizer,
            sequence_length=16,
            batch_size=4,
            next_sentence=False,
        )
    )
    model = keras_bert.BertPretrainer(
        make_backbone(causal=True, dropout=0.0, attention_dropout=0.0),
        next_sentence=False,
    )
    model.compile(learning_rate=1e-2)
    history = model.fit(dataset, epochs=30, verbose=0).history
    # Each next word is certain once the ones before it are known.
    assert history["accuracy"][-1] > 0.95


def test_pairs_are_refused(tokenizer):
    dataset = keras_bert.pretraining_dataset(
        keras_bert.data.Corpus.from_documents(DOCUMENTS, tokenizer),
        tokenizer,
        sequence_length=16,
        batch_size=2,
    )
    with pytest.raises(ValueError, match="next_sentence=False"):
        next_tokens(dataset)
