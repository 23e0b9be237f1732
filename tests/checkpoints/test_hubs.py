"""Names that stand for files elsewhere."""

import pytest

from keras_bert.checkpoints import open_source


def test_hf_names_resolve_through_huggingface_hub(write_hf, monkeypatch):
    import huggingface_hub

    folder, asked = write_hf("BertModel"), []

    def download(name, revision=None, allow_patterns=None):
        asked.append((name, revision, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    checkpoint = open_source("hf://owner/name@main")
    assert checkpoint.format == "huggingface"
    assert checkpoint.source == "hf://owner/name@main"
    ((name, revision, patterns),) = asked
    assert (name, revision) == ("owner/name", "main")
    # A pickle is only fetched where there is nothing else.
    assert not any("bin" in pattern for pattern in patterns)


def test_offline_the_error_says_which_files_and_what_is_accepted(monkeypatch):
    import huggingface_hub

    def download(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(ValueError, match="argument `source`") as caught:
        open_source("hf://owner/name")
    for text in ("config.json", "vocab.txt", "local copy", "no route to host"):
        assert text in str(caught.value)


@pytest.mark.parametrize("name", ["hf://", "hf://a/b/c", "hf://a b/c"])
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="hf://owner/name"):
        open_source(name)


def test_kerashub_preset_names_resolve_and_say_so_offline(monkeypatch):
    import kagglehub

    asked = []

    def download(handle):
        asked.append(handle)
        raise OSError("no route to host")

    monkeypatch.setattr(kagglehub, "model_download", download)
    with pytest.raises(ValueError, match="argument `bert_tiny|`source`"):
        open_source("bert_tiny_en_uncased")
    # The handle is KerasHub's own, of its table of presets.
    assert asked and asked[0].startswith("keras/bert/keras/bert_tiny_en_un")


def test_a_kerashub_name_that_can_be_fetched_opens(
    monkeypatch, tmp_path, vocabulary
):
    import kagglehub
    import keras_nlp

    keras_nlp.models.BertBackbone(
        vocabulary_size=20,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
    ).save_to_preset(str(tmp_path))
    monkeypatch.setattr(kagglehub, "model_download", lambda _: str(tmp_path))
    checkpoint = open_source("bert_tiny_en_uncased")
    assert checkpoint.format == "keras_hub"
    assert checkpoint.backbone_config["num_layers"] == 1
