"""Writing shards: the same bytes however they are made, and bad input."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from keras_bert.data import GoogleSettings
from keras_bert.data import Preparation
from keras_bert.data import ShardFolder
from keras_bert.data import prepare
from keras_bert.data import pretraining_dataset
from keras_bert.tokenizers import BertTokenizer

SMALL = 600  # bytes of text: several shards of the small corpus


def files_of(folder):
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file()
    }


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
    assert not (out / ".partial").exists()


def test_a_large_packed_file_gives_several_shards(file, tokenizer, tmp_path):
    import gzip

    with open(file, "rb") as text:
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.read()))
    preparation = Preparation((str(tmp_path / "a.txt.gz"),), shard_bytes=800)
    index = prepare(preparation, tokenizer, tmp_path / "out")
    names = [entry["file"] for entry in index["shards"]]
    assert names[:2] == ["shard-00000-000.tfrecord", "shard-00000-001.tfrecord"]
    assert index["documents"] == 40


@pytest.mark.parametrize("google", [None, GoogleSettings(16, duplicates=1)])
def test_a_last_shard_has_more_than_one_document(tokenizer, tmp_path, google):
    import gzip

    # Nine documents of 98 characters, four a shard: one would be left.
    document = "w1 w2 w3 w4 w5\n" * 7
    packed = gzip.compress("\n".join([document] * 9).encode(), 0)
    (tmp_path / "a.txt.gz").write_bytes(packed)
    preparation = Preparation(
        (str(tmp_path / "a.txt.gz"),), shard_bytes=200, google=google
    )
    index = prepare(preparation, tokenizer, tmp_path / "out")
    assert [entry["documents"] for entry in index["shards"]] == [4, 5]
    assert index["tokens"] == 9 * 35
    dataset = pretraining_dataset(str(tmp_path / "out"), tokenizer, 16, 1)
    assert "next_sentence" in dataset.element_spec[1]


def test_another_text_of_the_same_size_is_refused(
    tokenizer, tmp_path, monkeypatch
):
    text = tmp_path / "a.txt"
    text.write_text("w1 w2\nw3\n\nw4\nw5 w6\n" * 20_000)
    preparation = Preparation((str(text),))
    out = tmp_path / "out"
    index = prepare(preparation, tokenizer, out)
    data = bytearray(text.read_bytes())
    place = data.index(b"w5", len(data) // 2)
    data[place : place + 2] = b"w9"
    copy = tmp_path / "moved" / "b.txt"
    copy.parent.mkdir()
    text.rename(copy)
    # The same text elsewhere is the same.
    moved = Preparation((str(copy),))
    assert prepare(moved, tokenizer, out)["shards"] == index["shards"]
    copy.write_bytes(data)
    with pytest.raises(ValueError, match="`output`.*begun with another text"):
        prepare(moved, tokenizer, out)
    # Of more text than is read whole the beginning and the end are.
    monkeypatch.setattr("keras_bert.data.preparation._DIGEST_BYTES", 1000)
    prepare(moved, tokenizer, tmp_path / "large")
    data[-2:] = b"7\n"
    copy.write_bytes(data)
    with pytest.raises(ValueError, match="`output`.*begun with another text"):
        prepare(moved, tokenizer, tmp_path / "large")


def test_parts_that_end_together_leave_each_others_files(
    file, tokenizer, tmp_path
):
    out = tmp_path / "out"
    prepare(Preparation((file,)), tokenizer, out)
    (out / ".partial").mkdir()
    for name in ("index.json.abc", "shard-00000-000.tfrecord.abc"):
        (out / ".partial" / name).write_text("")
    prepare(Preparation((file,)), tokenizer, out)
    left = [path.name for path in (out / ".partial").iterdir()]
    assert left == ["index.json.abc"]


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


_MEMORY = """
import sys
from keras_bert.data import Preparation
from keras_bert.data import PretrainingBatches
from keras_bert.data import prepare
from keras_bert.testing.peak_memory import peak_memory
from keras_bert.tokenizers import BertTokenizer
tokenizer = BertTokenizer(sys.argv[2], lowercase=True)
prepare(
    Preparation((sys.argv[1],), shard_bytes=2_000_000), tokenizer, sys.argv[3]
)
print(peak_memory())
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
        peaks.append(float(done.stdout.split()[-1]))
    # Ten times the text: all of it would be 40 MB of ids and sentences.
    assert peaks[1] - peaks[0] < 30
