"""Prepared shards: the same batches, whole files, and what is refused."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

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


def files_of(folder):
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file()
    }


@pytest.fixture(scope="module")
def shards(file, tokenizer, tmp_path_factory):
    """Several shards of the small corpus, and one of all of it."""
    folder = tmp_path_factory.mktemp("shards")
    prepare(Preparation((file,), shard_bytes=SMALL), tokenizer, folder / "many")
    prepare(Preparation((file,)), tokenizer, folder / "one")
    return folder


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


def test_users_12_workers_and_parts_write_the_same_bytes(
    file, shards, tokenizer, tmp_path
):
    preparation = Preparation((file,), shard_bytes=SMALL)
    wanted = files_of(shards / "many")
    prepare(preparation, tokenizer, tmp_path / "pool", workers=2)
    assert files_of(tmp_path / "pool") == wanted
    out = tmp_path / "parts"
    assert prepare(preparation, tokenizer, out, shard=(1, 3)) is None
    assert "index.json" not in files_of(out)
    with pytest.raises(ValueError, match="`files_or_dir`.*index.json"):
        pretraining_dataset(out, tokenizer)
    # 3 of 3 is 0 of 3: counting from 1 or from 0 covers the same.
    assert prepare(preparation, tokenizer, out, shard=(3, 3)) is None
    assert prepare(preparation, tokenizer, out, shard=(2, 3))["tokens"]
    assert files_of(out) == wanted
    # A rerun has nothing to do, and repairs what is missing.
    (out / "shard-00001-000.tfrecord").unlink()
    prepare(preparation, tokenizer, out)
    assert files_of(out) == wanted


_KILLED = """
import sys
from keras_bert.data import Preparation
from keras_bert.data import PretrainingBatches
from keras_bert.data import prepare
from keras_bert.tokenizers import BertTokenizer
if __name__ == "__main__":
    tokenizer = BertTokenizer(sys.argv[2], lowercase=True)
    prepare(
        Preparation((sys.argv[1],), shard_bytes=100), tokenizer, sys.argv[3],
        workers=2,
    )
"""


def is_running(process):
    """Whether a folder of /proc is that of a process that is no zombie."""
    try:
        return "(zombie)" not in (process / "status").read_text()
    except OSError:
        return False


def test_sigkill_leaves_whole_shards_and_a_rerun_the_same_bytes(
    file, tokenizer, tmp_path
):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(tokenizer.vocabulary) + "\n")
    preparation = Preparation((file,), shard_bytes=100)
    prepare(preparation, tokenizer, tmp_path / "whole")
    wanted = files_of(tmp_path / "whole")
    out = tmp_path / "killed"
    script = tmp_path / "killed.py"
    script.write_text(_KILLED)
    process = subprocess.Popen(
        [sys.executable, script, file, vocabulary, out],
        stderr=subprocess.DEVNULL,
    )
    # As soon as some shards are there: at whatever instant that is.
    while not list(out.glob("shard-00002-*.tfrecord")):
        assert process.poll() is None
        time.sleep(0.001)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    children = [Path("/proc", child) for child in children.read_text().split()]
    assert len(children) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    # The workers end with it and do not stay behind.
    deadline = time.monotonic() + 60
    while any(map(is_running, children)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    left = files_of(out)
    assert len(left) >= 3
    assert all(wanted[name] == data for name, data in left.items())
    prepare(preparation, tokenizer, out)
    assert files_of(out) == wanted
    assert not (out / ".partial").exists()


def test_another_preparation_in_the_folder_is_refused(
    file, shards, tokenizer, tmp_path
):
    other = Preparation((file,), shard_bytes=SMALL, seed=2)
    with pytest.raises(ValueError, match="`output`.*begun with seed = 1"):
        prepare(other, tokenizer, shards / "many")
    words = BertTokenizer([*tokenizer.vocabulary, "more"], lowercase=True)
    same = Preparation((file,), shard_bytes=SMALL)
    with pytest.raises(ValueError, match="`output`.*begun with tokenizer"):
        prepare(same, words, shards / "many")
    (tmp_path / "mine.txt").write_text("not a shard")
    with pytest.raises(ValueError, match="`output`.*empty folder"):
        prepare(same, tokenizer, tmp_path)
    with pytest.raises(ValueError, match="`output`.*a file"):
        prepare(same, tokenizer, tmp_path / "mine.txt")
    for shard in ((4, 3), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match="argument `shard`"):
            prepare(same, tokenizer, tmp_path / "new", shard=shard)
    with pytest.raises(ValueError, match="argument `workers`"):
        prepare(same, tokenizer, tmp_path / "new", workers=0)


def test_a_file_that_was_refused_can_be_mended(tokenizer, tmp_path):
    text = tmp_path / "a.txt"
    text.write_bytes("é".encode("latin-1"))
    preparation = Preparation((str(text),))
    with pytest.raises(ValueError, match="`files`.*Latin-1"):
        prepare(preparation, tokenizer, tmp_path / "out")
    text.write_text("w1 w2\n")
    assert prepare(preparation, tokenizer, tmp_path / "out")["tokens"] == 2


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


_FULL = """
import resource, sys
from keras_bert.data import Preparation
from keras_bert.data import PretrainingBatches
from keras_bert.data import prepare
from keras_bert.tokenizers import BertTokenizer
tokenizer = BertTokenizer(sys.argv[2], lowercase=True)
tokenizer("warm")
# No file may grow beyond this: what a full disk does.
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    prepare(Preparation((sys.argv[1],)), tokenizer, sys.argv[3])
except OSError as error:
    print("OSError:", error)
