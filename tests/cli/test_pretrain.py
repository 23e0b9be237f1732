"""`keras-bert pretrain`: settings, reports, checkpoints, going on."""

import json
import math
import shutil
import types

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.cli import _pretrain
from keras_bert.cli._pretrain_settings import check_devices
from keras_bert.cli._pretrain_settings import completed
from keras_bert.cli._pretrain_text import Text
from keras_bert.cli.main import build_parser
from keras_bert.cli.main import main
from keras_bert.cli.pretrain import DEFAULTS
from keras_bert.data.google_records import GoogleSettings
from keras_bert.data.google_records import write_google_records
from keras_bert.training.distribution import _devices


def _words(folder, output, **options):
    given = {"steps": 4, "batch_size": 2, "sequence_length": 32,
             "config": "bert_tiny", **options}  # fmt: skip
    words = ["pretrain", f"{folder}/corpus.txt", "-o", str(output)]
    words += ["--vocab", f"{folder}/vocab.txt"]
    for name, value in given.items():
        if value is not None:
            words += ["--" + name.replace("_", "-"), str(value)]
    return words


def _lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").open()]


def test_users_18_the_start_tells_steps_epochs_tokens_and_time(
    folder, tmp_path, capsys
):
    """google-research/bert#895: 100,000 steps without a word."""
    assert not main(_words(folder, tmp_path / "run", steps=2))
    out = capsys.readouterr().out
    first = next(line for line in out.split("\n") if "steps (" in line)
    # 2 rows of at most 32 tokens at each of 2 steps.
    assert "2 steps (2 of 2 x 32)" in first
    assert "epochs = " in first and " tokens" in first
    assert "estimated time: " in out
    assert [line["step"] for line in _lines(tmp_path / "run")] == [1, 2]


@pytest.fixture(scope="module")
def tiny():
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(
        vocabulary_size=12,
        num_layers=1,
        num_heads=1,
        hidden_dim=8,
        intermediate_dim=8,
    )
    return keras_bert.BertPretrainer(backbone)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {"rate": 5e-5, "decay": 0.01, "clip": 1.0, "corrected": True}),
        (["--warmup", "2"], {"rate": 1e-4}),
        (["--warmup", "0.5"], {"rate": 4e-5}),
        (["--warmup", "5e-1"], {"rate": 4e-5}),
        # At step 1 of 10 the 2018 line is still in its warm-up of 1 step
        # only: past it, it falls from step 0 on.
        (["--decay", "original"], {"late": 0.5e-4}),
        (["--decay", "linear"], {"late": 1e-4 * 5 / 8}),
        (["--bias-correction", "no"], {"corrected": False}),
        (["--weight-decay", "0.1"], {"decay": 0.1}),
        (["--clip", "0"], {"clip": None}),
        (["--learning-rate", "1"], {"rate": 0.5}),
        (["--accumulate", "3"], {"parts": 3}),
    ],
)
def test_options_of_the_optimizer(tiny, words, found):
    args = build_parser().parse_args(["pretrain", "x", "-o", "y", *words])
    given = {
        name: value for name, value in vars(args).items() if value is not None
    }
    settings = {**DEFAULTS, "warmup": 2, **given}
    schedule = _pretrain.compile_for(tiny, settings, 10)
    optimizer = tiny.optimizer
    # By hand: 2 steps of warm-up, 10 in all, peak 1e-4 unless given.
    at = 2 if words[:1] == ["--warmup"] else 1
    values = {
        "rate": float(schedule(at)),
        "late": float(schedule(5)),
        "decay": optimizer.weight_decay,
        "clip": optimizer.global_clipnorm,
        "corrected": optimizer.bias_correction,
        "parts": tiny.accumulate,
    }
    for name, value in found.items():
        assert values[name] == pytest.approx(value)


