"""What runs in processes of its own: `python worker.py SCENARIO FOLDER`.

Devices are set up before a backend starts, and a killed process takes nobody
with it. Prints one line of JSON; `launch.py` starts it and reads the line.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import keras
import numpy as np

BACKEND = keras.config.backend()
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij"]
OPTIMIZERS = ("sgd", "adamw")
ROWS, LENGTH, MASKS = 8, 12, 10

if BACKEND == "tensorflow" and "TF_CONFIG" not in os.environ:
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()]
        * int(os.environ.get("WORKER_DEVICES", "1")),
    )

import keras_bert as kb  # noqa: E402
from keras_bert.cli.main import main  # noqa: E402
from keras_bert.training.distribution._devices import current  # noqa: E402


def backbone(dropout=0.0):
    keras.utils.set_random_seed(0)
    return kb.BertBackbone(
        vocabulary_size=len(VOCABULARY) + 1,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        dropout=dropout,
        attention_dropout=dropout,
        max_sequence_length=LENGTH,
    )


def batch():
    """1 masked token in the first half of the rows and 40 in the second."""
    rng = np.random.default_rng(0)
    shape = (ROWS, LENGTH)
    x = {
        "token_ids": rng.integers(0, len(VOCABULARY), shape),
        "segment_ids": rng.integers(0, 2, shape),
        "padding_mask": np.ones(shape, "int32"),
        "mask_positions": rng.integers(0, LENGTH, (ROWS, MASKS)),
        "cls_positions": np.zeros((ROWS, 1), "int32"),
    }
    x = {name: value.astype("int32") for name, value in x.items()}
    masks = np.zeros((ROWS, MASKS), "float32")
    masks[0, 0] = 1.0
    masks[ROWS // 2 :] = 1.0
    y = {
        "mask_ids": rng.integers(0, len(VOCABULARY), (ROWS, MASKS)),
        "next_sentence": rng.integers(0, 2, (ROWS, 1)),
    }
    weight = {"mask_ids": masks, "next_sentence": np.ones((ROWS, 1), "float32")}
    return x, y, weight


class MeansOfHalves(kb.MaskedLMLoss):
    """The mistake: each replica divides by its own number of masked tokens."""

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_pred = keras.ops.convert_to_tensor(y_pred)
        losses = self.call(keras.ops.convert_to_tensor(y_true), y_pred)
        losses = keras.ops.reshape(losses * sample_weight, (2, -1))
        weight = keras.ops.reshape(sample_weight, (2, -1))
        sums = keras.ops.sum(weight, axis=1)
        return keras.ops.mean(keras.ops.sum(losses, axis=1) / sums)


def steps(optimizer, dropout=0.0, loss="auto", **compile_arguments):
    """The weights after 5 steps on the batch."""
    model = kb.BertPretrainer(backbone(dropout))
    made = {"sgd": keras.optimizers.SGD, "adamw": kb.AdamW}[optimizer]
    rate = {"sgd": 0.3, "adamw": 1e-2}[optimizer]
    if loss != "auto":
        loss = {"mask_ids": loss, "next_sentence": "auto"}
        loss["next_sentence"] = kb.training.NextSentenceLoss()
    model.compile(made(rate), loss=loss, **compile_arguments)
    x, y, weight = batch()
    model.fit(
        x, y, sample_weight=weight, batch_size=ROWS, epochs=5, verbose=0,
        shuffle=False,
    )  # fmt: skip
    return weights(model)


def weights(model):
    return np.concatenate(
        [
            keras.ops.convert_to_numpy(v).ravel()
            for v in model.trainable_variables
        ]
    )


def difference(one, other):
    one, other = np.asarray(one, "float64"), np.asarray(other, "float64")
    return float(np.abs(one - other).max()) if one.shape == other.shape else 99


def fine_tuning():
    """What fit, evaluate and predict give where no batch divides evenly."""
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(VOCABULARY[5:], rng.integers(1, 7)))
        for _ in range(13)
    ]
    labels = rng.integers(0, 2, 13)
    model = kb.BertTextClassifier(
        backbone(),
        num_classes=2,
        preprocessor=kb.BertTokenizer(VOCABULARY),
        dropout=0.0,
    )
    model.compile(keras.optimizers.SGD(0.3))
    model.fit(
        texts, labels, batch_size=8, epochs=2, verbose=0, shuffle=False,
        validation_data=(texts[:5], labels[:5]),
    )  # fmt: skip
    ids = model.preprocessor(texts[:7])
    ids = {name: np.asarray(value) for name, value in ids.items()}
    found = {
        "weights": weights(model),
        "evaluate": model.evaluate(texts, labels, batch_size=8, verbose=0),
        "evaluate ids": model.evaluate(
            ids, labels[:7], batch_size=4, verbose=0
        ),
        "predict": model.predict(texts, batch_size=8, verbose=0),
        "predict ids": model.predict(ids, batch_size=4, verbose=0),
        "predict_on_batch": model.predict_on_batch(ids),
        "backbone": model.backbone.predict(ids, batch_size=4, verbose=0)[
            "pooled_output"
        ],
    }
    model.train_on_batch(ids, labels[:7])
    found["train_on_batch"] = weights(model)
    return found


def compared(found, expected):
    return {name: difference(found[name], expected[name]) for name in expected}


def devices(folder):
    """Everything in one process with several virtual devices."""
    count = int(os.environ["WORKER_DEVICES"])
    splits = [{"devices": count}]
    if BACKEND == "jax":
        splits = [
            {"devices": 2},
            {"devices": 4},
            {"devices": 4, "model_parallel": 2},
        ]
    one = {name: steps(name) for name in OPTIMIZERS}
    np.savez(Path(folder) / "one_device.npz", **one)
    wanted = {**one, "accumulate": one["sgd"]}
    result = {"steps": [], "refused": []}
    for split in splits:
        with kb.distribute(**split):
            found = {name: steps(name) for name in OPTIMIZERS}
            found["accumulate"] = steps("sgd", accumulate=2)
        result["steps"].append(compared(found, wanted))
    if count == 4 and BACKEND == "tensorflow":
        return result
    result["control"] = difference(
        steps("sgd", loss=MeansOfHalves()), one["sgd"]
    )
    with kb.distribute(devices=2):
        result["dropout"] = difference(
            steps("sgd", dropout=0.3),
            steps("sgd"),
        )
        dropped = steps("sgd", dropout=0.3)
        try:
            small = {k: v[:3] for k, v in batch()[0].items()}
            kb.BertPretrainer(backbone()).fit(
                keras_dataset(small, 3), verbose=0
            )
        except ValueError as error:
            result["refused"].append(str(error))
        tuned = fine_tuning()
    result["dropout of one device"] = difference(
        dropped, steps("sgd", dropout=0.3)
    )
    result["fine_tuning"] = compared(tuned, fine_tuning())
    if BACKEND == "jax":
        with kb.distribute(model_parallel=2):
            model = kb.BertPretrainer(backbone())
            result["shards"] = {
                v.path: list(v.value.addressable_shards[0].data.shape)
                for v in model.trainable_variables
            }
    result["command line"] = command_line(folder)
    for arguments in ({"devices": 64}, {"devices": 3, "model_parallel": 2}):
        try:
            with kb.distribute(**arguments):
                pass
        except ValueError as error:
            result["refused"].append(str(error))
    return result


def command_line(folder):
    """What `pretrain --devices 2` does, and does again from a checkpoint."""
    words = Path(folder) / "vocab.txt"
    words.write_text("\n".join(VOCABULARY))
    said = io.StringIO()
    run, killed = Path(folder, "run"), Path(folder, "killed")
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        status = main(
            [
                "pretrain", corpus(folder), "-o", str(run),
                "--vocab", str(words), "--uncased", "--config", "bert_tiny",
                "--steps", "3", "--batch-size", "4", "--sequence-length", "16",
                "--devices", "2", "--save-every", "2", "--log-every", "3",
            ]
        )  # fmt: skip
    told = [line for line in said.getvalue().splitlines() if "distrib" in line]
    # What a process leaves that is killed at the third step.
    shutil.copytree(run, killed)
    last = "checkpoints/step-00000003"
    for name in ("preset", last):
        shutil.rmtree(killed / name)
    (killed / "result.json").unlink()
    main(["pretrain", "-o", str(killed), "--resume", "--devices", "2"])
    return [status, told, str(run), str(killed), last]


def keras_dataset(x, rows):
    import tensorflow as tf

    _, y, weight = batch()
    y, weight = ({k: v[:rows] for k, v in part.items()} for part in (y, weight))
    data = tf.data.Dataset.from_tensor_slices((x, y, weight))
    return data.batch(rows, drop_remainder=True)


# Several processes.


def corpus(folder):
    path = Path(folder) / "corpus.txt"
    if not path.exists():
        rng = np.random.default_rng(1)
        lines = [
            " ".join(rng.choice(VOCABULARY[5:], 5)) + "\n" * (1 + number % 2)
            for number in range(60)
        ]
        path.write_text("\n".join(lines))
    return str(path)


def pretraining(folder, state=None, kill_at=None):
    """Weights and loss of a run with dropout on text, in 2 epochs."""
    tokenizer = kb.BertTokenizer(VOCABULARY)
    dataset = kb.pretraining_dataset(
        corpus(folder), tokenizer, sequence_length=LENGTH, batch_size=4, seed=1
    )
    model = kb.BertPretrainer(backbone(0.1), preprocessor=tokenizer)
    model.compile(learning_rate=1e-2)
    callbacks = []
    if state:
        callbacks.append(kb.training.Resume(f"{folder}/{state}", save_every=3))
    if kill_at is not None:

        def kill(number, logs):
            if number == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        callbacks.append(
            keras.callbacks.LambdaCallback(on_train_batch_end=kill)
        )
    model.fit(dataset, epochs=2, verbose=0, callbacks=callbacks)
    return weights(model)


def rows_read(folder):
    """The rows of the first epoch that this process reads, batch by batch."""
    tokenizer = kb.BertTokenizer(VOCABULARY)
    dataset = kb.pretraining_dataset(
        corpus(folder), tokenizer, sequence_length=LENGTH, batch_size=4, seed=1
    )
    model = kb.BertPretrainer(backbone(), preprocessor=tokenizer)
    dataset = model._shared_data({"x": dataset}, True, None)["x"]
    if current() is not None and current().strategy is not None:
        strategy = current().strategy
        dataset = strategy.experimental_distribute_dataset(dataset)
    found = []
    for x, _, _ in dataset:
        ids = x["token_ids"]
        if not hasattr(ids, "shape"):
            ids = current().strategy.experimental_local_results(ids)[0]
        found.append(np.asarray(ids).tolist())
    return found


def alone(folder):
    """What two processes must do, on one device."""
    np.savez(
        Path(folder) / "one_device.npz",
        **{name: steps(name) for name in OPTIMIZERS},
    )
    keras.utils.set_random_seed(0)
    return {
        "rows": rows_read(folder),
        "fine_tuning": {
            name: np.asarray(value).tolist()
            for name, value in fine_tuning().items()
        },
        "pretraining": pretraining(folder).tolist(),
    }


def processes(folder):
    """Two processes learn what one device learns, on one batch and on text."""
    keras.utils.set_random_seed(0)
    with kb.distribute(timeout=120) as chosen:
        one = np.load(Path(folder) / "one_device.npz")
        found = {name: steps(name) for name in OPTIMIZERS}
        result = {"process": chosen.process, "steps": compared(found, one)}
        result["steps"]["accumulate"] = difference(
            steps("sgd", accumulate=2), one["sgd"]
        )
        result["rows"] = rows_read(folder)
        tuned = fine_tuning()
        result["fine_tuning"] = {
            name: np.asarray(value).tolist() for name, value in tuned.items()
        }
        whole = pretraining(folder, "whole")
        np.save(Path(folder) / f"whole_{chosen.process}.npy", whole)
        try:
            refuse_another_vocabulary(chosen)
        except ValueError as error:
            result["refused"] = str(error)
    return result


def refuse_another_vocabulary(chosen):
    words = [*VOCABULARY[:-1], "jk"[chosen.process]]
    model = kb.BertMaskedLM(backbone(), preprocessor=kb.BertTokenizer(words))
    model.fit(["a b c", "d e f"], batch_size=2, verbose=0)


def killed(folder):
    keras.utils.set_random_seed(0)
    with kb.distribute(timeout=120) as chosen:
        kill_at = int(os.environ["WORKER_KILL_AT"])
        pretraining(folder, "state", kill_at if chosen.process else None)


def restarted(folder):
    keras.utils.set_random_seed(0)
    with kb.distribute(timeout=120) as chosen:
        before = sorted(path.name for path in Path(folder).glob("state/step-*"))
        whole = np.load(Path(folder) / f"whole_{chosen.process}.npy")
        found = difference(pretraining(folder, "state"), whole)
    return {"difference": found, "resumed from": before}


def continued_alone(folder):
    """One process goes on where two had been."""
    keras.utils.set_random_seed(0)
    whole = np.load(Path(folder) / "whole_0.npy")
    return {"difference": difference(pretraining(folder, "copy"), whole)}


def meeting(folder):
    """Only what stands before a run."""
    keras.utils.set_random_seed(int(os.environ.get("WORKER_SEED", "0")))
    with kb.distribute(timeout=float(os.environ["WORKER_TIMEOUT"])):
        return {}


if __name__ == "__main__":
    scenario, folder = sys.argv[1:]
    print("\n" + json.dumps(globals()[scenario](folder)), flush=True)
