"""The masked language model: masking of texts, filling of masks."""

import keras
import numpy as np
import pytest

import keras_bert

TEXTS = ["the quick fox jumps over a lazy dog .", "the film was good ."] * 8


@pytest.fixture(scope="module")
def masked_lm(make_backbone, tokenizer):
    keras.utils.set_random_seed(5)
    return keras_bert.BertMaskedLM(make_backbone(), preprocessor=tokenizer)


def test_learns_to_fill_masks(make_backbone, tokenizer):
    keras.utils.set_random_seed(0)
    model = keras_bert.BertMaskedLM(
        make_backbone(initializer_range=0.1, hidden_dim=32), tokenizer
    )
    text = "the quick [MASK] jumps over a lazy dog ."
    before = {
        one["token"]: one["score"] for one in model.fill_mask(text, top_k=23)[0]
    }
    model.compile(learning_rate=5e-3)
    model.fit(TEXTS, epochs=50, batch_size=16, verbose=0)
    after = model.fill_mask(text, top_k=1)[0][0]
    assert before["fox"] < 0.15  # untrained: about one in 23
    assert after["token"] == "fox" and after["score"] > 2 * before["fox"]


def test_one_list_per_mask_best_first_and_probabilities(masked_lm):
    masks = masked_lm.fill_mask("[MASK] quick [MASK] .", top_k=23)
    assert len(masks) == 2
    for mask in masks:
        scores = [one["score"] for one in mask]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) == pytest.approx(1, abs=1e-5)
    many = masked_lm.fill_mask(["a [MASK]", "[MASK] [MASK]"], top_k=1)
    assert [len(text) for text in many] == [1, 2]


def test_only_the_mask_is_special_in_text(masked_lm, tokenizer):
    row = masked_lm._masked_row("[CLS] [MASK] [SEP]")
    ids = row.tolist()
    assert ids.count(tokenizer.mask_token_id) == 1
    assert ids.count(tokenizer.cls_token_id) == 1
    assert ids.count(tokenizer.sep_token_id) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no mask", r"a string with \[MASK\]"),
        (7, r"a string with \[MASK\]"),
        ("[MASK] " + "fox " * 70, "at most 64 tokens"),
    ],
)
def test_bad_text_is_named(masked_lm, text, message):
    with pytest.raises(ValueError, match="argument `text`.*" + message):
        masked_lm.fill_mask(text)


def test_top_k_is_checked(masked_lm):
    with pytest.raises(ValueError, match="argument `top_k`"):
        masked_lm.fill_mask("a [MASK]", top_k=0)


def test_preprocessor_masks_as_told(tokenizer):
    every = keras_bert.BertMaskedLMPreprocessor(
        tokenizer,
        sequence_length=16,
        mask_selection_rate=1.0,
        mask_token_rate=1.0,
        random_token_rate=0.0,
    )
    x, y, weight = every("the quick fox")
    # All three words and nothing else: [CLS], [SEP] and padding stay.
    assert x["token_ids"].numpy().tolist()[:5] == [2, 4, 4, 4, 3]
    assert x["mask_positions"].numpy()[:3].tolist() == [1, 2, 3]
    assert (
        y.numpy()[:3].tolist()
        == np.asarray(tokenizer("the quick fox")).tolist()
    )
    assert weight.numpy().sum() == 3


def test_direct_mapped_and_batched_agree(tokenizer):
    import tensorflow as tf

    preprocessor = keras_bert.BertMaskedLMPreprocessor(
        tokenizer, sequence_length=16, seed=7
    )
    direct = preprocessor(TEXTS[:2])
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS[:2])
    unbatched = next(iter(dataset.map(preprocessor).batch(2)))
    batched = next(iter(dataset.batch(2).map(preprocessor)))
    for other in (unbatched, batched):
        keras.tree.map_structure(
            lambda a, b: np.testing.assert_array_equal(a, b), direct, other
        )


def test_masks_change_without_a_seed_and_stay_with_one(tokenizer):
    def positions(seed):
        preprocessor = keras_bert.BertMaskedLMPreprocessor(
            tokenizer, sequence_length=16, seed=seed
        )
        return [
            preprocessor(TEXTS)[0]["mask_positions"].numpy().tolist()
            for _ in range(2)
        ]

    first, second = positions(None)
    assert first != second
    first, second = positions(3)
    assert first == second


def test_pair_is_joined_and_masked(masked_lm):
    loss = masked_lm.evaluate((TEXTS, TEXTS), verbose=0, return_dict=True)[
        "loss"
    ]
    assert np.isfinite(loss)


def test_logits_stand_at_the_mask_positions(masked_lm):
    x, _, _ = masked_lm.preprocessor(TEXTS[:2])
    x = {key: np.asarray(value) for key, value in x.items()}
    logits = masked_lm.predict(x, verbose=0)
    assert logits.shape == (2, x["mask_positions"].shape[1], 23)
    shifted = {**x, "mask_positions": x["mask_positions"][:, ::-1]}
    np.testing.assert_allclose(
        masked_lm.predict(shifted, verbose=0), logits[:, ::-1], atol=1e-5
    )


def test_preset_round_trip(masked_lm, tmp_path):
    masked_lm.save_to_preset(tmp_path / "preset")
    again = keras_bert.load(tmp_path / "preset")
    assert type(again) is keras_bert.BertMaskedLM
    text = "the [MASK] fox"
    assert [one["token"] for one in again.fill_mask(text)[0]] == [
        one["token"] for one in masked_lm.fill_mask(text)[0]
    ]
