"""n devices of one machine do what one device does.

One process per number of devices computes all, since a backend starts once;
the tests look at what it found.
"""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert
from tests.training.distribution import launch

BACKEND = keras.config.backend()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    count = {"jax": 4, "tensorflow": 2}[BACKEND]
    return launch.devices(tmp_path_factory.mktemp("devices"), count)


def assert_equal(differences):
    assert differences["sgd"] < 1e-5
    assert differences["adamw"] < 1e-4
    # The batch in two parts, each of them on all devices.
    assert differences["accumulate"] < 1e-5


def users_47_devices_agree_with_one_device(found):
    # keras-team/keras-hub#949. The masked tokens are 1 in one half of the
    # batch and 40 in the other; the numbers of issue and users' wish.
    splits = {"jax": 3, "tensorflow": 1}[BACKEND]
    assert len(found["steps"]) == splits
    for differences in found["steps"]:
        assert_equal(differences)
    # The control: the mean of the means of two replicas is another loss.
    assert found["control"] > 1e-3


def four_replicas_agree_with_one_device(tmp_path):
    (differences,) = launch.devices(tmp_path, 4)["steps"]
    assert_equal(differences)


def replicas_and_dropout(found):
    # It drops at all,
    assert found["dropout"] > 1e-3
    # and JAX draws the mask of the whole batch, whoever computes it.
    if BACKEND == "jax":
        assert found["dropout of one device"] < 1e-5
    else:
        assert found["dropout of one device"] > 1e-3


def uneven_batches_give_what_one_device_gives(found):
    differences = found["fine_tuning"]
    assert set(differences) == {
        "weights", "evaluate", "evaluate ids", "predict", "predict ids",
        "predict_on_batch", "backbone", "train_on_batch",
    }  # fmt: skip
    assert max(differences.values()) < 1e-5, differences


def what_cannot_be_split_is_refused(found):
    batch, *others = found["refused"]
    replicas = 2
    assert "`batch_size`" in batch
    assert f"a multiple of the {replicas} replicas" in batch
    assert batch.endswith("batch_size=3")
    assert "`devices`" in others[0]
    assert "Received: devices=64" in others[0]
    if BACKEND == "jax":
        assert "at most 4" in others[0]
        assert "`model_parallel`" in others[1]
        assert "a divisor of the number of devices, 3" in others[1]
    else:
        assert "at most 2" in others[0]
        assert "only JAX splits weights" in others[1]


def the_command_line_spreads_batches_over_devices(found):
    status, told, run, killed, last = found["command line"]
    assert status in (0, None)
    assert len(told) == 1
    assert "2 CPU devices" in told[0]
    # Those of all devices; a run that goes on counts what it did before.
    dataset = keras_bert.pretraining_dataset(
        f"{run}/../corpus.txt", keras_bert.BertTokenizer.from_preset(run),
        sequence_length=16, batch_size=4, seed=1,
    )  # fmt: skip
    tokens = sum(
        (x["padding_mask"] > 0).sum()
        for x, _, _ in dataset.take(3).as_numpy_iterator()
    )
    for folder in (run, killed):
        result = json.loads(Path(folder, "result.json").read_text())
        assert result["tokens"] == tokens
    one, other = (np.load(f"{f}/{last}/state.npz") for f in (run, killed))
    assert {name.split("/")[0] for name in one} >= {"model", "optimizer"}
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], name)


def weights_are_split_by_heads_columns_and_rows(found):
    # By hand, with 2 heads of 4, 16 units between, 16 tokens, for 2 devices.
    expected = {
        "token_embedding/embeddings": [8, 8],
        "query_key_value/kernel": [8, 3, 1, 4],
        "query_key_value/bias": [3, 1, 4],
        "attention_output/kernel": [1, 4, 8],
        "feedforward_intermediate_dense/kernel": [8, 8],
        "feedforward_output_dense/kernel": [8, 8],
        "pooled_dense/kernel": [8, 8],
    }
    for ending, shape in expected.items():
        (path,) = [name for name in found["shards"] if name.endswith(ending)]
        assert found["shards"][path] == shape, path


if BACKEND in ("jax", "tensorflow"):
    test_users_47_devices_agree_with_one_device = (
        users_47_devices_agree_with_one_device
    )
    test_dropout = replicas_and_dropout
    test_uneven_batches = uneven_batches_give_what_one_device_gives
    test_what_cannot_be_split = what_cannot_be_split_is_refused
    test_the_command_line = the_command_line_spreads_batches_over_devices
if BACKEND == "tensorflow":
    test_four_replicas = four_replicas_agree_with_one_device
if BACKEND == "jax":
    test_weights_are_split = weights_are_split_by_heads_columns_and_rows
