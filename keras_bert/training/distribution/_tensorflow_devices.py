"""TensorFlow: MirroredStrategy, and its form for several workers."""

import functools
import json
import os
import socket

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.training.distribution._devices import Devices
from keras_bert.training.distribution._devices import map_arrays


def cluster():
    """(address of worker 0, worker, workers) from TF_CONFIG, or None."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return None
    try:
        config = json.loads(text)
        workers = config["cluster"]["worker"]
        process = int(config["task"]["index"])
        kind = config["task"]["type"]
    except (ValueError, KeyError, TypeError) as error:
        raise invalid(
            "TF_CONFIG",
            'JSON such as {"cluster": {"worker": ["host:port", ...]}, '
            '"task": {"type": "worker", "index": 0}}',
            text,
        ) from error
    if kind != "worker" or not 0 <= process < len(workers):
        raise invalid(
            "TF_CONFIG", f"a worker from 0 to {len(workers) - 1}", text
        )
    return (workers[0], process, len(workers)) if len(workers) > 1 else None


def version():
    return f"tensorflow {tensorflow().__version__}"


def all_devices():
    config = tensorflow().config
    kind = "GPU" if config.list_physical_devices("GPU") else "CPU"
    return [device.name for device in config.list_logical_devices(kind)]


# Names of devices -> the strategy over them; one entry at most.
_mirrored = {}


def mirrored_strategy(names):
    """One strategy for the same devices, however often they are set up.

    The numbers that tell collective operations apart begin anew in each
    strategy, and those of two strategies in one process collide.
    """
    if _mirrored and names not in _mirrored:
        raise invalid(
            "devices",
            f"those of before, {list(*_mirrored)}: TensorFlow keeps to one "
            "set of several devices in a process",
            list(names),
        )
    if not _mirrored:
        strategy = tensorflow().distribute.MirroredStrategy(list(names))
        _mirrored[names] = strategy
    return _mirrored[names]


@functools.cache
def workers_strategy():
    """The strategy of all workers; before any other use of TensorFlow."""
    config = json.loads(os.environ["TF_CONFIG"])
    _check_port(config["cluster"]["worker"][int(config["task"]["index"])])
    tf = tensorflow()
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise RuntimeError(
            "`keras_bert.distribute` with several workers has to come before "
            "anything that computes (a model, a tensor, a tokenizer): move "
            "the `with` to the start of the script"
        ) from error


def _check_port(address):
    """Refuses a port in use, of which TensorFlow says no number."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("", int(address.rpartition(":")[2])))
        except OSError as error:
            raise invalid(
                "TF_CONFIG",
                f"a free port for this worker ({error.strerror})",
                address,
            ) from error


class TensorFlowDevices(Devices):
    """The replicas of a strategy."""

    def __init__(self, names=None, workers=None, process=0):
        if workers is None:
            names = [name.replace("/device:", "") for name in names]
            strategy = mirrored_strategy(tuple(names))
            kind = names[0].rpartition(":")[0].strip("/")
            self.description = (
                f"{len(names)} {kind} devices, tf.distribute.MirroredStrategy"
            )
        else:
            strategy = workers_strategy()
            self.processes, self.process = workers, process
            self.description = (
                f"{strategy.num_replicas_in_sync} devices, "
                "tf.distribute.MultiWorkerMirroredStrategy"
            )
        self.strategy = strategy
        self.replicas = strategy.num_replicas_in_sync

    def scope(self):
        return self.strategy.scope()

    def place(self, batch):
        tf = tensorflow()

        def one(array):
            size = len(array) // self.replicas

            def rows(context):
                first = context.replica_id_in_sync_group * size
                return tf.convert_to_tensor(array[first : first + size])

            return self.strategy.experimental_distribute_values_from_function(
                rows
            )

        return map_arrays(one, batch)
