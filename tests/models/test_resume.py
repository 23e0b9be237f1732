"""A run that was killed and one that was not are equal to the bit."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.testing import tiny_vocabulary
from keras_bert.training import NanGuard
from keras_bert.training import Resume
from keras_bert.training import state_file

CHILD = Path(__file__).with_name("killed_run.py")
SENTENCES = ["the quick fox jumps .", "a dog sat on the mat !", "good book ."]


def _start(*words):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", CHILD, *map(str, words)],
        # One thread each: several processes share the cores of CI.
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )


def _output(child):
    text, _ = child.communicate()
    assert child.returncode == 0, text
    return text


def _kill_at(child, step):
    """SIGKILL from outside after that many batches."""
    seen = []
    for line in child.stdout:
        seen.append(line)
        if seen.count("step\n") == step:
            child.kill()
            break
    rest, _ = child.communicate()
    assert child.returncode == -9, "the process ended before it was killed"
    return "".join(seen) + rest


def _hashes(folder):
    with np.load(Path(folder) / "state.npz") as file:
        return {
            name: hashlib.sha256(file[name].tobytes()).hexdigest()
            for name in file.files
        }


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    documents = [
        "\n".join(SENTENCES[(i + k) % 3] for k in range(3)) for i in range(24)
    ]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n")
    return folder


def test_fit_on_text_goes_on_after_a_kill(texts, tmp_path):
    whole = _start("fit", texts / "corpus.txt", tmp_path / "whole")
    killed = _start("fit", texts / "corpus.txt", tmp_path / "killed")
    _kill_at(killed, random.randint(5, 13))
    text = _output(_start("fit", texts / "corpus.txt", tmp_path / "killed"))
    _output(whole)
    # In the second process the next three batches are those that the whole
    # run has read from that step on.
    found = json.loads(text.split("\n")[0])
    steps = text.count("step\n")
    states = {
        name: state_file.checkpoints_in(tmp_path / name / "state")
        for name in ("whole", "killed")
    }
    assert steps < int(states["whole"][-1].name[5:])
    for one, other in zip(
        states["whole"][::-1], states["killed"][::-1], strict=False
    ):
        assert one.name == other.name
        assert _hashes(one) == _hashes(other)
    position = next(
        state_file.read_position(path)
        for path in states["whole"]
        if int(path.name[5:]) == int(states["whole"][-1].name[5:]) - steps
    )
    tokenizer = keras_bert.BertTokenizer(tiny_vocabulary(), lowercase=True)
    dataset = keras_bert.pretraining_dataset(
        str(texts / "corpus.txt"),
        tokenizer,
        sequence_length=32,
        batch_size=2,
        start_epoch=position["epoch"],
        skip=position["batch"],
        epochs=2,
    )
    expected = []
    for batch in dataset.take(len(found)).as_numpy_iterator():
        digest = hashlib.sha256()
        for array in keras.tree.flatten(batch):
            digest.update(array.tobytes())
        expected.append(digest.hexdigest())
    assert found == expected


def test_the_verb_on_shards_goes_on_after_a_kill_and_is_asked_for_more(
    texts, tmp_path
):
    tokenizer = keras_bert.BertTokenizer(tiny_vocabulary(), lowercase=True)
    tokenizer.save_to_preset(tmp_path)
    from keras_bert.cli.main import main

    shards = tmp_path / "shards"
    assert not main(
        ["prepare", f"{texts}/corpus.txt", "-o", str(shards)]
        + ["--vocab", f"{tmp_path}/vocab.txt"]
    )
    words = ["pretrain", shards, "--config", "bert_tiny", "--batch-size", 2]
    words += ["--phases", "16:0.5,32:0.5", "--schedule-steps", 20]
    words += ["--log-every", 4, "--save-every", 3]
    # Measuring held-out text changes nothing, so either part may do without.
    held_out = ["--held-out", shards]
    whole = _start(*words, "-o", tmp_path / "whole", "--steps", 20, *held_out)
    killed = _start(*words, "-o", tmp_path / "killed", "--steps", 16)
    _kill_at(killed, random.randint(4, 14))
    _output(_start("pretrain", "-o", tmp_path / "killed", "--resume",
                   "--steps", 20, *held_out))  # fmt: skip
    _output(whole)
    last = "checkpoints/step-00000020"
    assert _hashes(tmp_path / "whole" / last) == _hashes(
        tmp_path / "killed" / last
    )
    reports = [
        [
            {
                name: value
                for name, value in json.loads(line).items()
                if name not in ("seconds", "tokens_per_second")
                and not name.startswith("held_out")
            }
            for line in (tmp_path / name / "metrics.jsonl").open()
        ]
        for name in ("whole", "killed")
    ]
    assert [line["step"] for line in reports[0]] == [4, 8, 10, 12, 16, 20]
    assert reports[0] == reports[1]


class Stop(keras.callbacks.Callback):
    """A crash after some batches of a `fit`."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def on_train_batch_end(self, batch, logs=None):
        self.after -= 1
        if not self.after:
            raise KeyboardInterrupt


