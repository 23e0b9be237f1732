"""Prepared shards: the same batches, and what is refused."""

import hashlib

import keras
import numpy as np
import pytest

from keras_bert.data import GoogleSettings
from keras_bert.data import Preparation
from keras_bert.data import PretrainingBatches
from keras_bert.data import ShardFolder
from keras_bert.data import group_factors
from keras_bert.data import prepare
from keras_bert.data import pretraining_dataset
from keras_bert.tokenizers import BertTokenizer

SMALL = 600  # bytes of text: several shards of the small corpus


def digests(dataset):
    found = []
    for batch in dataset.as_numpy_iterator():
        sha = hashlib.sha256()
        for array in keras.tree.flatten(batch):
            sha.update(np.ascontiguousarray(array).tobytes())
        found.append(sha.hexdigest())
    return found


def test_the_index_tells_what_is_there(shards, tokenizer):
    folder = ShardFolder(shards / "many")
    assert len(folder) > 2
    index = folder.index
    # The corpus: forty documents of three sentences.
    assert index["documents"] == 40
    assert index["sentences"] == 120
    tokens = sum(folder.load(i).num_tokens for i in range(len(folder)))
    assert index["tokens"] == tokens
    assert sum(index["sentence_lengths"]) == 120
    assert sum(index["document_lengths"]) == 40
    assert index["settings"]["shard_bytes"] == SMALL
    for entry in index["shards"]:
        data = (shards / "many" / entry["file"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert entry["bytes"] == len(data)
    assert folder.tokenizer().get_config() == tokenizer.get_config()
    assert (
        BertTokenizer.from_preset(shards / "many").vocabulary
        == tokenizer.vocabulary
    )
    assert not (shards / "many" / ".partial").exists()


def test_shards_hold_every_document_once_in_another_order(
    file, shards, tokenizer
):
    from keras_bert.data import read_documents

    wanted = [
        tokenizer(" ".join(document)).numpy().tolist()
        for document in read_documents(file)
    ]
    found = []
    folder = ShardFolder(shards / "many")
    for number in range(len(folder)):
        corpus = folder.load(number)
        bounds = corpus.sentence_bounds[corpus.document_bounds]
        assert corpus.ids.dtype == np.uint16
        found += [
            corpus.ids[a:b].tolist()
            for a, b in zip(bounds, bounds[1:], strict=False)
        ]
    assert sorted(found) == sorted(wanted)
    assert found != wanted


@pytest.mark.parametrize("next_sentence", [True, False])
def test_text_gives_the_batches_of_its_shards(
    file, shards, tokenizer, next_sentence
):
    settings = {"epochs": 2, "next_sentence": next_sentence, "seed": 5}
    from_text = pretraining_dataset(file, tokenizer, 32, 4, **settings)
    from_shards = pretraining_dataset(
        shards / "one", tokenizer, 32, 4, **settings
    )
    wanted = digests(from_text)
    assert len(wanted) > 10
    assert digests(from_shards) == wanted
    other = pretraining_dataset(shards / "many", tokenizer, 32, 4, **settings)
    assert digests(other) != wanted


def test_a_run_goes_on_among_shards_without_reading_those_before(
    shards, tokenizer, monkeypatch
):
    settings = {"sequence_length": 32, "batch_size": 2}
    whole = pretraining_dataset(
        str(shards / "many"), tokenizer, epochs=2, **settings
    )
    wanted = digests(whole)
    per_epoch = len(wanted) // 2
    loaded = []
    load = ShardFolder.load
    for skip in range(0, per_epoch, 3):
        rest = pretraining_dataset(
            str(shards / "many"), tokenizer, start_epoch=1, skip=skip,
            **settings,
        )  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(
                ShardFolder,
                "load",
                lambda self, n: (loaded.append(n), load(self, n))[1],
            )
            loaded.clear()
            assert digests(rest) == wanted[per_epoch + skip :]
    # The last start lies in the last shard of the epoch.
    assert len(loaded) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("file_format", "prose"), ("text_field", "body"), ("words", "spaces")],
)
def test_options_of_text_are_refused_with_shards(
    file, shards, tokenizer, name, value
):
    with pytest.raises(ValueError, match=f"argument `{name}`.*tokenized"):
        pretraining_dataset(shards / "one", tokenizer, **{name: value})


def test_options_of_text_change_what_is_read(file, tokenizer, tmp_path):
    wanted = digests(pretraining_dataset(file, tokenizer, 32, 4))
    for options in (
        {"file_format": "wikitext", "next_sentence": False},
        {"words": list, "masking": "whole_words"},
    ):
        found = digests(pretraining_dataset(file, tokenizer, 32, 4, **options))
        assert found != wanted
    records = tmp_path / "a.jsonl"
    records.write_text('{"body": "w1 w2."}\n' * 30)
    dataset = pretraining_dataset(
        records, tokenizer, 32, 2, text_field="body", next_sentence=False
    )
    assert digests(dataset)


def test_text_that_does_not_fit_goes_to_a_temporary_folder(
    file, tokenizer, monkeypatch
):
    wanted = digests(pretraining_dataset(file, tokenizer, 32, 4))
    monkeypatch.setattr("keras_bert.data.sources._MOST_TOKENS", 10)
    assert digests(pretraining_dataset(file, tokenizer, 32, 4)) == wanted


def test_shards_of_another_vocabulary_are_refused(shards, tokenizer):
    swapped = [*tokenizer.vocabulary]
    swapped[5], swapped[6] = swapped[6], swapped[5]
    for other in (
        BertTokenizer(swapped, lowercase=True),
        BertTokenizer(tokenizer.vocabulary, lowercase=False),
    ):
        with pytest.raises(ValueError, match="`tokenizer`.*fingerprint"):
            pretraining_dataset(shards / "many", other)


