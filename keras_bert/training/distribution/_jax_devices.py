"""JAX: `keras.distribution` on a mesh of all devices of all hosts."""

import contextlib
import os

import keras

from keras_bert.training.distribution._devices import Devices
from keras_bert.training.distribution._devices import map_arrays
from keras_bert.training.distribution._devices import rows_of
from keras_bert.training.distribution.layout import split_axis

_ADDRESSES = "KERAS_DISTRIBUTION_JOB_ADDRESSES"
_PROCESSES = "KERAS_DISTRIBUTION_NUM_PROCESSES"
_PROCESS = "KERAS_DISTRIBUTION_PROCESS_ID"


def cluster():
    """(coordinator's address, process, processes) from Keras' variables.

    None without them. The address is None on a TPU slice of several hosts,
    which knows its own.
    """
    addresses = os.environ.get(_ADDRESSES)
    if addresses:
        process = int(os.environ.get(_PROCESS, 0))
        processes = int(os.environ.get(_PROCESSES, addresses.count(",") + 1))
        return addresses.split(",")[0], process, processes
    hosts = os.environ.get("TPU_WORKER_HOSTNAMES", "")
    if "," in hosts:
        return None, None, hosts.count(",") + 1
    return None


def version():
    import jax

    return f"jax {jax.__version__}"


def start_processes():
    """Joins the processes; before anything else has asked for a device."""
    import jax

    if jax.distributed.is_initialized():
        return
    try:
        keras.distribution.initialize()
    except RuntimeError as error:
        if "before" not in str(error):
            raise
        raise RuntimeError(
            "`keras_bert.distribute` with several processes has to come "
            "before anything that computes (a model, a tensor, "
            "`jax.devices()`): move the `with` to the start of the script"
        ) from error


def all_devices():
    return keras.distribution.list_devices()


class JaxDevices(Devices):
    """DataParallel, or ModelParallel with the layout of `layout.py`."""

    splits_datasets = False

    def __init__(self, names, model_parallel):
        distribution = _distribution(names, model_parallel)
        self.distribution = distribution
        self.replicas = len(names) // model_parallel
        self.processes = distribution.num_processes
        self.data_parts = min(self.processes, self.replicas)
        self.data_part = distribution.data_shard_id
        if self.processes > 1:
            import jax

            self.process = jax.process_index()
        kind = names[0].partition(":")[0].upper()
        mesh = (
            "keras.distribution.DataParallel"
            if model_parallel == 1
            else "keras.distribution.ModelParallel, a mesh of "
            f"{self.replicas} (batch) x {model_parallel} (model)"
        )
        self.description = f"{len(names)} {kind} devices, {mesh}"

    def scope(self):
        return self.distribution.scope()

    def place(self, batch):
        import jax

        def one(array):
            layout = self.distribution.get_data_layout(array.shape)
            return jax.make_array_from_callback(
                array.shape, layout.backend_layout, lambda index: array[index]
            )

        if rows_of(batch) % self.replicas:
            return batch
        return map_arrays(one, batch)

    @contextlib.contextmanager
    def evaluates_whole_batches(self):
        self.distribution.whole_batches = True
        try:
            yield
        finally:
            self.distribution.whole_batches = False

    def copied(self, result):
        mesh = self.distribution.device_mesh

        def one(x):
            layout = keras.distribution.TensorLayout(
                [None] * len(x.shape), mesh
            )
            return keras.distribution.distribute_tensor(x, layout)

        outputs, others = result
        return keras.tree.map_structure(one, outputs), others

    def everywhere(self, text):
        if self.link is not None or self.processes == 1:
            return super().everywhere(text)
        # A TPU slice: the hosts reach each other only through the devices.
        import numpy as np
        from jax.experimental import multihost_utils

        raw = np.zeros(4096, "uint8")
        encoded = text.encode()[:4096]
        raw[: len(encoded)] = np.frombuffer(encoded, "uint8")
        rows = multihost_utils.process_allgather(raw)
        return [bytes(row).rstrip(b"\0").decode() for row in rows]


def _distribution(names, model_parallel):
    """The distribution of Keras, with two methods of its interface changed."""
    TensorLayout = keras.distribution.TensorLayout

    class Rows:
        # While True, every device works on all rows of a batch: the number
        # of rows need not divide, and Keras has no other way for such.
        whole_batches = False

        def get_data_layout(self, data_shape):
            axes = [None] * len(data_shape)
            if not self.whole_batches:
                axes[0] = self.batch_dim_name
            return TensorLayout(axes, self.device_mesh)

    class Data(Rows, keras.distribution.DataParallel):
        pass

    class Model(Rows, keras.distribution.ModelParallel):
        def get_variable_layout(self, variable):
            shape = variable.shape
            axis = split_axis(variable.path, shape, model_parallel)
            axes = ["model" if i == axis else None for i in range(len(shape))]
            return TensorLayout(axes, self.device_mesh)

    if model_parallel == 1:
        # Each process is handed its own rows (see `fit`).
        return Data(devices=names, auto_shard_dataset=False)
    mesh = keras.distribution.DeviceMesh(
        (len(names) // model_parallel, model_parallel),
        ["batch", "model"],
        names,
    )
    return Model(
        layout_map=keras.distribution.LayoutMap(mesh),
        batch_dim_name="batch",
        auto_shard_dataset=False,
    )
