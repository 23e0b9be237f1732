"""Small tokenizers and corpora for the tests of the data package."""

import numpy as np
import pytest

from keras_bert.data import Corpus
from keras_bert.data import Preparation
from keras_bert.data import prepare
from keras_bert.tokenizers import BertTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="session")
def tokenizer():
    """Ids 0-4 are special, 5-24 are w0 ... w19, then ".", "中", "文"."""
    words = [f"w{i}" for i in range(20)]
    return BertTokenizer([*SPECIAL, *words, ".", "中", "文"], lowercase=True)


@pytest.fixture(scope="session")
def uncased(shared):
    path = shared / "vocab" / "bert-base-uncased-vocab.txt"
    return BertTokenizer(str(path), lowercase=True)


@pytest.fixture(scope="session")
def corpus_of():
    """Makes a corpus from the lengths of each document's sentences.

    Token number i of the corpus has the id 5 + i, so every token says where
    it stands.
    """

    def make(*documents):
        lengths = [length for document in documents for length in document]
        return Corpus(
            5 + np.arange(sum(lengths), dtype=np.uint32),
            np.cumsum([0, *lengths]),
            np.cumsum([0, *map(len, documents)]),
        )

    return make


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """Forty documents of three sentences; sentence s of document d is
    d, s and a run of other words."""
    lines = []
    for document in range(40):
        for sentence in range(3):
            words = [
                f"w{(document + sentence * word) % 20}"
                for word in range(3 + (document * sentence) % 9)
            ]
            lines.append(" ".join(words))
        lines.append("")
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.fixture(scope="session")
def shards(file, tokenizer, tmp_path_factory):
    """Several shards of the small corpus, and one of all of it."""
    folder = tmp_path_factory.mktemp("shards")
    prepare(Preparation((file,), shard_bytes=600), tokenizer, folder / "many")
    prepare(Preparation((file,)), tokenizer, folder / "one")
    return folder
