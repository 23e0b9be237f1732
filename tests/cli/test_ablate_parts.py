"""What the ablations of pretraining share: records, columns, the BiLSTM."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.cli.ablations import _figure
from keras_bert.cli.ablations import _runs
from keras_bert.cli.ablations._bilstm import BiLstmBackbone
from keras_bert.cli.ablations._records import Records
from keras_bert.tasks.table import TASKS
from keras_bert.tokenizers import BertTokenizer

SIZE = {
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 8,
    "max_sequence_length": 16,
}


def _states(backbone, ids):
    mask = (ids != 0).astype("int32")
    found = backbone({"token_ids": ids, "padding_mask": mask})
    return [
        keras.ops.convert_to_numpy(found[name])
        for name in ("sequence_output", "pooled_output")
    ]


def test_the_bilstm_gives_a_causal_encoder_context_from_the_right():
    keras.utils.set_random_seed(1)
    size = {**SIZE, "vocabulary_size": 12, "causal": True}
    plain = keras_bert.BertBackbone(**size)
    both = BiLstmBackbone(**size)
    rows = np.array([[2, 5, 6, 7, 3], [2, 5, 6, 9, 3]])
    for backbone, changes in ((plain, False), (both, True)):
        states, _ = _states(backbone, rows)
        assert (np.abs(states[0, :3] - states[1, :3]).max() > 1e-6) == changes
    # Padding changes nothing, also for the direction that begins there.
    padded = np.pad(rows, ((0, 0), (0, 3)))
    states, pooled = _states(both, rows)
    wide, pooled_wide = _states(both, padded)
    np.testing.assert_allclose(states, wide[:, :5], atol=1e-6)
    np.testing.assert_allclose(pooled, pooled_wide, atol=1e-6)


def test_the_pooled_output_reads_both_ends_of_the_bilstm():
    keras.utils.set_random_seed(1)
    backbone = BiLstmBackbone(**SIZE, vocabulary_size=12)
    states, pooled = _states(backbone, np.array([[2, 5, 6, 3, 0]]))
    # Forwards all was read at the last token, backwards at the first.
    ends = np.concatenate([states[0, 3, :4], states[0, 0, 4:]])
    kernel, bias = backbone.pooled_dense.get_weights()
    np.testing.assert_allclose(
        pooled[0], np.tanh(ends @ kernel + bias), atol=1e-5
    )


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """Presets of one and of four blocks."""
    folder = tmp_path_factory.mktemp("encoders")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "b"]
    tokenizer = BertTokenizer(words, lowercase=True)
    for layers in (1, 4):
        backbone = keras_bert.BertBackbone(
            **{**SIZE, "num_layers": layers}, vocabulary_size=len(words)
        )
        model = keras_bert.BertPretrainer(backbone, tokenizer)
        model.save_to_preset(folder / str(layers))
    return folder


ROWS = {"x": ["good", "bad"] * 8, "y": ["p", "n"] * 8, "ids": list(range(16)),
        "notes": []}  # fmt: skip


def test_a_bilstm_is_trained_and_measured_in_percent(encoders, monkeypatch):
    made = []
    model_of = _runs.model_of
    monkeypatch.setattr(
        _runs, "model_of", lambda *a: made.append(model_of(*a)) or made[-1]
    )
    of = {"bilstm": True, "learning_rate": 1e-2, "epochs": 1, "seed": 3}
    before = model_of(
        TASKS["text"], encoders / "1", ROWS, "fine-tuning", True, 3
    ).backbone.bilstm.get_weights()
    score = _runs._fine_tuned(
        _runs.Column("text", "text"), encoders / "1", ROWS, ROWS, of, "run"
    )
    assert score * 16 / 100 == pytest.approx(round(score * 16 / 100))
    diverging = {**of, "learning_rate": 1e30, "epochs": 3}
    assert _runs._fine_tuned(
        _runs.Column("text", "text"), encoders / "1", ROWS, ROWS, diverging, ""
    ) is None  # fmt: skip
    after = made[0].backbone.bilstm.get_weights()
    assert all(np.any(a != b) for a, b in zip(before, after, strict=True))


def test_features_need_four_blocks_and_stay_fixed(encoders, capsys):
    column = _runs.Column("NER features", "ner", "features")
    assert not _runs._fits(column, encoders / "1")
    assert "left blank" in capsys.readouterr().out
    assert _runs._fits(column, encoders / "4")
    assert _runs._fits(_runs.Column("NER", "ner"), encoders / "1")
    rows = {"x": [["good"], ["bad"]], "y": [["O"], ["B-A"]], "ids": [0, 1],
            "notes": []}  # fmt: skip
    model = _runs.model_of(
        TASKS["ner"], encoders / "4", rows, "features", False, 1
    )
    assert isinstance(model, keras_bert.BertFeatureTagger)
    assert list(model.hidden_layers) == [-4, -3, -2, -1]
    names = [variable.path for variable in model.trainable_variables]
    assert names and not any("encoder_block" in name for name in names)


def test_records_are_found_by_what_they_are_of(tmp_path):
    folder = tmp_path / "out"
    records = Records(folder)
    of = {"task": "ner", "sizes": (1, 2)}
    assert records.find(of) is None
    records.add(of, 0.0)
    again = Records(folder)
    assert again.find(of) == 0.0
    assert again.find({**of, "task": "swag"}) is None
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "thesis.txt").touch()
    with pytest.raises(ValueError, match="`-o`"):
        Records(stranger)


def test_the_curves_of_figure_5_leave_out_what_is_blank():
    rows = [
        {"cells": [3, "30,000"], "ours": {"MLM a": 1.0}, "paper": {"L": 4.0}},
        {"cells": [5, "1,000,000"], "ours": {}, "paper": {"L": 5.0}},
    ]
    assert _figure.curves(rows, "ours") == {"MLM a": [(3, 1.0)]}
    assert _figure.curves(rows, "paper") == {
        "L": [(30000, 4.0), (1000000, 5.0)]
    }
