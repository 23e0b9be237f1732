"""The name table and the tensor rules."""

import numpy as np
import pytest

from keras_bert.checkpoints import names
from keras_bert.checkpoints import tensors


def test_google_names_number_206_for_base_with_pretraining_heads():
    # spec: google-research/bert, BERT-Base: 206 variables with the
    # pretraining heads, 199 for the encoder with its pooler.
    found = [
        name
        for entry in names.entries("google", 12)
        if entry.part not in ("classifier", "span")
        for name in entry.foreign
    ]
    assert len(found) == len(set(found)) == 206
    assert sum(name.startswith("bert/") for name in found) == 199


@pytest.mark.parametrize("format", names.FORMATS)
def test_every_foreign_name_has_one_rule(format):
    found = [
        name for entry in names.entries(format, 3) for name in entry.foreign
    ]
    assert len(found) == len(set(found))


def test_layers_are_numbered_not_sorted_as_text():
    # spec B.1: layer_10 sorts before layer_2 as text.
    found = [
        entry.name
        for entry in names.entries("google", 12)
        if entry.foreign[0] == "bert/encoder/layer_10/output/dense/kernel"
    ]
    assert found == ["encoder_block_10/feedforward_output_dense/kernel"]


@pytest.mark.parametrize("format", names.FORMATS)
@pytest.mark.parametrize(
    "kind, shape",
    [
        ("vector", (5,)),
        ("kernel", (4, 6)),
        ("output_kernel", (4, 3)),
        ("query_key_value_kernel", (4, 3, 2, 2)),
        ("query_key_value_bias", (3, 2, 2)),
        ("attention_output_kernel", (2, 2, 4)),
    ],
)
def test_split_then_join_gives_the_array_back(format, kind, shape):
    array = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    parts = tensors.split(kind, format, array)
    np.testing.assert_array_equal(
        tensors.join(kind, format, parts, num_heads=2), array
    )
    shapes = [part.shape for part in parts]
    assert tensors.split_shapes(kind, format, shape) == shapes
    assert tensors.joined_shape(kind, format, shapes, 2) == shape


def test_hugging_face_query_is_transposed_then_cut_into_heads():
    # By hand: weight[out, in] with out = (head, column). Width 4, 2 heads.
    weight = np.array(
        [
            [0, 1, 2, 3],  # head 0, column 0
            [4, 5, 6, 7],  # head 0, column 1
            [8, 9, 10, 11],  # head 1, column 0
            [12, 13, 14, 15],  # head 1, column 1
        ]
    )
    kernel = tensors.join(
        "query_key_value_kernel", "huggingface", [weight] * 3, num_heads=2
    )
    # Input 1, query, head 1: the second column of rows 2 and 3.
    assert kernel[1, 0, 1].tolist() == [9, 13]


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="6 cannot be divided among 4 heads"):
        tensors.joined_shape(
            "query_key_value_kernel", "google", [(6, 6)] * 3, 4
        )
