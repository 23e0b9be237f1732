"""The same shards on Apache Beam, in the environment of `make .venv/beam`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.data import Preparation
from keras_bert.data import prepare

BEAM = Path(sys.prefix) / "beam_env" / "bin" / "python"


def on_beam(folder, file, *options):
    if not BEAM.exists():
        # Not a skip: the pipeline would then never be tested.
        pytest.fail(f"{BEAM} is missing: run `make .venv/beam`")
    words = [BEAM, "-m", "keras_bert.cli.main", "prepare", file]
    words += ["-o", folder / "beam", "--vocab", folder / "vocab.txt"]
    words += ["--uncased", "--shard-size", "0.0006"]
    words += ["--runner", "DirectRunner"]
    for option in options:
        words += ["--runner-option", option]
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
    )


@pytest.fixture
def folder(tmp_path, tokenizer):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(tokenizer.vocabulary) + "\n")
    return tmp_path


def test_several_beam_workers_write_the_shards_of_a_local_run(
    file, tokenizer, folder
):
    prepare(Preparation((file,), shard_bytes=600), tokenizer, folder / "here")
    wanted = {
        path.name: path.read_bytes() for path in (folder / "here").iterdir()
    }
    assert len(wanted) > 8
    done = on_beam(
        folder, file, "direct_num_workers=2",
        "direct_running_mode=multi_processing",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = {
        path.name: path.read_bytes() for path in (folder / "beam").iterdir()
    }
    assert found == wanted


def test_the_options_reach_the_runner(file, folder):
    done = on_beam(folder, file, "direct_running_mode=on_the_moon")
    assert done.returncode != 0
    assert "on_the_moon" in done.stderr
    assert not list((folder / "beam").glob("shard-*"))
