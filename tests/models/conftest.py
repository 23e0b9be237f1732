"""A vocabulary of 23 tokens and a backbone of 2 x 16 for model tests."""

import pytest

import keras_bert

WORDS = (
    "the quick fox jumps over a lazy dog good bad film was it fun dull . , ##s"
)


@pytest.fixture(scope="session")
def tokenizer():
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
    return keras_bert.BertTokenizer(vocabulary, lowercase=True)


@pytest.fixture(scope="session")
def make_backbone(tokenizer):
    """A function that builds a small backbone; arguments may be replaced."""

    def make(**arguments):
        return keras_bert.BertBackbone(
            **{
                "vocabulary_size": tokenizer.vocabulary_size(),
                "num_layers": 2,
                "num_heads": 2,
                "hidden_dim": 16,
                "intermediate_dim": 32,
                "max_sequence_length": 64,
                # Wide, so that different texts get visibly different outputs.
                "initializer_range": 0.3,
                **arguments,
            }
        )

    return make
