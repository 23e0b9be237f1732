"""Vocabularies and tokenizer settings beside the weights."""

import json

import pytest

from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source
from keras_bert.checkpoints.files import write_vocabulary
from keras_bert.checkpoints.tokenizer_files import read_huggingface
from keras_bert.checkpoints.tokenizer_files import read_vocabulary


@pytest.mark.parametrize(
    "name, size", [("uncased", 30522), ("cased", 28996), ("chinese", 21128)]
)
def test_released_vocabularies_survive_reading_and_writing(
    name, size, shared, tmp_path
):
    # spec C.2; two tokens of the Chinese file contain U+2028.
    path = shared / "vocab" / f"bert-base-{name}-vocab.txt"
    vocabulary = read_vocabulary(path)
    assert len(vocabulary) == size
    assert vocabulary[:1] == ["[PAD]"] and vocabulary[100] == "[UNK]"
    write_vocabulary(tmp_path / "vocab.txt", vocabulary)
    assert read_vocabulary(tmp_path / "vocab.txt") == vocabulary


def test_carriage_returns_and_a_missing_last_line_end_change_nothing(tmp_path):
    for text in ("a\nb\n", "a\r\nb\r\n", "a\nb"):
        (tmp_path / "vocab.txt").write_bytes(text.encode())
        assert read_vocabulary(tmp_path / "vocab.txt") == ["a", "b"]


def test_every_setting_survives_conversion_there_and_back(write_hf, tmp_path):
    import shutil

    folder = tmp_path / "folder"
    shutil.copytree(write_hf("BertModel"), folder)
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "strip_accents": False,
        "tokenize_chinese_chars": True,
        "model_max_length": 12,
        "auto_map": {"AutoTokenizer": ["code.Tokenizer", None]},
    }
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(settings))
    convert(folder, tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", "huggingface")
    found = json.loads((tmp_path / "back/tokenizer_config.json").read_text())
    # What names code of the old folder is not carried along.
    settings.pop("auto_map")
    assert settings.items() <= found.items()
    assert "auto_map" not in found


def test_transformers_tokenizes_alike_from_what_we_write(write_hf, tmp_path):
    import transformers

    convert(write_hf("BertModel"), tmp_path / "back", "huggingface")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    # [CLS] the quick ##ly fox [SEP]: line numbers of the vocabulary.
    assert tokenizer("The quickly FOX")["input_ids"] == [2, 15, 16, 18, 17, 3]
    assert tokenizer.model_max_length == 16


def test_tokenizer_json_alone_gives_vocabulary_and_case(tmp_path, vocabulary):
    # Folders saved by transformers 5 hold no vocab.txt.
    import transformers

    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(vocabulary) + "\n")
    tokenizer = transformers.BertTokenizer(vocab=str(path), do_lower_case=False)
    tokenizer.save_pretrained(tmp_path / "fast")
    assert not (tmp_path / "fast" / "vocab.txt").exists()
    found = read_huggingface(tmp_path / "fast")
    assert found.arguments == {
        "vocabulary": vocabulary,
        "lowercase": False,
        "strip_accents": None,
        "special_tokens_in_strings": False,
    }


def test_added_tokens_take_their_ids(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\na\n")
    path = tmp_path / "tokenizer_config.json"
    added = {"2": {"content": "<x>"}, "0": {"content": "[PAD]"}}
    path.write_text(json.dumps({"added_tokens_decoder": added}))
    assert read_huggingface(tmp_path).vocabulary == ["[PAD]", "a", "<x>"]
    added["4"] = {"content": "<y>"}
    path.write_text(json.dumps({"added_tokens_decoder": added}))
    with pytest.raises(ValueError, match="'<y>' has id 4.*no token has id 3"):
        read_huggingface(tmp_path).vocabulary  # noqa: B018
    added["1"] = {"content": "<z>"}
    path.write_text(json.dumps({"added_tokens_decoder": added}))
    with pytest.raises(ValueError, match="'<z>' has id 1.*gives to 'a'"):
        read_huggingface(tmp_path).vocabulary  # noqa: B018


def test_without_do_lower_case_hugging_face_lower_cases(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\na\n")
    assert read_huggingface(tmp_path).arguments["lowercase"] is True


def test_a_folder_without_a_vocabulary_has_none(write_hf, tmp_path, store):
    import shutil

    folder = tmp_path / "folder"
    shutil.copytree(write_hf("BertModel"), folder)
    (folder / "vocab.txt").unlink()
    checkpoint = open_source(folder)
    assert checkpoint.vocabulary is None
    assert checkpoint.tokenizer_arguments is None


def test_added_tokens_that_a_text_cannot_yield_here_are_noted(tmp_path):
    # transformers looks for added tokens before it splits a text.
    (tmp_path / "vocab.txt").write_text("[PAD]\na\n")
    path = tmp_path / "added_tokens.json"
    path.write_text(json.dumps({"covid": 2}))
    assert read_huggingface(tmp_path).notes == []
    path.write_text(json.dumps({"covid": 2, "[E1]": 3, "Upper": 4}))
    (note,) = read_huggingface(tmp_path).notes
    assert "[E1], Upper keep their ids" in note


def test_the_tokenizer_follows_the_rules_of_the_whole_checkpoint(
    write_hf, vocabulary, tmp_path
):
    from keras_bert.tokenizers import BertTokenizer

    write_vocabulary(tmp_path / "vocab.txt", vocabulary)
    with pytest.raises(ValueError, match="`lowercase`"):
        BertTokenizer.from_preset(tmp_path)
    config = (write_hf("BertModel") / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    # Hugging Face's BertTokenizer lower-cases when nothing is said.
    assert BertTokenizer.from_preset(tmp_path).lowercase is True
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"tokenize_chinese_chars": False}))
    with pytest.raises(ValueError, match="tokenize_chinese_chars=false"):
        BertTokenizer.from_preset(tmp_path)


@pytest.mark.parametrize("format", ["keras_bert", "keras_hub", "huggingface"])
def test_special_tokens_in_strings_survive(format, vocabulary, tmp_path):
    import keras_bert.models as models
    from keras_bert.checkpoints import write
    from keras_bert.tokenizers import BertTokenizer

    backbone = models.BertBackbone(
        vocabulary_size=len(vocabulary),
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=8,
        max_sequence_length=16,
    )
    for wanted in (True, False):
        tokenizer = BertTokenizer(vocabulary, special_tokens_in_strings=wanted)
        folder = tmp_path / str(wanted)
        write(backbone, folder, format, tokenizer=tokenizer)
        loaded = BertTokenizer.from_preset(folder)
        assert loaded.special_tokens_in_strings is wanted
