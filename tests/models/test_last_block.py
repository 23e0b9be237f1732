"""The last block is computed only where its output is read."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert as kb

IDS = np.array([[2, 7, 8, 3, 9, 3, 0], [2, 5, 3, 6, 7, 8, 3]])
PACKED = np.array([[1, 1, 1, 1, 2, 2, 0], [1, 1, 1, 2, 2, 2, 2]])
WANTED = np.array([[1, 5], [6, 2]])


def backbone(**settings):
    keras.utils.set_random_seed(0)
    return kb.BertBackbone(
        vocabulary_size=12, num_layers=2, num_heads=2, hidden_dim=8,
        intermediate_dim=16, max_sequence_length=16, **settings,
    )  # fmt: skip


def numpy_of(outputs):
    return {key: ops.convert_to_numpy(x) for key, x in outputs.items()}


@pytest.mark.parametrize("cls_positions", [None, [[0, 4], [0, 3]]])
@pytest.mark.parametrize("causal", [False, True])
def test_outputs_are_those_of_the_whole_block(causal, cls_positions):
    model = backbone(causal=causal)
    inputs = {"token_ids": IDS, "padding_mask": PACKED}
    if cls_positions:
        inputs["cls_positions"] = np.array(cls_positions)
    whole = numpy_of(model(inputs))
    part = numpy_of(model(inputs, positions=WANTED))
    rows = np.take_along_axis(
        whole["sequence_output"], WANTED[:, :, None], axis=1
    )
    np.testing.assert_allclose(part["sequence_output"], rows, atol=1e-6)
    # Negative control: at other positions the outputs are others.
    assert np.abs(part["sequence_output"] - rows[:, ::-1]).max() > 0.01
    np.testing.assert_allclose(
        part["pooled_output"], whole["pooled_output"], atol=1e-6
    )
    none = numpy_of(model(inputs, positions=()))
    np.testing.assert_allclose(
        none["pooled_output"], whole["pooled_output"], atol=1e-6
    )
    assert none["sequence_output"].shape == (2, 0, 8)


def test_shapes_are_known_before_a_call():
    model = backbone()
    wanted = keras.Input((None,), dtype="int32")
    outputs = model(model.input, positions=wanted)
    assert outputs["sequence_output"].shape == (None, None, 8)
    assert outputs["pooled_output"].shape == (None, 8)


def test_bad_positions():
    inputs = {"token_ids": IDS}
    with pytest.raises(ValueError, match="mask_positions.*row length"):
        backbone()(inputs, positions=np.array([[7], [0]]))
    with pytest.raises(ValueError, match="positions.*without a pooler"):
        backbone(pooler=False)(inputs, positions=())


def test_heads_read_what_the_whole_block_gives():
    model = backbone()
    pretrainer = kb.BertPretrainer(model)
    inputs = {"token_ids": IDS, "padding_mask": PACKED}
    found = numpy_of(pretrainer({**inputs, "mask_positions": WANTED}))
    whole = model(inputs)
    expected = pretrainer.mlm_head(whole["sequence_output"], WANTED)
    np.testing.assert_allclose(
        found["mask_ids"], ops.convert_to_numpy(expected), atol=1e-5
    )
    classifier = kb.BertTextClassifier(model, num_classes=3)
    np.testing.assert_allclose(
        ops.convert_to_numpy(classifier(inputs)),
        ops.convert_to_numpy(classifier.logits(whole["pooled_output"])),
        atol=1e-6,
    )