def test_options_of_reports_checkpoints_and_rows(folder, tmp_path, run_json):
    import tensorflow as tf

    run = tmp_path / "run"
    code, result = run_json(
        *_words(
            folder, run, steps=10, sequence_length=None,
            phases="16:0.6,32:0.4", accumulate=2, precision="bfloat16",
            log_every=3, save_every=4, keep=3, mask_rate=0.3,
            mask_token_rate=0.0, random_token_rate=0.5,
            masking="whole_words", held_out=folder / "corpus.txt",
        )
    )  # fmt: skip
    assert code == 0
    lines = _lines(run)
    # Every 3 steps, and where a phase ends.
    assert [line["step"] for line in lines] == [3, 6, 9, 10]
    assert [line["sequence_length"] for line in lines] == [16, 16, 32, 32]
    assert lines[0]["masked_lm_loss"] == pytest.approx(
        math.log(lines[0]["perplexity"])
    )
    steps = [path.name for path in sorted(run.glob("checkpoints/step-*"))]
    assert steps == ["step-00000006", "step-00000008", "step-00000010"]
    best = json.loads((run / "checkpoints/best/best.json").read_text())
    assert best["value"] == min(line["held_out_loss"] for line in lines)
    for source in (
        run,
        run / "checkpoints/best",
        run / "checkpoints" / steps[0],
    ):
        assert isinstance(keras_bert.load(source), keras_bert.BertPretrainer)
    # At most 6 updates of 2 x 2 rows of 16, then 4 of 32; no padding counts.
    assert 0.5 * 896 < result["tokens"] <= 6 * 4 * 16 + 4 * 4 * 32
    assert (run / "curves.png").stat().st_size > 1000
    (events,) = (run / "tensorboard").iterdir()
    tags = {
        (event.step, value.tag)
        for event in tf.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert {(line["step"], "loss") for line in lines} <= tags
    # Without [MASK] in the text the ids show what the rates were.
    settings = json.loads((run / "run.json").read_text())["settings"]
    tokenizer = keras_bert.BertTokenizer.from_preset(run)
    text = _pretrain_text(folder, tokenizer)
    settings["phases"] = [tuple(phase) for phase in settings["phases"]]
    data = _pretrain.dataset_of(text, tokenizer, settings, 32)
    x, y, weight = next(data.as_numpy_iterator())
    assert x["token_ids"].shape == (4, 32)
    assert tokenizer.mask_token_id not in x["token_ids"]
    assert 0.2 < weight["mask_ids"].sum() / (x["padding_mask"] > 0).sum() < 0.4
    pieces = {**settings, "masking": "pieces"}
    data = _pretrain.dataset_of(text, tokenizer, pieces, 32)
    other = next(data.as_numpy_iterator())[0]["mask_positions"]
    assert np.any(x["mask_positions"] != other)
    for precision, policy in (
        ("float32", "float32"),
        (settings["precision"], "mixed_bfloat16"),
    ):
        model = _pretrain.build({**settings, "precision": precision}, tokenizer)
        assert model.backbone.dtype_policy.name == policy


def _pretrain_text(folder, tokenizer):
    return Text([f"{folder}/corpus.txt"], tokenizer)


def test_sampling_changes_the_shares_of_languages(folder, tmp_path):
    for name, documents in (("large", 40), ("small", 4)):
        (tmp_path / name).mkdir()
        text = "it was over .\na good film .\n\n" * documents
        (tmp_path / name / "a.txt").write_text(text)
    words = ["pretrain", f"{tmp_path}/large", f"{tmp_path}/small", "-o", "x"]
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    batches = []
    for more in ([], ["--sampling", "0.7"], ["--sampling", "0.1"]):
        args = build_parser().parse_args([*words, *more])
        text = Text(args.files, tokenizer, args.sampling)
        settings = {**DEFAULTS, "next_sentence": True, "batch_size": 1}
        data = _pretrain.dataset_of(text, tokenizer, settings, 16)
        batches.append(int(data.cardinality()))
    assert len(set(batches)) == 3


def test_going_on_and_what_may_change(folder, tmp_path, capsys):
    run = tmp_path / "run"
    words = _words(folder, run, steps=3, objective="left-to-right")
    assert not main([*words, "--resume"])
    assert keras_bert.load(run).backbone.causal
    shutil.copy(run / "metrics.jsonl", tmp_path / "before.jsonl")
    # A loss of the training that no other text reaches.
    (state,) = run.glob("checkpoints/step-*/state.json")
    saved = json.loads(state.read_text())
    saved["position"]["best"] = 1e-3
    state.write_text(json.dumps(saved))
    # Without the options, which the run remembers; more steps.
    again = ["pretrain", "-o", str(run), "--resume"]
    held_out = ["--held-out", f"{folder}/corpus.txt"]
    assert not main([*again, "--steps", "5", *held_out])
    before = (tmp_path / "before.jsonl").read_text()
    assert (run / "metrics.jsonl").read_text().startswith(before)
    lines = _lines(run)
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5]
    # The first line ended with its rate at 0; the steps added have their own.
    rates = [line["learning_rate"] for line in lines]
    assert rates[2] == 0.0 and rates[3] > 0.0 and rates[4] == 0.0
    best = json.loads((run / "checkpoints/best/best.json").read_text())
    assert best["value"] == min(line["held_out_loss"] for line in lines[3:])
    vocabulary = keras_bert.BertTokenizer.from_preset(run).vocabulary
    keras_bert.BertTokenizer(
        [*vocabulary[:-2], *vocabulary[:-3:-1]], lowercase=True
    ).save_to_preset(tmp_path / "swapped")
    for option, value in (
        ("--batch-size", "3"), ("--seed", "9"), ("--steps", "2"),
        ("--vocab", f"{tmp_path}/swapped/vocab.txt"),
    ):  # fmt: skip
        assert main([*again, option, value]) == 2
        assert f"argument `{option}`" in capsys.readouterr().err
    other = tmp_path / "other.txt"
    other.write_text("a good film .\n\nit was over .\n")
    assert main([again[0], str(other), *again[1:]]) == 2
    assert "argument `files`" in capsys.readouterr().err
    code = main(["pretrain", str(other), "-o", str(run)])
    assert code == 2
    assert "argument `-o`" in capsys.readouterr().err


