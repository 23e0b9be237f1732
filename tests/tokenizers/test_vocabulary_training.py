"""BertTokenizer.train: what the vocabulary holds, and what it refuses."""

import pytest

from keras_bert.tokenizers import BertTokenizer
from keras_bert.tokenizers import _vocabulary_training

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture
def corpus(tmp_path):
    def write(text, name="corpus.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def test_users_10_no_unknown_word_in_the_training_text(corpus):
    file = corpus("bat sat pat\n")
    tokenizer = BertTokenizer.train(file, 40, lowercase=True)
    assert tokenizer.vocabulary[:5] == SPECIALS
    assert len(set(tokenizer.vocabulary)) == len(tokenizer.vocabulary)
    # "at" occurs three times, so it is merged; nothing else twice.
    assert tokenizer.detokenize(tokenizer("bat sat pat")) == "bat sat pat"
    pieces = [tokenizer.id_to_token(i) for i in tokenizer("bat").numpy()]
    assert pieces == ["b", "##at"]
    with pytest.raises(TypeError, match="lower_case"):
        BertTokenizer.train(file, 40, lower_case=True)


MESSY = (
    "Naïve Ärger, na\u0308h\u00adt\x0bzu \u200b!! 中文字符 ΟΔΟΣ \u0130\n"
    "\ufeffa\x85b 한국어 don't😀x\r\n"
    + "e\u0301" * 90
    + " 𝒳𝒴 ½\u2028z"
    + "!" * 300
)


@pytest.mark.parametrize("lowercase", [True, False])
def test_training_normalises_as_the_tokenizer_does(corpus, lowercase):
    file = corpus(MESSY)
    tokenizer = BertTokenizer.train(file, 400, lowercase=lowercase)
    ids = tokenizer(MESSY.split("\n"))
    assert 1 not in ids.values.numpy()
    assert ("Ä" in "".join(tokenizer.vocabulary)) is (not lowercase)


def test_no_limit_of_the_alphabet(corpus):
    ideographs = "".join(chr(0x4E00 + i) for i in range(3000))
    tokenizer = BertTokenizer.train(corpus(ideographs), 4000)
    assert set(ideographs) <= set(tokenizer.vocabulary)


def test_a_size_below_the_alphabet_is_reported(corpus):
    # b a ##a c: with the five special tokens nine at least.
    file = corpus("ba c")
    with pytest.raises(ValueError, match="vocabulary_size.*at least 9"):
        BertTokenizer.train(file, 8)
    assert BertTokenizer.train(file, 9).vocabulary_size() == 9


def test_the_released_layout_has_the_published_ids(corpus, released):
    file = corpus("a b c a b c")
    for lowercase, name in ((True, "uncased"), (False, "cased")):
        trained = BertTokenizer.train(
            file, 1500, lowercase=lowercase, layout="released"
        )
        published = released[name]
        assert trained.special_token_ids == published.special_token_ids
        size = 999 if lowercase else 106
        assert trained.vocabulary[:size] == published.vocabulary[:size]
    with pytest.raises(ValueError, match="`layout`"):
        BertTokenizer.train(file, 1500, layout="google")


def test_same_text_same_vocabulary_however_it_is_read(
    corpus, shared, monkeypatch
):
    text = (shared / "text_en" / "sample_text.txt").read_text()
    half = text.index("\n", len(text) // 2) + 1
    whole = corpus(text)
    parts = [corpus(text[:half], "1.txt"), corpus(text[half:], "2.txt")]
    first = BertTokenizer.train(whole, 500, lowercase=True).vocabulary
    assert BertTokenizer.train(whole, 500, lowercase=True).vocabulary == first
    # Small blocks and early flushes must not split or lose a word.
    monkeypatch.setattr(_vocabulary_training, "BLOCK", 64)
    monkeypatch.setattr(_vocabulary_training, "RAW_WORDS", 10)
    assert BertTokenizer.train(parts, 500, lowercase=True).vocabulary == first


def test_pieces_per_word_as_the_trainer_of_tokenizers(shared):
    # Hugging Face's BertWordPieceTokenizer, same text, same size: within 2%.
    from tokenizers import BertWordPieceTokenizer

    files = sorted((shared / "text_en" / "wikitext-2").iterdir())
    lines = files[0].read_text("utf-8").split("\n")
    ours = BertTokenizer.train(files[:1], 4000, lowercase=True)
    theirs = BertWordPieceTokenizer(lowercase=True)
    theirs.train([str(files[0])], vocab_size=4000, show_progress=False)
    peer = BertTokenizer(
        sorted(theirs.get_vocab(), key=theirs.get_vocab().get), lowercase=True
    )
    count, peers = (t(lines).values.shape[0] for t in (ours, peer))
    assert abs(count / peers - 1) < 0.02


def test_rare_words_are_dropped_with_a_warning_but_not_their_letters(
    corpus, monkeypatch
):
    monkeypatch.setattr(_vocabulary_training, "WORDS", 4)
    monkeypatch.setattr(_vocabulary_training, "RAW_WORDS", 0)
    monkeypatch.setattr(_vocabulary_training, "BLOCK", 8)
    file = corpus("aa bb cc dd ee ff gg hh zz zz")
    with pytest.warns(UserWarning, match="distinct words"):
        tokenizer = BertTokenizer.train(file, 100)
    assert 1 not in tokenizer("aa bb cc dd ee ff gg hh zz").numpy()


def test_bad_files_are_refused_by_name(corpus, tmp_path):
    for files in ([], [tmp_path / "none.txt"], tmp_path / "none.txt"):
        with pytest.raises(ValueError, match="`files`"):
            BertTokenizer.train(files, 100)
    with pytest.raises(ValueError, match="at least one word"):
        BertTokenizer.train(corpus(" \n\u200b\n"), 100)


def test_text_of_languages_is_read_like_that_of_a_file(corpus):
    text = "bat sat pat"
    expected = BertTokenizer.train(corpus(text), 40).vocabulary
    found = BertTokenizer.train({"en": [text[:4], text[4:]]}, 40)
    assert found.vocabulary == expected and "##at" in expected
    # The characters of a string would each have counted as a word.
    for wrong in (text, text.encode(), 3):
        with pytest.raises(ValueError, match="`files`.*texts for 'en'"):
            BertTokenizer.train({"en": wrong}, 40)
    with pytest.raises(ValueError, match="`files`.*at least one word"):
        BertTokenizer.train({}, 40)


@pytest.mark.parametrize("wrong", [100.5, [None], "100", True, None])
@pytest.mark.parametrize("name", ["vocabulary_size", "minimum_frequency"])
def test_sizes_that_are_no_int_are_refused_by_name(name, wrong, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a b\n")
    arguments = {"vocabulary_size": 100, name: wrong}
    with pytest.raises(ValueError, match=f"argument `{name}`"):
        BertTokenizer.train([file], **arguments)
