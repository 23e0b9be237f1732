import pytest

from keras_bert.data import labelled_docstrings
from keras_bert.data import python_documentation
from keras_bert.data.python_docs import prose_sentences


def test_the_corpus_is_large_and_has_no_code():
    documents = python_documentation()
    sentences = [sentence for document in documents for sentence in document]
    assert len(documents) > 1000
    assert all(len(document) >= 2 for document in documents)
    assert sum(map(len, sentences)) > 1_500_000
    assert len(set(sentences)) == len(sentences)
    assert not any(">>>" in sentence for sentence in sentences)
    assert documents == python_documentation()


def test_prose_is_kept_and_code_is_left_out():
    text = (
        "Add the items.\n\nMore text\nwraps here. Use ``x`` like this::\n\n"
        "    code = here(1)\n\nParameters\n----------\n"
        "a : int\n    The first number of two.\n\n"
        ">>> add(1, 2)\n3\nthree words here\n\nThe last line stays."
    )
    assert prose_sentences(text) == [
        "Add the items.",
        "More text wraps here.",
        "Use x like this:",
        "The first number of two.",
        "The last line stays.",
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_no_module_and_no_beginning_is_in_both_parts(seed):
    train, held_out = labelled_docstrings(seed)
    assert not set(train["modules"]) & set(held_out["modules"])
    assert not {text[:60] for text in train["texts"]} & {
        text[:60] for text in held_out["texts"]
    }
    for part, least in ((train, 30), (held_out, 10)):
        sizes = {len(part[key]) for key in ("texts", "labels", "modules")}
        assert len(sizes) == 1
        assert part["counts"].keys() == train["counts"].keys()
        assert sum(part["counts"].values()) == sizes.pop()
        assert min(part["counts"].values()) >= least
        for label, text in zip(part["labels"], part["texts"], strict=True):
            assert label not in text.lower().split()


def test_the_seed_decides_the_split():
    first, again, other = map(labelled_docstrings, (1, 1, 2))
    assert first == again
    assert first[1]["texts"] != other[1]["texts"]