def test_a_run_outlasts_the_first_line_of_its_learning_rate(folder, tmp_path):
    run = tmp_path / "run"
    assert not main([*_words(folder, run, steps=4), "--schedule-steps", "2"])
    assert [line["step"] for line in _lines(run)] == [1, 2, 3, 4]


def test_a_larger_vocabulary_and_going_on_without_its_source(
    folder, tmp_path, capsys
):
    shutil.copytree(folder / "run", tmp_path / "source")
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    larger = [*tokenizer.vocabulary, "newword"]
    keras_bert.BertTokenizer(larger, lowercase=True).save_to_preset(
        tmp_path / "larger"
    )
    words = ["pretrain", f"{folder}/corpus.txt", "-o", f"{tmp_path}/run"]
    words += ["--model", f"{tmp_path}/source"]
    words += ["--steps", "1", "--batch-size", "2"]
    assert not main([*words, "--vocab", f"{tmp_path}/larger/vocab.txt"])
    assert "newly initialised rows: newword" in capsys.readouterr().out
    run = tmp_path / "run"
    model = keras_bert.load(run)
    assert model.backbone.vocabulary_size == len(larger)
    # As if killed after the last step, and both paths are gone since.
    (run / "result.json").unlink()
    for name in ("source", "larger"):
        shutil.rmtree(tmp_path / name)
    assert not main(["pretrain", "-o", str(run), "--resume"])
    assert "newly initialised" not in capsys.readouterr().out
    pairs = zip(
        model.get_weights(), keras_bert.load(run).get_weights(), strict=True
    )
    assert all(np.array_equal(one, other) for one, other in pairs)
    settings = json.loads((run / "run.json").read_text())["settings"]
    assert settings["model"] == f"{tmp_path}/source"


def test_one_document_is_trained_without_pairs_and_said(folder, tmp_path):
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    for documents in (1, 2):
        path = tmp_path / f"{documents}.txt"
        path.write_text("it was over .\n\n" * documents)
        text = Text([str(path)], tokenizer)
        settings = {**DEFAULTS, "batch_size": 2}
        with pytest.warns(UserWarning, match="one (document|sentence)"):
            settings = completed(settings, text, tokenizer)
        assert settings["next_sentence"] == (documents == 2)


def test_a_batch_is_a_multiple_of_the_devices(monkeypatch):
    three = types.SimpleNamespace(replicas=3)
    monkeypatch.setattr(_devices, "current", lambda: three)
    check_devices({"batch_size": 6})
    with pytest.raises(ValueError, match="`--batch-size`.* 3 devices"):
        check_devices({"batch_size": 4})


