"""`keras-bert vocab`."""

import argparse
import gzip
import json

import pytest

from keras_bert.cli import vocab
from keras_bert.tokenizers import BertTokenizer


def run(*arguments):
    parser = argparse.ArgumentParser()
    vocab.add_arguments(parser)
    return vocab.run(parser.parse_args([str(a) for a in arguments]))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("Naïve fox, naïve Fox\n" * 3, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ([], "naive"),
        (["--keep-accents"], "naïve"),
        (["--cased"], "Naïve"),
    ],
)
def test_the_folder_gives_the_tokenizer_back(text, tmp_path, options, word):
    output = tmp_path / "model" / "vocab.txt"
    result = run(text, "-o", output, "--size", 60, *options)
    tokenizer = BertTokenizer.from_preset(output.parent)
    assert result["vocabulary_size"] == tokenizer.vocabulary_size()
    assert result["lowercase"] is tokenizer.lowercase
    assert tokenizer.vocabulary[:2] == ["[PAD]", "[UNK]"]
    assert tokenizer("Naïve").shape == (1,)
    assert tokenizer.detokenize(tokenizer("Naïve")) == word
    names = sorted(path.name for path in output.parent.iterdir())
    assert names == ["tokenizer_config.json", "vocab.txt"]


def test_the_file_may_have_another_name(text, tmp_path):
    output = tmp_path / "out" / "words.txt"
    result = run(text, text, "-o", output, "--min-frequency", 100)
    assert result["vocabulary"] == str(output)
    # Only the alphabet: no pair occurs 100 times.
    assert set(map(len, BertTokenizer(output).vocabulary[5:])) <= {1, 3}


def test_an_output_that_is_a_folder_gets_vocab_txt(text, tmp_path):
    (tmp_path / "old").mkdir()
    for folder in (tmp_path / "old", f"{tmp_path}/new/"):
        result = run(text, "-o", folder)
        assert result["vocabulary"].endswith("/vocab.txt")
        assert BertTokenizer.from_preset(folder).vocabulary[0] == "[PAD]"


def test_bad_input_is_refused_and_leaves_nothing(text, tmp_path):
    output = tmp_path / "out" / "vocab.txt"
    with pytest.raises(ValueError, match="`vocabulary_size`"):
        run(text, "-o", output, "--size", 6)
    with pytest.raises(ValueError, match="`files`"):
        run(tmp_path / "none.txt", "-o", output)
    assert not output.parent.exists()
    with pytest.raises(ValueError, match="`-o`"):
        run(text, "-o", text)


@pytest.mark.parametrize("content", [b"ab\0cd", b"\xff\xfea\0", b"caf\xe9"])
def test_what_is_no_utf8_text_is_refused_and_nothing_written(tmp_path, content):
    source = tmp_path / "bad.txt"
    source.write_bytes(content)
    with pytest.raises(ValueError, match="argument `files`"):
        run(source, "-o", tmp_path / "out" / "vocab.txt")
    assert not (tmp_path / "out").exists()


def test_packed_files_json_lines_and_folders_are_read(text, tmp_path):
    plain = run(text, "-o", tmp_path / "plain" / "vocab.txt", "--size", 60)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.gz").write_bytes(gzip.compress(text.read_bytes()))
    lines = text.read_text("utf-8").splitlines()
    found = {}
    for field in ("text", "body"):
        records = [json.dumps({field: line, "n": "zzz zzz"}) for line in lines]
        (folder / "a.gz").write_bytes(gzip.compress(text.read_bytes()))
        (tmp_path / f"{field}.jsonl").write_text("\n".join(records))
        source = folder if field == "text" else tmp_path / "body.jsonl"
        output = tmp_path / field / "vocab.txt"
        run(source, "-o", output, "--size", 60, "--text-field", field)
        found[field] = output.read_text()
    assert found["text"] == found["body"]
    assert (tmp_path / "plain" / "vocab.txt").read_text() == found["text"]
    assert plain["vocabulary_size"] == len(found["text"].splitlines())
    with pytest.raises(ValueError, match="`text_field`"):
        run(tmp_path / "body.jsonl", "-o", tmp_path / "x" / "vocab.txt")


def test_sampling_gives_a_small_language_its_words(tmp_path):
    # 400 words against 4: shares 0.99 and 0.01, so "xy" counts 8 times; to the
    # power 0 both languages count alike, "xy" about 400 times.
    for name, line, count in (("en", "abab cdcd\n", 200), ("is", "xyxy\n", 4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(line * count)
    pieces = {}
    for exponent in (1, 0):
        output = tmp_path / f"{exponent}" / "vocab.txt"
        run(
            tmp_path / "en", tmp_path / "is", "-o", output, "--size", 40,
            "--sampling", exponent, "--min-frequency", 50,
        )  # fmt: skip
        pieces[exponent] = BertTokenizer(output).vocabulary
    assert "abab" in pieces[1]
    assert "xyxy" not in pieces[1]
    assert "xyxy" in pieces[0]
    with pytest.raises(ValueError, match="`--sampling`"):
        run(tmp_path / "en", "-o", tmp_path / "v.txt", "--sampling", 3)
    with pytest.raises(ValueError, match="`sampling`.*one group"):
        run(tmp_path / "en", "-o", tmp_path / "v.txt", "--sampling", 0.5)


def test_the_layout_says_where_the_special_tokens_stand(text, tmp_path):
    # The released vocabularies: [PAD] 0, [UNK] 100, [CLS] 101, [SEP] 102,
    # [MASK] 103 (vocab.txt of google-research/bert's checkpoints).
    places = {"specials_first": [0, 1, 2, 3, 4]}
    places["released"] = [0, 100, 101, 102, 103]
    for layout, wanted in places.items():
        output = tmp_path / layout / "vocab.txt"
        run(text, "-o", output, "--size", 1100, "--layout", layout)
        vocabulary = BertTokenizer(output).vocabulary
        special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        assert [vocabulary.index(token) for token in special] == wanted
