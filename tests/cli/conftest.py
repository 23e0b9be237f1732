"""A small corpus, its vocabulary and a small run for command-line tests."""

import json

import pytest

import keras_bert
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


@pytest.fixture(scope="session")
def encoder(folder, tmp_path_factory):
    """A preset of four blocks, untrained, with the vocabulary of run/."""
    path = tmp_path_factory.mktemp("encoder") / "preset"
    tokenizer = keras_bert.BertTokenizer.from_preset(str(folder / "run"))
    keras_bert.BertMaskedLM(
        keras_bert.BertBackbone(
            vocabulary_size=tokenizer.vocabulary_size(), num_layers=4,
            num_heads=1, hidden_dim=8, intermediate_dim=8,
        ),
        preprocessor=tokenizer,
    ).save_to_preset(path)  # fmt: skip
    return path


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


@pytest.fixture(scope="session")
def glue(tmp_path_factory):
    """Tiny data sets in the layouts of CoLA, MNLI and AX."""
    folder = tmp_path_factory.mktemp("glue")
    words = ("good", "bad")

    def write(name, *rows):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join("\t".join(row) + "\n" for row in rows))

    cola = [["s", "10"[i % 2], "", f"a {words[i % 2]} film"] for i in range(12)]
    write("CoLA/train.tsv", *cola)
    write("CoLA/dev.tsv", *cola[:5])
    write("CoLA/test.tsv", ["index", "sentence"], ["0", "a good"], ["1", "x"])
    head = [*(f"c{i}" for i in range(8)), "sentence1", "sentence2"]
    labels = ("contradiction", "entailment", "neutral")
    rows = [[*"01234567", "the dog", f"a fox {i}"] for i in range(6)]
    gold = [[*row, "x", labels[i % 3]] for i, row in enumerate(rows)]
    header = [*head, "label1", "gold_label"]
    write("MNLI/train.tsv", header, *gold)
    for name in ("matched", "mismatched"):
        write(f"MNLI/dev_{name}.tsv", header, *gold[: 3 + len(name) % 2])
        write(f"MNLI/test_{name}.tsv", head, *rows[: 2 + len(name) % 2])
    write("diagnostic/diagnostic.tsv", ["index", "sentence1", "sentence2"],
          ["0", "a", "b"])  # fmt: skip
    write("WNLI/train.tsv", ["index", "sentence1", "sentence2", "label"],
          *([str(i), "a", "b", "0"] for i in range(3)),
          ["3", "a", "b", "1"])  # fmt: skip
    write("WNLI/test.tsv", ["index", "sentence1", "sentence2"], ["0", "a", "b"])
    # Nothing to predict here.
    write("QNLI/dev.tsv", ["index", "question", "sentence", "label"],
          ["0", "a", "b", "entailment"])  # fmt: skip
    return folder
