"""Vocabulary files: what is handled, and what is refused with its place."""

import json

import pytest

from keras_bert.tokenizers import BertTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write(path, data):
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_users_09_a_file_gives_the_ids_of_the_list(tmp_path):
    tokens = [*SPECIALS, "the", "\u2028", "##\u2028", "", "fox"]
    lines = "\r\n".join(tokens) + "\r\n\r\n\n"
    for data in (lines, "\ufeff" + lines, "\n".join(tokens)):
        file = write(tmp_path / "vocab.txt", data)
        for path in (file, str(file)):
            assert BertTokenizer(path).vocabulary == tokens
    assert BertTokenizer(file)("the fox").numpy().tolist() == [5, 9]
    assert BertTokenizer(tokens)("the fox").numpy().tolist() == [5, 9]


def test_the_released_files_have_the_published_numbers_of_tokens(released):
    sizes = {name: t.vocabulary_size() for name, t in released.items()}
    assert sizes == {"uncased": 30522, "cased": 28996, "chinese": 21128}
    for tokenizer in released.values():
        assert tokenizer.special_token_ids == [0, 100, 101, 102, 103]


def test_json_layouts_are_read(tmp_path):
    tokens = [*SPECIALS, "a"]
    table = {token: i for i, token in enumerate(tokens)}
    whole = {"version": "1.0", "model": {"type": "WordPiece", "vocab": table}}
    for content in (tokens, table, whole):
        file = write(tmp_path / "tokenizer.json", json.dumps(content))
        assert BertTokenizer(file).vocabulary == tokens


SPECIAL_LINES = "\n".join(SPECIALS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (SPECIAL_LINES + "\na\nb\na\n", ["line 8", "line 6", "'a'"]),
        (SPECIAL_LINES.lower(), ["[PAD]", "line 1", "[pad]"]),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", ["[MASK]"]),
        (SPECIAL_LINES + "\n▁the\t-3.2\n", ["line 6", "SentencePiece", "▁the"]),
        ("<s>\n</s>\n<unk>\n", ["[PAD]", "another model"]),
        (SPECIAL_LINES.encode() + b"\n\xff\n", ["line 6", "UTF-8"]),
        (SPECIAL_LINES + "\n" + "x" * 257, ["line 6", "256 bytes"]),
        ('{"[PAD]": 0, "[UNK]": 2}', ["ids from 0 to 1"]),
        ('{"model": {"type": "BPE", "vocab": {}}}', ["WordPiece", "BPE"]),
        ('{"model": {"vocab": [["a", -1.5]]}}', ["WordPiece"]),
        ('{"model": null}', ["WordPiece"]),
        ('["[PAD]", "a", "a"]', ["line 3", "line 2", "'a'"]),
        (SPECIAL_LINES.encode("utf-16"), ["line 1", "UTF-8"]),
        ("", ["[PAD]"]),
    ],
)
def test_bad_files_are_refused_with_file_line_and_token(tmp_path, data, words):
    file = write(tmp_path / "bad.txt", data)
    with pytest.raises(ValueError, match="`vocabulary`") as error:
        BertTokenizer(file)
    for word in [*words, "bad.txt"]:
        assert word in str(error.value)


def test_lower_case_specials_of_a_real_file_are_refused(shared):
    with pytest.raises(ValueError, match=r"line 101 .* \[unk\]"):
        BertTokenizer(shared / "vocab" / "lowercase-specials-vocab.txt")


def test_bad_lists_and_missing_files_are_refused(tmp_path):
    for wrong, word in (
        ([*SPECIALS, "a", "a"], "position 6"),
        ([*SPECIALS, 5], "position 5"),
        ([*SPECIALS, "\ud800"], "surrogate at position 5"),
        (SPECIALS[:4], r"\[MASK\]"),
        (tmp_path / "none.txt", "none.txt"),
        ({"[PAD]": 0}, "list"),
    ):
        with pytest.raises(ValueError, match=word):
            BertTokenizer(wrong)


def test_a_preset_folder_brings_back_the_tokenizer(tmp_path):
    tokens = [*SPECIALS, "a", "\u2028"]
    saved = BertTokenizer(tokens, True, False, True)
    saved.save_to_preset(tmp_path / "new" / "folder")
    loaded = BertTokenizer.from_preset(tmp_path / "new" / "folder")
    assert loaded.get_config() == saved.get_config()
    assert [p.name for p in (tmp_path / "new" / "folder").glob(".*")] == []
    changed = BertTokenizer.from_preset(
        tmp_path / "new" / "folder", strip_accents=None
    )
    assert changed.strip_accents is None


def test_a_lone_vocabulary_needs_the_case(tmp_path):
    write(tmp_path / "vocab.txt", SPECIAL_LINES)
    with pytest.raises(ValueError, match="`lowercase`"):
        BertTokenizer.from_preset(tmp_path)
    assert BertTokenizer.from_preset(tmp_path, lowercase=True).lowercase


def test_transformers_reads_the_folder_and_agrees(tmp_path):
    from transformers import BertTokenizer as Peer

    tokens = [*SPECIALS, "the", "fox", "##es", "cafe", "café", "Fox"]
    for lowercase in (True, False):
        ours = BertTokenizer(tokens, lowercase)
        folder = tmp_path / str(lowercase)
        ours.save_to_preset(folder)
        theirs = Peer.from_pretrained(folder)
        text = "The Foxes, café fox"
        assert ours(text).numpy().tolist() == theirs.encode(
            text, add_special_tokens=False
        )
