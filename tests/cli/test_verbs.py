"""The verbs on small files: results, options, bad input."""

import json
import math
import re

import numpy as np
import pytest

import keras_bert
from keras_bert.cli.main import VERBS
from keras_bert.cli.main import build_parser
from keras_bert.cli.main import main


def test_pretrain_writes_a_whole_run(folder):
    run = folder / "run"
    names = sorted(path.name for path in run.iterdir())
    assert names == [
        "checkpoints", "curves.png", "metrics.jsonl", "preset", "result.json",
        "run.json", "tensorboard", "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip
    result = json.loads((run / "result.json").read_text())
    assert result["steps"] == 3
    held_out = result["held_out"]["masked_accuracy"]
    assert 0 <= held_out["low"] <= held_out["value"] <= held_out["high"] <= 1
    steps = [
        json.loads(line)["step"]
        for line in (run / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == [1, 2, 3]
    model = keras_bert.load(run)
    assert isinstance(model, keras_bert.BertPretrainer)


@pytest.mark.parametrize(
    ("option", "key"),
    [
        (["--steps", "2"], "steps"),
        (["--batch-size", "3"], "epochs"),
        (["--sequence-length", "16"], "epochs"),
        (["--next-sentence", "no"], "next_sentence"),
        (["--seed", "9"], "weights"),
        (["--learning-rate", "0.01"], "weights"),
        (["--minutes", "0.02"], "steps"),
        (["--model", "run"], "weights"),
        (["--cased"], "tokenizer"),
    ],
)
def test_every_option_of_pretrain_changes_the_result(
    folder, tmp_path, run_json, option, key
):
    base = json.loads((folder / "run" / "result.json").read_text())
    words = ["pretrain", folder / "corpus.txt", "-o", tmp_path / "run"]
    words += ["--vocab", folder / "vocab.txt"]
    if option[0] == "--model":
        option = ["--model", folder / "run"]
    else:
        words += ["--config", "bert_tiny"]
    given = {"--steps": "3", "--batch-size": "2", "--sequence-length": "32"}
    for name, value in given.items():
        if name != option[0] and not (
            name == "--steps" and option[0] == "--minutes"
        ):
            words += [name, value]
    code, result = run_json(*words, *option)
    assert code == 0
    if key == "weights":
        first, second = (
            keras_bert.load(run).get_weights()
            for run in (folder / "run", tmp_path / "run")
        )
        assert any(
            not np.array_equal(a, b) for a, b in zip(first, second, strict=True)
        )
    elif key == "tokenizer":
        assert not keras_bert.load(tmp_path / "run").tokenizer.lowercase
    else:
        assert result[key] != base[key]


def test_finetune_predict_evaluate_export_arguments(folder, tmp_path, run_json):
    run = tmp_path / "classifier"
    words = ["finetune", "text", "--model", folder / "run"]
    words += ["--data", folder / "data", "--sequence-length", 16]
    code, result = run_json(
        *words, "-o", run, "--epochs", 20, "--learning-rate", 1e-3
    )
    assert code == 0 and result["labels"] == ["neg", "pos"]
    # One word tells the label; chance is 0.5.
    assert result["dev"]["accuracy"]["value"] == 1.0
    assert result["dev"]["accuracy"]["chance"] == 0.5
    for option, key in (
        (["--epochs", 2], "steps"),
        (["--batch-size", 4], "steps"),
        (["--seed", 3], "train_loss"),
        (["--learning-rate", 1e-2], "train_loss"),
    ):
        given = {"--epochs": 1, option[0]: option[1]}
        other = tmp_path / option[0].strip("-")
        flat = [word for pair in given.items() for word in pair]
        code, changed = run_json(*words, "-o", other, *flat)
        assert code == 0 and changed[key] != result[key]

    code, _ = run_json(
        "predict", "text", "--data", folder / "data" / "dev.jsonl",
        "--model", run, "-o", tmp_path / "out.tsv",
    )  # fmt: skip
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert code == 0 and lines[0] == "index\tlabel\tscore"
    assert [line.split("\t")[1] for line in lines[1:]] == ["pos", "neg"] * 6

    code, scores = run_json(
        "evaluate", "text", "--data", folder / "data", "--model", run
    )
    assert code == 0 and scores == result["dev"]


def test_columns_regression_and_one_file(folder, tmp_path, run_json):
    rows = ["q\tr\tscore"]
    # No number twice: a tenth is held out all the same.
    rows += [
        f"a {w} film .\tb\t{v + i / 10}"
        for i in range(10)
        for w, v in (("good", 2), ("bad", 0))
    ]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    code, result = run_json(
        "finetune", "text", "--model", folder / "run",
        "--data", tmp_path / "a.tsv", "-o", tmp_path / "regression",
        "--text", "q", "--text-pair", "r", "--label", "score",
        "--regression", "--epochs", 1,
    )  # fmt: skip
    assert code == 0 and result["dev"]["examples"] == 2
    assert result["labels"] is None


def test_evaluate_pretraining_and_fill_mask(
    folder, encoder, run_json, tmp_path, capsys
):
    words = ["evaluate", "pretraining", "--model", folder / "run"]
    words += ["--data", folder / "corpus.txt"]
    _, first = run_json(*words, "--sequence-length", 32)
    # What the run itself has measured on this text.
    own = json.loads((folder / "run/result.json").read_text())["held_out"]
    assert first["perplexity"] == pytest.approx(own["perplexity"], rel=1e-4)
    for name in ("masked_accuracy", "next_sentence_accuracy"):
        assert first[name]["examples"] == own[name]["examples"] > 0
    # A checkpoint with the masked head alone, and one without its words.
    words[3] = encoder
    _, masked = run_json(*words)
    assert "next_sentence_accuracy" not in masked and masked["perplexity"] > 1
    model = keras_bert.load(encoder)
    model.preprocessor = None
    model.save_to_preset(tmp_path / "nameless")
    words[3] = tmp_path / "nameless"
    assert main([str(word) for word in words]) == 2
    assert "`--model`" in capsys.readouterr().err
    words[3] = folder / "run"
    _, second = run_json(*words, "--sequence-length", 16)
    assert first["masked_accuracy"] != second["masked_accuracy"]
    # Measured rows are those of the text, whatever the batch.
    code, whole = run_json(*words, "--sequence-length", 32, "--batch-size", 5)
    assert (
        code == 0
        and whole["masked_accuracy"]["examples"]
        == (first["masked_accuracy"]["examples"])
    )
    assert whole["perplexity"] == pytest.approx(first["perplexity"], rel=1e-4)
    _, result = run_json("fill-mask", folder / "run", "the [MASK] fox")
    assert len(result["masks"]) == 1 and len(result["masks"][0]) == 5
    _, result = run_json(
        "fill-mask", folder / "run", "the [MASK]", "--top-k", 2
    )
    assert len(result["masks"][0]) == 2


def test_one_document_is_measured_without_pairs(
    folder, tmp_path, run_json, capsys
):
    text = tmp_path / "one.txt"
    text.write_text("the quick fox .\na lazy dog .\nit was over .\n" * 5)
    words = ["pretrain", folder / "corpus.txt", "--vocab", folder / "vocab.txt"]
    words += ["--config", "bert_tiny", "--steps", 1, "--batch-size", 2]
    words += ["--sequence-length", 32, "-o", tmp_path / "run"]
    code, result = run_json(*words, "--held-out", text)
    assert code == 0
    (line,) = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    line = json.loads(line)
    assert "next_sentence_accuracy" in line and "held_out_loss" in line
    assert "held_out_next_sentence_accuracy" not in line
    assert "next_sentence_accuracy" not in result["held_out"]
    words = ["evaluate", "pretraining", "--model", tmp_path / "run"]
    _, alone = run_json(*words, "--data", text, "--sequence-length", 32)
    assert alone["perplexity"] == pytest.approx(
        result["held_out"]["perplexity"], rel=1e-4
    )
    # No pair adds to the loss: it is that of the masked tokens.
    assert line["held_out_loss"] == pytest.approx(
        math.log(line["held_out_perplexity"]), rel=1e-4
    )


BAD = {
    "missing file": (["none.txt"], "files"),
    "one document": (["one.txt", "--next-sentence", "yes"], "next_sentence"),
    "binary": (["binary.txt"], "files"),
    "empty": (["empty.txt"], "files"),
    "too long": (["corpus.txt", "--sequence-length", "513"], "sequence-length"),
    "rate": (["corpus.txt", "--learning-rate", "0"], "learning-rate"),
    "time": (["corpus.txt", "--minutes", "-1"], "minutes"),
    "seed": (["corpus.txt", "--seed", "-1"], "seed"),
    "held out": (["corpus.txt", "--held-out", "none.txt"], "files"),
    "infinite": (["corpus.txt", "--learning-rate", "inf"], "learning-rate"),
    "no clip": (["corpus.txt", "--clip", "nan"], "clip"),
    "pairs": (
        ["corpus.txt", "--objective", "left-to-right"]
        + ["--next-sentence", "yes"],
        "--next-sentence",
    ),
    "steps": (
        ["corpus.txt", "--minutes", "0.001", "--warmup", "1001"],
        "--warmup",
    ),
    "size": (["corpus.txt", "--config", "bert_huge"], "name"),
    "case": (["corpus.txt", "--vocab", "lone/vocab.txt"], "vocab"),
    "no mask": (["corpus.txt", "--vocab", "nomask.txt"], "MASK"),
    "twice": (["corpus.txt", "--vocab", "twice.txt"], "repeats"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_exit_2_and_nothing_written(
    folder, tmp_path, monkeypatch, capsys, case
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes((folder / "corpus.txt").read_bytes())
    (tmp_path / "one.txt").write_text("One sentence.\nAnother one.\n")
    (tmp_path / "binary.txt").write_bytes(b"\x00\xff\xfe" * 100)
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "lone").mkdir()
    vocabulary = (folder / "vocab.txt").read_text()
    (tmp_path / "lone" / "vocab.txt").write_text(vocabulary)
    settings = (folder / "tokenizer_config.json").read_text()
    (tmp_path / "tokenizer_config.json").write_text(settings)
    (tmp_path / "nomask.txt").write_text(vocabulary.replace("[MASK]\n", ""))
    (tmp_path / "twice.txt").write_text(vocabulary + ".\n")
    options, named = BAD[case]
    words = ["pretrain", *options, "-o", "out", "--steps", "1"]
    if "--steps" in options or "--minutes" in options:
        words = words[:-2]
    if "--vocab" not in options:
        words += ["--vocab", str(folder / "vocab.txt")]
    if "--config" not in options:
        words += ["--config", "bert_tiny"]
    before = sorted(tmp_path.rglob("*"))
    code = main(words)
    errors = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "keras-bert" in line
    ]
    assert code == 2 and len(errors) == 1
    assert re.search(named, errors[0])
    assert sorted(tmp_path.rglob("*")) == before


def test_existing_output_is_refused(folder, capsys):
    code = main(
        ["pretrain", f"{folder}/corpus.txt", "-o", f"{folder}/run"]
        + ["--vocab", f"{folder}/vocab.txt", "--config", "bert_tiny"]
    )
    assert code == 2
    assert "argument `-o`" in capsys.readouterr().err


def test_usage_errors_are_one_line_and_exit_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["pretrain", "a.txt"])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_interrupt_is_130_and_failure_is_1(monkeypatch):
    from keras_bert.cli import fill_mask

    def interrupted(args):
        raise KeyboardInterrupt

    def failing(args):
        raise RuntimeError("broken")

    for run, code in ((interrupted, 130), (failing, 1)):
        monkeypatch.setattr(fill_mask, "run", run)
        assert main(["fill-mask", "x", "y"]) == code


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        build_parser().parse_args([verb, "--help"])
    assert stop.value.code == 0
    assert "example: keras-bert " in capsys.readouterr().out