def _model(make_backbone, tokenizer):
    keras.utils.set_random_seed(5)
    return keras_bert.BertPretrainer(make_backbone(), tokenizer)


def _data(tokenizer, **arguments):
    return keras_bert.pretraining_dataset(
        keras_bert.data.Corpus.from_documents([SENTENCES] * 12, tokenizer),
        tokenizer,
        **{"sequence_length": 32, "batch_size": 2, **arguments},
    )


def test_more_epochs_do_not_depend_on_where_the_crash_was(
    make_backbone, tokenizer, tmp_path
):
    dataset = _data(tokenizer)
    steps = int(dataset.cardinality())
    results = []
    for name, crash in (("a", None), ("b", steps + 2)):
        state = Resume(tmp_path / name, save_every=1, keep=1)
        model = _model(make_backbone, tokenizer)
        try:
            crashes = [Stop(crash)] if crash else []
            # The crash stands last, so the checkpoint of its step is whole.
            callbacks = [state, *crashes]
            model.fit(dataset, epochs=2, verbose=0, callbacks=callbacks)
        except KeyboardInterrupt:
            assert crash
        state = Resume(tmp_path / name, save_every=1, keep=1)
        model = _model(make_backbone, tokenizer)
        history = model.fit(dataset, epochs=3, verbose=0, callbacks=[state])
        assert history.epoch[-1] == 2
        # The epoch added has a warm-up and decay of its own.
        assert model.optimizer.schedule.known_span == (2 * steps, steps)
        results.append(_hashes(state_file.checkpoints_in(tmp_path / name)[-1]))
    assert results[0] == results[1]
    # The control: a fresh run of three epochs has one line over all.
    model = _model(make_backbone, tokenizer)
    state = Resume(tmp_path / "c", keep=1)
    model.fit(dataset, epochs=3, verbose=0, callbacks=[state])
    other = _hashes(state_file.checkpoints_in(tmp_path / "c")[-1])
    assert other != results[0]


def test_nothing_is_left_to_do(make_backbone, tokenizer, tmp_path):
    dataset = _data(tokenizer)
    for _ in range(2):
        model = _model(make_backbone, tokenizer)
        history = model.fit(
            dataset, epochs=1, verbose=0, callbacks=[Resume(tmp_path)]
        )
    assert history.epoch == []
    assert int(model.optimizer.iterations) == int(dataset.cardinality())


def test_old_checkpoints_go_and_a_broken_one_is_named(
    make_backbone, tokenizer, tmp_path, monkeypatch
):
    dataset = _data(tokenizer)
    model = _model(make_backbone, tokenizer)
    state = Resume(tmp_path, save_every=1, keep=2)
    written, write = [], state_file.write_state
    monkeypatch.setattr(
        state_file, "write_state", lambda *a: written.append(a[2]) or write(*a)
    )
    model.fit(dataset, epochs=1, verbose=0, callbacks=[state])
    # Each step once, also the last of the epoch.
    steps = list(range(1, int(dataset.cardinality()) + 1))
    assert [position["step"] for position in written] == steps
    assert (written[-1]["epoch"], written[-1]["batch"]) == (1, 0)
    found = state_file.checkpoints_in(tmp_path)
    assert len(found) == 2 == len(list(tmp_path.iterdir()))
    # A copy that the user made is none of ours.
    shutil.copytree(found[-1], tmp_path / f"{found[-1].name}.bak")
    assert state_file.checkpoints_in(tmp_path) == found
    path = found[-1] / "state.npz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="state.npz is damaged"):
        model.fit(dataset, epochs=2, verbose=0, callbacks=[state])
    with pytest.raises(ValueError, match="`model`"):
        other = keras_bert.BertPretrainer(make_backbone(num_layers=1))
        state_file.read_state(found[0], other)


