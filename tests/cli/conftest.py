"""A small corpus, its vocabulary and a small run for command-line tests."""

import json

import pytest

from keras_bert.cli.main import main

SENTENCES = [
    "the quick fox jumps over a lazy dog .",
    "a film was good and fun .",
    "the dog was dull and bad .",
    "it was over .",
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """corpus.txt, vocab.txt, run/, data/: made by the verbs themselves."""
    folder = tmp_path_factory.mktemp("cli")
    documents = [
        "\n".join(SENTENCES[(i + k) % 4] for k in range(4)) for i in range(12)
    ]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n")
    data = folder / "data"
    data.mkdir()
    for name in ("train", "dev"):
        rows = [
            json.dumps({"text": f"a {word} film .", "label": label})
            for word, label in (("good", "pos"), ("bad", "neg")) * 6
        ]
        (data / f"{name}.jsonl").write_text("\n".join(rows))
    assert not main(
        ["vocab", f"{folder}/corpus.txt", "-o", f"{folder}/vocab.txt"]
        + ["--size", "60"]
    )
    assert not main(
        ["pretrain", f"{folder}/corpus.txt", "-o", f"{folder}/run"]
        + ["--vocab", f"{folder}/vocab.txt", "--config", "bert_tiny"]
        + ["--steps", "3", "--batch-size", "2", "--sequence-length", "32"]
        + ["--held-out", f"{folder}/corpus.txt"]
    )
    return folder


@pytest.fixture(scope="module")
def eager():
    """Without graphs: a run of two steps takes a second instead of ten."""
    import tensorflow as tf

    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(before)


@pytest.fixture
def run_json(capsys):
    """Runs a verb with --json; gives the exit code and the last line."""

    def run(*words):
        code = main([*map(str, words), "--json"])
        lines = capsys.readouterr().out.splitlines()
        return code, json.loads(lines[-1])

    return run
