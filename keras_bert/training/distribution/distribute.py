"""`with distribute():` sets up what the machine has."""

import contextlib
import sys
from importlib import metadata

import keras

from keras_bert._errors import invalid
from keras_bert.training.distribution import _devices
from keras_bert.training.distribution import _jax_devices
from keras_bert.training.distribution import _tensorflow_devices
from keras_bert.training.distribution._link import Link
from keras_bert.training.distribution._link import random_state_digest

_BACKENDS = {"jax": _jax_devices, "tensorflow": _tensorflow_devices}


@contextlib.contextmanager
def distribute(devices=None, model_parallel=1, *, timeout=300):
    """Trains, evaluates and predicts on several devices and hosts.

    Make, load, compile and use models inside the `with`; batch sizes mean the
    whole batch, over all devices. One line says what was chosen:

    - JAX: `keras.distribution.DataParallel`, or `ModelParallel` with
      `model_parallel` above 1, on GPUs, TPUs or virtual CPU devices
      (`JAX_NUM_CPU_DEVICES=4`). Several hosts are joined by
      `keras.distribution.initialize`, told by Keras' variables
      KERAS_DISTRIBUTION_JOB_ADDRESSES, _NUM_PROCESSES and _PROCESS_ID; a TPU
      slice needs none. The way to go for TPUs and for many hosts.
    - TensorFlow: `MirroredStrategy`; with a cluster in TF_CONFIG
      `MultiWorkerMirroredStrategy`. No XLA, and no TPU: TensorFlow 2.19 was
      the last that runs on one.
    - PyTorch: one device. Keras 3.15 has no distribution for it; data
      parallel training is in the development version of Keras (3.16).

    Training gives the weights of one device: losses are divided by the
    weights of the whole batch, and what is left of the rows at the end is
    filled up with rows of weight 0. (Only metrics without weights count these
    during `fit`.) `evaluate` and `predict` see each row once.

    Args:
        devices: None for all; an int for the first of them; or a list of
            names as `keras.distribution.list_devices()` gives (JAX) or of
            logical devices (TensorFlow). Several processes take all.
        model_parallel: int. Devices over which the weights of one model are
            split (JAX). It divides the number of devices.
        timeout: float. Seconds to wait for other processes.

    Raises:
        ValueError: more devices than there are; a split that the backend does
            not have; processes that differ in their seeds or versions.
        TimeoutError: another process cannot be reached; it names the address.

    Example:

    ```python
    with keras_bert.distribute():
        backbone = keras_bert.BertBackbone.from_config_name("bert_tiny")
        keras_bert.BertPretrainer(backbone).fit(dataset)
    ```
    """
    for name, value in (
        ("devices", devices),
        ("model_parallel", model_parallel),
    ):
        is_count = hasattr(value, "__index__") and not isinstance(value, bool)
        is_names = name == "devices" and (
            value is None or isinstance(value, list | tuple) and value
        )
        if not is_names and not (is_count and value >= 1):
            raise invalid(name, "an integer from 1", value)
    chosen = _set_up(devices, model_parallel, timeout)
    text = "1 device" if chosen is None else chosen.description
    if chosen is not None and chosen.processes > 1:
        text += f"; process {chosen.process} of {chosen.processes}"
    print(f"distribute: {keras.config.backend()}, {text}", file=sys.stderr)
    _devices.activate(chosen)
    link = None if chosen is None else chosen.link
    try:
        with contextlib.nullcontext() if chosen is None else chosen.scope():
            if link is None:
                yield chosen
            else:
                with link.watching():
                    yield chosen
    finally:
        _devices.deactivate()


def _set_up(devices, model_parallel, timeout):
    """The `Devices`, or None for a single one."""
    name = keras.config.backend()
    module = _BACKENDS.get(name)
    if module is None:
        for argument, value in (
            ("devices", devices),
            ("model_parallel", model_parallel),
        ):
            if _count(value or 1) > 1:
                raise invalid(
                    argument,
                    f"1 on {name}: Keras {keras.version()} distributes on "
                    "JAX and TensorFlow; for torch, data parallel training "
                    "is in its development version (3.16)",
                    value,
                )
        return None
    if model_parallel > 1 and name != "jax":
        raise invalid(
            "model_parallel",
            f"1 on {name}: only JAX splits weights (KERAS_BACKEND=jax)",
            model_parallel,
        )
    cluster = module.cluster()
    if cluster is not None and cluster[2] > 1:
        return _of_processes(module, cluster, devices, model_parallel, timeout)
    found = module.all_devices()
    names = _chosen(found, devices)
    _check_split(len(names), model_parallel)
    if len(names) == 1:
        return None
    if module is _jax_devices:
        return _jax_devices.JaxDevices(names, model_parallel)
    return _tensorflow_devices.TensorFlowDevices(names)


def _of_processes(module, cluster, devices, model_parallel, timeout):
    address, process, processes = cluster
    link = None
    if address is not None:
        link = Link.between(address, process, processes, timeout)
        link.compare(
            {
                "keras_bert": _version(),
                "Keras": keras.version(),
                "backend": module.version(),
                "devices": repr(devices),
                "model_parallel": repr(model_parallel),
                "random seed (call keras.utils.set_random_seed with the same "
                "number in each process, first of all)": random_state_digest(),
            }
        )
    if module is _jax_devices:
        _jax_devices.start_processes()
        found = module.all_devices()
        chosen = _jax_devices.JaxDevices(found, model_parallel)
    else:
        chosen = _tensorflow_devices.TensorFlowDevices(
            workers=processes, process=process
        )
        found = range(chosen.replicas)
    chosen.link = link
    if devices is not None and _count(devices) != len(found):
        raise invalid(
            "devices",
            f"None, or all {len(found)} devices of the {processes} processes",
            devices,
        )
    _check_split(len(found), model_parallel)
    return chosen


def _count(devices):
    return len(devices) if isinstance(devices, list | tuple) else devices


def _chosen(found, devices):
    if devices is None:
        return found
    if _count(devices) > len(found):
        raise invalid(
            "devices",
            f"at most {len(found)}, as many as there are ({', '.join(found)}). "
            "A machine without an accelerator can be split into virtual "
            "devices: JAX_NUM_CPU_DEVICES=n under JAX, "
            "tf.config.set_logical_device_configuration under TensorFlow",
            devices,
        )
    if not isinstance(devices, list | tuple):
        return found[: int(devices)]
    for name in devices:
        if name not in found:
            raise invalid("devices", f"names out of {found}", name)
    return list(devices)


def _check_split(count, model_parallel):
    if count % model_parallel:
        raise invalid(
            "model_parallel",
            f"a divisor of the number of devices, {count}",
            model_parallel,
        )


def _version():
    try:
        return metadata.version("keras3-bert")
    except metadata.PackageNotFoundError:
        return "unknown"
