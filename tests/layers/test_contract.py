"""Every layer keeps the contract of keras_bert.testing.check_layer."""

import keras
import numpy as np

from keras_bert.layers import BertEmbeddings
from keras_bert.layers import BertEncoderBlock
from keras_bert.layers import BertSelfAttention
from keras_bert.layers import MaskedLMHead
from keras_bert.testing import check_layer


def hidden(batch, length, dim=8):
    rng = np.random.default_rng(length)
    return rng.normal(size=(batch, length, dim)).astype("float32")


def mask(batch, length):
    """The last column sees nobody and is seen by nobody."""
    allowed = np.ones((batch, length, length), "bool")
    allowed[:, -1] = False
    allowed[:, :, -1] = False
    return allowed


def test_embeddings():
    ids = np.array([[2, 7, 8, 3, 0], [2, 5, 3, 6, 3]], "int32")
    segments = np.array([[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]], "int32")
    numbers = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 2, 2]], "int32")
    full = {
        "token_ids": ids,
        "segment_ids": segments,
        "padding_mask": numbers,
    }
    short = {name: x[:1, :3] for name, x in full.items()}
    check_layer(
        BertEmbeddings,
        {
            "vocabulary_size": 10,
            "hidden_dim": 8,
            "max_sequence_length": 5,
            "dropout": 0.0,
            "name": "embeddings",
        },
        [full, short],
    )


def test_self_attention():
    check_layer(
        BertSelfAttention,
        {"num_heads": 2, "hidden_dim": 8, "initializer_range": 0.3},
        [
            {"inputs": hidden(b, n), "attention_mask": mask(b, n)}
            for b, n in ((2, 5), (1, 3))
        ],
    )


def test_encoder_block():
    check_layer(
        BertEncoderBlock,
        {
            "num_heads": 2,
            "hidden_dim": 8,
            "intermediate_dim": 16,
            "activation": "gelu_new",
            "initializer_range": 0.3,
        },
        [
            {"inputs": hidden(b, n), "attention_mask": mask(b, n)}
            for b, n in ((2, 5), (1, 3))
        ],
    )


def test_masked_lm_head():
    table = keras.layers.Embedding(10, 8)
    table.build(None)
    check_layer(
        MaskedLMHead,
        {"token_embedding": table, "initializer_range": 0.3},
        [
            {
                "sequence_output": hidden(2, 5),
                "mask_positions": np.array([[0, 4], [3, 3]], "int32"),
            },
            {
                "sequence_output": hidden(1, 3),
                "mask_positions": np.array([[2]], "int32"),
            },
        ],
        output_dtype="float32",
    )
