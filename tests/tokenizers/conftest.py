"""Vocabularies for the tests of the tokenizer."""

import sys
from pathlib import Path

import pytest

from keras_bert.tokenizers import BertTokenizer

# For `reference_tokenizer`, which stands beside this file.
sys.path.insert(0, str(Path(__file__).parent))

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# The vocabulary that the collection of users' reports uses, with its ids.
USERS = [*SPECIALS, "the", "quick", "##ly", "fox", "jim", "hen", "##son"]
USERS += ["-", ".", "(", ")", "1895", "a", "b", "!", "naive", "hello"]


@pytest.fixture(scope="session")
def specials():
    return list(SPECIALS)


@pytest.fixture(scope="session")
def users_vocabulary():
    return list(USERS)


@pytest.fixture(scope="session")
def users_tokenizer():
    return BertTokenizer(USERS, lowercase=True)


@pytest.fixture(scope="session")
def users_tokenizer_with_specials():
    return BertTokenizer(USERS, lowercase=True, special_tokens_in_strings=True)


@pytest.fixture(scope="session")
def released(shared):
    """The three published vocabularies: name -> tokenizer."""

    def load(name):
        path = shared / "vocab" / f"bert-base-{name}-vocab.txt"
        return BertTokenizer(path, lowercase=name != "cased")

    return {name: load(name) for name in ("uncased", "cased", "chinese")}
