"""Starts the processes of `worker.py` and reads what they print."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import keras

WORKER = Path(__file__).with_name("worker.py")
BACKEND = keras.config.backend()

# Such small programs take longer to optimise than to run.
_QUICK = {
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true",
}


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def start(scenario, folder, **variables):
    variables = {name: str(value) for name, value in variables.items()}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", str(WORKER), scenario, str(folder)],
        env={**os.environ, **_QUICK, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, timeout, what):
    """(exit status, standard output, standard error)."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(
            f"{what} did not end within {timeout} seconds:\n{err[-3000:]}"
        ) from None
    return process.returncode, out, err


def result(process, timeout, what):
    status, out, err = finish(process, timeout, what)
    assert status == 0, f"{what}: {err[-3000:]}"
    return json.loads(out.splitlines()[-1])


def devices(folder, count):
    """The result of the scenario `devices` with so many virtual devices."""
    process = start(
        "devices", folder, WORKER_DEVICES=count, JAX_NUM_CPU_DEVICES=count
    )
    return result(process, 600, f"{count} virtual devices")


def start_two(scenario, folder, port=None, second_port=None, **variables):
    """Two processes that meet at a port; gives them and the port."""
    port = port or free_port()
    second_port = second_port or free_port()
    found = []
    for number in range(2):
        own = {
            "JAX_NUM_CPU_DEVICES": 1,
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{port}",
            "KERAS_DISTRIBUTION_NUM_PROCESSES": 2,
            "KERAS_DISTRIBUTION_PROCESS_ID": number,
        }
        if BACKEND == "tensorflow":
            addresses = [f"127.0.0.1:{port}", f"127.0.0.1:{second_port}"]
            cluster = {
                "cluster": {"worker": addresses},
                "task": {"type": "worker", "index": number},
            }
            own = {"TF_CONFIG": json.dumps(cluster)}
        several = {
            name: value[number] if isinstance(value, tuple) else value
            for name, value in variables.items()
        }
        found.append(start(scenario, folder, **own, **several))
    return found, f"two processes at port {port}"


def results_of_two(scenario, folder, timeout=600, **variables):
    both, what = start_two(scenario, folder, **variables)
    return [result(process, timeout, what) for process in both]