def test_a_full_disk_leaves_the_last_checkpoint_and_no_part(
    make_backbone, tokenizer, tmp_path, monkeypatch
):
    model = _model(make_backbone, tokenizer)
    dataset = _data(tokenizer)
    state = Resume(tmp_path, save_every=1)
    model.fit(dataset, epochs=1, verbose=0, callbacks=[state])
    before = sorted(tmp_path.iterdir())

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left on device"):
        model.fit(dataset, epochs=2, verbose=0, callbacks=[state])
    assert sorted(tmp_path.iterdir()) == before


def test_data_that_cannot_be_made_again_are_refused(
    make_backbone, tokenizer, tmp_path
):
    model = _model(make_backbone, tokenizer)
    state = Resume(tmp_path)
    x, y, weight = next(_data(tokenizer).as_numpy_iterator())
    with pytest.raises(ValueError, match="a tf.data dataset"):
        model.fit(x, y, sample_weight=weight, callbacks=[state])
    endless = _data(tokenizer).repeat()
    with pytest.raises(ValueError, match="an infinite one"):
        model.fit(endless, steps_per_epoch=2, callbacks=[state])
    with pytest.raises(ValueError, match="`steps_per_epoch`"):
        model.fit(
            _data(tokenizer), steps_per_epoch=99, epochs=2, callbacks=[state]
        )
    for arguments in ({"save_every": 0.5}, {"keep": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            Resume(tmp_path, **arguments)


def test_users_21_the_next_loss_after_a_resume_is_that_of_the_whole_run(
    make_backbone, tokenizer, tmp_path
):
    """google-research/bert#888: "adam_m not found"."""
    dataset = _data(tokenizer, epochs=4)
    model = _model(make_backbone, tokenizer)
    arguments = {"steps_per_epoch": 2, "verbose": 0}
    whole = model.fit(dataset, epochs=2, **arguments, callbacks=[
        Resume(tmp_path / "a")])  # fmt: skip
    model = _model(make_backbone, tokenizer)
    # Three batches, then a crash; the checkpoint is that of the third.
    with pytest.raises(KeyboardInterrupt):
        state = Resume(tmp_path / "b", save_every=1)
        model.fit(dataset, epochs=2, **arguments, callbacks=[state, Stop(3)])
    model = _model(make_backbone, tokenizer)
    state = Resume(tmp_path / "b", save_every=1)
    rest = model.fit(dataset, epochs=2, **arguments, callbacks=[state])
    assert rest.epoch == [1]
    assert rest.history["loss"][-1] == whole.history["loss"][-1]


def test_a_loss_that_turns_nan_stops_with_step_and_batch(
    make_backbone, tokenizer
):
    model = _model(make_backbone, tokenizer)
    model.compile(learning_rate=keras_bert.WarmupDecay(1e30, 0, 8))
    with pytest.raises(FloatingPointError) as stop:
        model.fit(_data(tokenizer), epochs=3, verbose=0)
    assert "at step" in str(stop.value) and "(batch" in str(stop.value)
    assert "lower learning rate" in str(stop.value)


def test_weights_that_are_broken_are_not_saved(
    make_backbone, tokenizer, tmp_path
):
    model = _model(make_backbone, tokenizer)
    table = model.backbone.trainable_variables[0]
    table.assign(keras.ops.convert_to_numpy(table) * np.nan)
    with (
        pytest.raises(FloatingPointError, match="no checkpoint.*learning rate"),
        state_file.whole_folder(tmp_path / "step-1") as folder,
    ):
        state_file.write_state(folder, model, {"step": 1})
    assert not list(tmp_path.iterdir())


def test_the_place_of_a_nan_is_that_in_the_whole_run(
    make_backbone, tokenizer, tmp_path
):
    dataset = _data(tokenizer)
    steps = int(dataset.cardinality())
    model = _model(make_backbone, tokenizer)
    state = Resume(tmp_path, save_every=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(dataset, epochs=3, verbose=0,
                  callbacks=[state, Stop(steps + 2)])  # fmt: skip
    guard = NanGuard()
    places = []

    class Ask(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            places.append(guard.place(batch + 1))

    model = _model(make_backbone, tokenizer)
    model.fit(dataset, epochs=3, verbose=0,
              callbacks=[guard, Resume(tmp_path), Ask()])  # fmt: skip
    # Step, epoch and batch, by hand: two steps of the second epoch are done.
    assert places[0] == (steps + 3, 1, 2)
    assert places[-1] == (3 * steps, 2, steps - 1)
