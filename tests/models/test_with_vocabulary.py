"""Continued pretraining under another vocabulary."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.models import with_vocabulary

EXTRA = ["newword", "##ing"]


@pytest.fixture(scope="module")
def model(make_backbone, tokenizer):
    keras.utils.set_random_seed(4)
    model = keras_bert.BertPretrainer(make_backbone(), tokenizer)
    bias = model.mlm_head.output_bias
    bias.assign(np.arange(bias.shape[0], dtype="float32"))
    return model


def _rows(model):
    table = model.backbone.token_embedding.embeddings
    return (
        keras.ops.convert_to_numpy(table),
        keras.ops.convert_to_numpy(model.mlm_head.output_bias),
    )


def test_old_tokens_keep_their_rows_and_new_ones_are_drawn(model, tokenizer):
    old = list(tokenizer.vocabulary)
    # One new token in the middle: rows follow the tokens, not the numbers.
    new = [*old[:7], EXTRA[0], *old[7:], EXTRA[1]]
    grown, notes = with_vocabulary(
        model, keras_bert.BertTokenizer(new, lowercase=True)
    )
    table, bias = _rows(model)
    new_table, new_bias = _rows(grown)
    for token in old:
        a, b = old.index(token), new.index(token)
        np.testing.assert_array_equal(new_table[b], table[a])
        assert new_bias[b] == bias[a]
    for token in EXTRA:
        row = new_table[new.index(token)]
        # As at the start of training: truncated at two deviations.
        limit = 2 * model.backbone.initializer_range
        assert 0 < np.abs(row).max() <= limit + 1e-6
        assert new_bias[new.index(token)] == 0.0
    assert f"{len(old)} of {len(new)} tokens keep" in notes[0]
    assert "2 tokens have newly initialised rows: newword, ##ing" in notes[1]
    # Everything else is the same, so known words get the same outputs.
    ids = np.array([[2, 5, 6, 3]])
    np.testing.assert_allclose(
        *(
            keras.ops.convert_to_numpy(
                m.backbone({"token_ids": ids})["pooled_output"]
            )
            for m in (model, grown)
        ),
        atol=1e-6,
    )
    dataset = keras_bert.pretraining_dataset(
        keras_bert.data.Corpus.from_documents(
            [["the newword .", "a fox ."]] * 4, grown.tokenizer
        ),
        grown.tokenizer,
        sequence_length=16,
        batch_size=2,
    )
    grown.fit(dataset, verbose=0)


def test_the_same_vocabulary_gives_the_model_itself(model, tokenizer):
    assert with_vocabulary(model, tokenizer) == (model, [])


def test_left_out_tokens_are_reported_and_strangers_refused(model, tokenizer):
    fewer = list(tokenizer.vocabulary)[:-1]
    _, notes = with_vocabulary(
        model, keras_bert.BertTokenizer(fewer, lowercase=True)
    )
    assert "1 tokens of the checkpoint are left out: ##s" in notes[1]
    alone = keras_bert.BertPretrainer(model.backbone)
    with pytest.raises(ValueError, match="`tokenizer`"):
        with_vocabulary(alone, keras_bert.BertTokenizer(fewer, lowercase=True))