def test_missing_torn_and_changed_shards_are_refused(file, tokenizer, tmp_path):
    preparation = Preparation((file,), shard_bytes=SMALL)
    prepare(preparation, tokenizer, tmp_path / "a")
    path = tmp_path / "a" / "shard-00001-000.tfrecord"
    data = path.read_bytes()
    for content, said in (
        (data[:-10], "of .* bytes"),
        (data[:-1] + b"!", "SHA-256"),
        (None, "missing"),
    ):
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(ValueError, match=f"`files_or_dir`.*{said}") as e:
            digests(pretraining_dataset(tmp_path / "a", tokenizer))
        assert "shard-00001-000.tfrecord" in str(e.value)


def test_factors_are_those_of_multilingual_bert():
    # By hand: shares 0.9 and 0.1, to the power 0.7 0.9289 and 0.1995.
    factors = group_factors([900, 100], 0.7)
    assert np.allclose(factors, [0.9147, 1.7681], atol=1e-4)
    assert np.allclose(factors @ [0.9, 0.1], 1)
    assert group_factors([5, 0], 0.5).tolist() == [1, 0]
    assert group_factors([900, 100], None).tolist() == [1, 1]


def test_languages_are_seen_as_often_as_the_exponent_says(tokenizer, tmp_path):
    for language, word, count in (("en", "w1", 900), ("is", "w2", 100)):
        (tmp_path / language).mkdir()
        (tmp_path / language / "a.txt").write_text(
            f"{word} {word}\n{word} {word}\n\n" * count
        )
    files = (str(tmp_path / "en"), str(tmp_path / "is"))
    index = prepare(
        Preparation(files, sampling=0.7), tokenizer, tmp_path / "out"
    )
    assert [group["name"] for group in index["groups"]] == ["en", "is"]
    assert [group["tokens"] for group in index["groups"]] == [3600, 400]

    def share(**settings):
        dataset = pretraining_dataset(
            tmp_path / "out", tokenizer, 32, 4, next_sentence=False,
            mask_rate=0.0, epochs=3, **settings,
        )  # fmt: skip
        ids = np.concatenate(
            [x["token_ids"].ravel() for x, _, _ in dataset.as_numpy_iterator()]
        )
        counts = np.bincount(ids, minlength=8)
        return counts[7] / (counts[6] + counts[7])

    # 0.1 ** 0.7 / (0.9 ** 0.7 + 0.1 ** 0.7) = 0.1768
    assert abs(share() - 0.1768) < 0.02
    assert abs(share(sampling=1.0) - 0.1) < 0.02
    assert abs(share(sampling=0.0) - 0.5) < 0.03
    with pytest.raises(ValueError, match="argument `sampling`"):
        share(sampling=2.0)
    with pytest.raises(ValueError, match="argument `sampling`"):
        prepare(Preparation(files, sampling=-1.0), tokenizer, tmp_path / "o")


def test_sampling_of_one_group_is_refused(shards, tokenizer, tmp_path):
    for language in ("en", "is"):
        (tmp_path / "all" / language).mkdir(parents=True)
        (tmp_path / "all" / language / "a.txt").write_text("w1\nw2\n\nw3\nw4\n")
    said = "argument `sampling`.*one group"
    for source in (tmp_path / "all", shards / "many"):
        with pytest.raises(ValueError, match=said):
            pretraining_dataset(source, tokenizer, 16, 1, sampling=0.7)
    preparation = Preparation((str(tmp_path / "all"),), sampling=0.7)
    with pytest.raises(ValueError, match=said):
        prepare(preparation, tokenizer, tmp_path / "o")
    preparation = Preparation(
        (str(tmp_path / "all"),), sampling=0.7, google=GoogleSettings(16)
    )
    with pytest.raises(ValueError, match="argument `sampling`.*original"):
        prepare(preparation, tokenizer, tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_a_folder_of_text_may_have_names_like_shards(tokenizer, tmp_path):
    text = tmp_path / "shard-1.txt"
    text.write_text("w1 w2\nw3\n\nw4\nw5 w6\n")
    found, wanted = (
        digests(pretraining_dataset(source, tokenizer, 16, 1))
        for source in (tmp_path, text)
    )
    assert found == wanted
    # What `prepare` has left is not text.
    (tmp_path / "shard-00001-000.tfrecord").write_bytes(b"")
    with pytest.raises(ValueError, match="`files_or_dir`.*index.json"):
        pretraining_dataset(tmp_path, tokenizer, 16, 1)


def test_the_batches_of_a_large_corpus_are_estimated(
    shards, tokenizer, monkeypatch
):
    settings = {"sequence_length": 32, "batch_size": 1}
    exact = PretrainingBatches(
        ShardFolder(shards / "many"), tokenizer, **settings
    )
    assert exact.batches_per_epoch > 10
    # As with more windows than are planned: one of a few shards is looked at.
    monkeypatch.setattr("keras_bert.data.windows.WINDOW_TOKENS", 300)
    for name in ("_PLANNED_WINDOWS", "_PLANNED_SHARDS"):
        monkeypatch.setattr(f"keras_bert.data.batch_counts.{name}", 2)
    rough = PretrainingBatches(
        ShardFolder(shards / "many"), tokenizer, **settings
    )
    assert rough.rows_of_first_epoch < exact.rows_of_first_epoch / 2
    ratio = rough.batches_per_epoch / exact.batches_per_epoch
    assert 0.8 < ratio < 1.25
    assert len(list(rough.epoch(0))) == rough.batches_per_epoch
