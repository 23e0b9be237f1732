"""Two processes train as one, and stop as one.

Each test waits for its processes before the next one starts; the messages
name the port.
"""

import importlib
import random
import shutil

import keras
import numpy as np
import pytest

from tests.training.distribution import launch

BACKEND = keras.config.backend()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def alone(folder):
    """The same in one process; it also writes `one_device.npz`."""
    process = launch.start("alone", folder)
    return launch.result(process, 600, "one device")


@pytest.fixture(scope="module")
def found(folder, alone):
    return launch.results_of_two("processes", folder)


def two_processes_learn_what_one_device_learns(found, alone, folder):
    for result in found:
        assert result["steps"]["sgd"] < 1e-5
        assert result["steps"]["adamw"] < 1e-4
        assert result["steps"]["accumulate"] < 1e-5
    both = [np.load(folder / f"whole_{number}.npy") for number in (0, 1)]
    np.testing.assert_array_equal(*both)
    if BACKEND == "jax":
        # Dropout, data and resume: nothing depends on how many there are.
        np.testing.assert_allclose(both[0], alone["pretraining"], atol=1e-5)


def uneven_batches_of_two_processes(found, alone):
    for result in found:
        assert result["fine_tuning"].keys() == alone["fine_tuning"].keys()
        for name, value in alone["fine_tuning"].items():
            np.testing.assert_allclose(
                result["fine_tuning"][name], value, atol=1e-5, err_msg=name
            )


def each_row_is_read_by_one_process(found, alone):
    parts = [result["rows"] for result in found]
    # Equal numbers of steps,
    assert len(parts[0]) == len(parts[1]) == len(alone["rows"])
    for first, second, whole in zip(*parts, alone["rows"], strict=True):
        # and each row of a batch in one of the processes, in order.
        assert first + second == whole
        assert len(first) == len(second)


def different_vocabularies_are_refused(found):
    for result in found:
        assert "must have the same vocabulary" in result["refused"]
        assert "process 0: " in result["refused"]


def a_killed_process_stops_the_other_and_a_restart_goes_on(folder, found):
    kill_at = random.Random(folder.name).randrange(3, 7)
    (survivor, victim), what = launch.start_two(
        "killed", folder, WORKER_KILL_AT=kill_at
    )
    assert launch.finish(victim, 600, what)[0] == -9
    # It has 20 seconds, and some for a machine that is busy.
    status, _, err = launch.finish(survivor, 60, f"{what}, after the loss")
    assert status != 0
    assert "Process 1 of 2 was killed or cut off" in err
    assert "goes on from the last checkpoint" in err
    shutil.copytree(folder / "state", folder / "copy")
    for result in launch.results_of_two("restarted", folder):
        assert result["resumed from"], "no checkpoint was written"
        # Bit by bit: the run of two processes that nobody has killed.
        assert result["difference"] == 0.0
    if BACKEND == "jax":
        # One process reads the same rows in the same order. (Replicas of
        # tf.distribute draw dropout of their own: other weights there.)
        process = launch.start("continued_alone", folder)
        result = launch.result(process, 600, "one process after two")
        assert result["difference"] < 1e-5


def different_seeds_are_refused(tmp_path):
    both, what = launch.start_two(
        "meeting", tmp_path, WORKER_SEED=(1, 2), WORKER_TIMEOUT=60
    )
    for process in both:
        status, _, err = launch.finish(process, 120, what)
        assert status == 1
        assert "must have the same random seed" in err


def an_unreachable_coordinator_is_named(tmp_path):
    port = launch.free_port()
    (first, second), what = launch.start_two(
        "meeting", tmp_path, port=port, WORKER_TIMEOUT=1
    )
    first.kill()
    first.communicate()
    status, _, err = launch.finish(second, 60, what)
    assert status == 1
    assert "TimeoutError" in err or "RuntimeError" in err
    assert f"127.0.0.1:{port}" in err


def keras_still_needs_the_multi_worker_overrides():
    """https://github.com/keras-team/keras/issues/20585 is still there.

    The two places in Keras' trainer that the overrides go round, found by
    what they do: a scalar is reduced over axis 0, and `_maybe_symbolic_build`
    hands a structure to `strategy.reduce`. If this fails, Keras has changed:
    try `MultiWorker` without its methods, and remove what is not needed.
    """
    import inspect

    trainer = next(
        cls
        for cls in keras.Model.__mro__
        if "_maybe_symbolic_build" in vars(cls)
    )
    build = inspect.getsource(trainer._maybe_symbolic_build)
    assert "distribute_strategy.reduce(" in build
    reduction = inspect.getsource(
        importlib.import_module(trainer.__module__).reduce_per_replica
    )
    assert 'strategy.reduce("MEAN", v, axis=0)' in reduction


if BACKEND in ("jax", "tensorflow"):
    test_two_processes = two_processes_learn_what_one_device_learns
    test_uneven_batches_of_two = uneven_batches_of_two_processes
    test_each_row_is_read_once = each_row_is_read_by_one_process
    test_different_vocabularies = different_vocabularies_are_refused
    test_a_killed_process = (
        a_killed_process_stops_the_other_and_a_restart_goes_on
    )
    test_different_seeds = different_seeds_are_refused
    test_an_unreachable_coordinator = an_unreachable_coordinator_is_named
if BACKEND == "tensorflow":
    test_keras_still_needs_the_multi_worker_overrides = (
        keras_still_needs_the_multi_worker_overrides
    )