def test_another_text_has_another_fingerprint(folder, tmp_path):
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")

    def of(name, *documents):
        path = tmp_path / name
        path.write_text("\n\n".join("it was over .\n" * n for n in documents))
        return Text([str(path)], tokenizer).fingerprint

    assert of("a.txt", 1, 1, 4) == of("b.txt", 1, 1, 4)
    # The same sentences in as many documents.
    assert of("a.txt", 1, 1, 4) != of("a.txt", 2, 2, 2)

    def of_records(name, seed):
        path = tmp_path / name / "a.tfrecord"
        path.parent.mkdir()
        corpus = keras_bert.data.Corpus.from_files(
            [f"{folder}/corpus.txt"], tokenizer
        )
        settings = GoogleSettings(max_length=16, duplicates=1)
        write_google_records(path, corpus, tokenizer, settings, seed)
        return path.stat().st_size, Text([str(path)], tokenizer).fingerprint

    size, found = of_records("one", 1)
    assert of_records("moved", 1) == (size, found)
    assert of_records("other", 2)[1] != found
    # Records hold ids: another vocabulary gives them another meaning.
    words = tokenizer.vocabulary
    swapped = keras_bert.BertTokenizer(
        [*words[:-2], *words[:-3:-1]], lowercase=True
    )
    path = str(tmp_path / "one/a.tfrecord")
    assert Text([path], swapped).fingerprint != found


def test_records_train_without_pairs(folder, tmp_path):
    """Records of the original, whose labels of pairs are left alone."""
    tokenizer = keras_bert.BertTokenizer.from_preset(folder / "run")
    corpus = keras_bert.data.Corpus.from_files(
        [f"{folder}/corpus.txt"], tokenizer
    )
    path = tmp_path / "a.tfrecord"
    settings = GoogleSettings(max_length=32, duplicates=1)
    write_google_records(path, corpus, tokenizer, settings, 1)
    for choice in ("no", "auto"):
        words = _words(folder, tmp_path / choice, steps=1, next_sentence=choice)
        words[1] = str(path)
        assert main(words) == 0
        result = json.loads((tmp_path / choice / "result.json").read_text())
        assert result["next_sentence"] is (choice == "auto")
        (line,) = _lines(tmp_path / choice)
        assert ("next_sentence_accuracy" in line) is (choice == "auto")


BAD = {
    "warm-up": ({"warmup": 5}, "--warmup", 2),
    "phases": ({"sequence_length": None, "phases": "8:2"}, "--phases", 2),
    "long phase": (
        {"sequence_length": None, "phases": "32:0.5,513:0.5"},
        "--phases",
        2,
    ),
    "clip": ({"clip": -1}, "--clip", 2),
    "rates": ({"mask_token_rate": 0.9, "random_token_rate": 0.5}, "rate", 2),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings_leave_nothing(folder, tmp_path, capsys, case):
    options, named, code = BAD[case]
    assert main(_words(folder, tmp_path / "run", **options)) == code
    assert named in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nan_is_a_failure_with_step_batch_and_hint(folder, tmp_path, capsys):
    words = _words(folder, tmp_path / "run", steps=30, learning_rate=1e30,
                   warmup=0, log_every=30)  # fmt: skip
    assert main(words) == 1
    line = capsys.readouterr().err.strip().split("\n")[-1]
    assert "at step" in line and "batch" in line and "warm-up" in line
    assert not list((tmp_path / "run").glob("checkpoints/step-*"))


def test_without_matplotlib_the_figures_are_named(monkeypatch, tmp_path):
    import sys

    from keras_bert.cli._curves import draw_curves

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = draw_curves([{"step": 1, "loss": 2.0}], tmp_path / "curves.png")
    assert "keras3-bert[plot]" in text and not list(tmp_path.iterdir())


def test_lines_cut_by_a_kill_and_reports_after_the_checkpoint_go(tmp_path):
    from keras_bert.cli._run_folder import RunFolder

    run = RunFolder(tmp_path)
    run.metrics.write_text('{"step": 1}\n{"step": 2}\n{"step": 3, "lo')
    run.begin_at(1)
    assert run.metrics.read_text() == '{"step": 1}\n'
    assert np.all([line["step"] == 1 for line in run.lines()])