"""


def test_a_full_disk_gives_a_clear_error_and_no_partial_shard(
    file, tokenizer, tmp_path
):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(tokenizer.vocabulary) + "\n")
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", _FULL, file, str(vocabulary), str(out)],
        capture_output=True,
        text=True,
    )
    assert "OSError:" in done.stdout, done.stderr[-500:]
    assert "shard-00000-000.tfrecord could not be written" in done.stdout
    assert sorted(files_of(out)) == ["preparation.json"]
    assert list((out / ".partial").iterdir()) == []


def test_a_large_packed_file_gives_several_shards(file, tokenizer, tmp_path):
    import gzip

    with open(file, "rb") as text:
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.read()))
    preparation = Preparation((str(tmp_path / "a.txt.gz"),), shard_bytes=800)
    index = prepare(preparation, tokenizer, tmp_path / "out")
    names = [entry["file"] for entry in index["shards"]]
    assert names[:2] == ["shard-00000-000.tfrecord", "shard-00000-001.tfrecord"]
    assert index["documents"] == 40


def test_long_sentences_are_cut_when_asked(file, tokenizer, tmp_path):
    sentences = {}
    for most in (None, 4):
        index = prepare(
            Preparation((file,), max_length=most),
            tokenizer,
            tmp_path / f"{most}",
        )
        corpus = ShardFolder(tmp_path / f"{most}").load(0)
        sentences[most] = np.diff(corpus.sentence_bounds)
        assert index["documents"] == 40
    assert sentences[4].max() == 4
    assert sentences[4].sum() == sentences[None].sum()
    assert len(sentences[4]) == (-(-sentences[None] // 4)).sum()


def test_given_words_are_kept(tmp_path):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = BertTokenizer([*special, *"使用语言模型"])
    text = tmp_path / "a.txt"
    text.write_text("使用 语言 模型\n模型 语言\n\n语言 模型\n模 型\n")
    prepare(
        Preparation((str(text),), words="spaces"), tokenizer, tmp_path / "o"
    )
    corpus = ShardFolder(tmp_path / "o").load(0)
    starts = np.flatnonzero(~corpus.continues)
    words = {
        tuple(corpus.ids[a:b].tolist())
        for a, b in zip(starts, [*starts[1:], None], strict=True)
    }
    assert words == {(5, 6), (7, 8), (9, 10), (9,), (10,)}


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


_MEMORY = """
import resource, sys
from keras_bert.data import Preparation
from keras_bert.data import PretrainingBatches
from keras_bert.data import prepare
from keras_bert.tokenizers import BertTokenizer
tokenizer = BertTokenizer(sys.argv[2], lowercase=True)
prepare(
    Preparation((sys.argv[1],), shard_bytes=2_000_000), tokenizer, sys.argv[3]
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_users_12_memory_does_not_grow_with_the_corpus(tokenizer, tmp_path):
    # 200,000 lines against 20,000, which is a shard in both cases.
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(tokenizer.vocabulary) + "\n")
    line = " ".join(f"w{i % 20}" for i in range(25)) + "\n"
    peaks = []
    for lines in (20_000, 200_000):
        text = tmp_path / f"{lines}.txt"
        text.write_text((line * 10 + "\n") * (lines // 10))
        done = subprocess.run(
            [sys.executable, "-c", _MEMORY, str(text), str(vocabulary)]
            + [str(tmp_path / f"out{lines}")],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(done.stdout.split()[-1]) / 1024)
    # Ten times the text: all of it would be 40 MB of ids and sentences.
    assert peaks[1] - peaks[0] < 30


def test_the_batches_of_a_large_corpus_are_estimated(
    shards, tokenizer, monkeypatch
):
    settings = {"sequence_length": 32, "batch_size": 1}
    exact = PretrainingBatches(
        ShardFolder(shards / "many"), tokenizer, **settings
    )
    # As with more windows than are planned: one of a few shards is looked at.
    monkeypatch.setattr("keras_bert.data.windows.WINDOW_TOKENS", 300)
    for name in ("_PLANNED_WINDOWS", "_PLANNED_SHARDS"):
        monkeypatch.setattr(f"keras_bert.data.pretraining_batches.{name}", 2)
    rough = PretrainingBatches(
        ShardFolder(shards / "many"), tokenizer, **settings
    )
    assert rough.rows_of_first_epoch < exact.rows_of_first_epoch / 2
    ratio = rough.batches_per_epoch / exact.batches_per_epoch
    assert 0.8 < ratio < 1.25
    assert len(list(rough.epoch(0))) == rough.batches_per_epoch
