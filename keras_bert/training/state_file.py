"""Everything that a training run needs to go on, in one folder.

    state.npz    model/0000 ...      all variables, dropout's seeds among them
                 optimizer/0000 ...  slots, step, schedule, loss scale
                 metrics/0000 ...    accumulators
                 random/cpu ...      torch's own generators
    state.json   position (the caller's), paths and types of the variables

Keras' own files leave out the seeds of dropout and the metrics. Arrays are
written one at a time into a zip archive without compression, which keeps a
checksum of each; numpy reads them without pickle. A folder is written under
another name, brought to the disk, and only then renamed: what bears its name
is whole, whenever the process was killed.
"""

import contextlib
import json
import os
import shutil
import zipfile
from pathlib import Path

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert.training import _backend
from keras_bert.training.nan_guard import WHAT_HELPS

ARRAYS = "state.npz"
DESCRIPTION = "state.json"
FORMAT_VERSION = 1


def variables_of(model):
    """{group: variables}: all that a step of `fit` changes."""
    optimizer = model.optimizer
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)
    return {
        "model": list(model.variables),
        "optimizer": [] if optimizer is None else list(optimizer.variables),
        "metrics": list(model.metrics_variables),
    }


def build_metrics(model, batch):
    """Makes the variables of the metrics, which Keras does at the first step.

    Args:
        batch: (x, y, sample_weight) of arrays, as the model is fitted with.
    """
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    y_pred = model(x, training=False)
    arguments = (x, y, y_pred)
    model.compute_loss(*arguments, sample_weight=sample_weight, training=False)
    model.compute_metrics(*arguments, sample_weight=sample_weight)
    model.reset_metrics()


def write_state(folder, model, position, random=None):
    """Writes the state of `model` into an existing folder.

    Args:
        folder: path.
        model: a compiled model.
        position: a dict for `state.json`, such as the step.
        random: the random state after the last batch, of `RandomKeeper`;
            None: the present one.

    Raises:
        FloatingPointError: if a weight is NaN or infinite.
    """
    if random is None:
        random = _backend.random_state()
    groups = variables_of(model)
    with zipfile.ZipFile(Path(folder) / ARRAYS, "w", allowZip64=True) as file:
        for name, array in _arrays(groups, random):
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    description = {
        "format_version": FORMAT_VERSION,
        "keras": keras.version(),
        "position": position,
        "variables": {
            group: [[v.path, str(v.dtype), list(v.shape)] for v in variables]
            for group, variables in groups.items()
        },
    }
    text = json.dumps(description, indent=1) + "\n"
    (Path(folder) / DESCRIPTION).write_text(text)


def read_along(model):
    """Reads every variable as `write_state` does, and writes nothing.

    A metric under tf.distribute is summed over all workers when it is read,
    for which they have to meet.
    """
    for _ in _arrays(variables_of(model), random={}):
        pass


def _arrays(groups, random):
    for group, variables in groups.items():
        for number, variable in enumerate(variables):
            array = keras.ops.convert_to_numpy(variable)
            if group == "model" and not _is_finite(array):
                raise FloatingPointError(
                    f"{variable.path} is not a number any more: the last "
                    "update broke it, and no checkpoint is written. "
                    f"{WHAT_HELPS}"
                )
            if not array.dtype.isbuiltin:  # bfloat16
                array = array.view(f"u{array.dtype.itemsize}")
            yield f"{group}/{number:04d}", array
    for name, array in random.items():
        yield f"random/{name}", array


def _is_finite(array):
    if not array.dtype.isbuiltin:  # bfloat16
        array = array.astype("float32")
    return bool(np.isfinite(array).all())


def is_state(folder):
    return (Path(folder) / DESCRIPTION).is_file()


def read_position(folder):
    """The `position` that was given to `write_state`."""
    return _description(folder)["position"]


def read_state(folder, model, groups=("model", "optimizer")):
    """Puts the variables of those groups back; gives the random state.

    Metrics have to wait until an epoch has begun, since `fit` sets them to
    zero there: call again with `groups=("metrics",)`. The random state, which
    is empty but under torch, is for `RandomKeeper`.

    Raises:
        ValueError: if the model has other variables than the one that was
            saved, or a file is damaged. Nothing is changed then.
    """
    folder = Path(folder)
    description = _description(folder)
    wanted = {
        group: variables
        for group, variables in variables_of(model).items()
        if group in groups
    }
    for group, variables in wanted.items():
        _compare(folder, group, variables, description["variables"][group])
    try:
        with np.load(folder / ARRAYS, allow_pickle=False) as file:
            arrays = {
                name: file[name]
                for name in file.files
                if name.partition("/")[0] in (*groups, "random")
            }
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(
            f"{folder / ARRAYS} is damaged: {error}. Remove the folder to go "
            "on from the checkpoint before it"
        ) from error
    for group, variables in wanted.items():
        for number, variable in enumerate(variables):
            array = arrays.pop(f"{group}/{number:04d}")
            if array.dtype.kind == "u" and str(variable.dtype) == "bfloat16":
                # Torch takes no bfloat16 array; float32 holds each exactly.
                array = (array.astype("uint32") << 16).view("float32")
            variable.assign(array)
    return {
        name.partition("/")[2]: array
        for name, array in arrays.items()
        if name.startswith("random/")
    }


class RandomKeeper:
    """The random state between the last batch of a fit and the next.

    Iterators and tracing draw from torch's generators where a run begins or
    goes on; its batches must not notice.
    """

    def __init__(self):
        self.state = _backend.random_state()

    def keep(self):
        self.state = _backend.random_state()

    def put_back(self):
        _backend.set_random_state(self.state)


def _description(folder):
    path = Path(folder) / DESCRIPTION
    try:
        description = json.loads(path.read_text())
        version = description["format_version"]
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version {version}; this version of keras_bert "
            f"reads {FORMAT_VERSION}"
        )
    return description


def _compare(folder, group, variables, saved):
    """The model must be the one that was saved, apart from its names.

    Names of models count up within a process ("bert_pretrainer_1") and are a
    part of the paths and of the names of the optimizer's variables.
    """

    def known(path, dtype, shape):
        name = "" if group == "optimizer" else path.split("/")[-1]
        return f"{name} {dtype} {tuple(shape)}".strip()

    found = [known(v.path, v.dtype, v.shape) for v in variables]
    saved = [known(*entry) for entry in saved]
    if found == saved:
        return
    different = [
        f"{one} instead of {other}"
        for one, other in zip(found, saved, strict=False)
        if one != other
    ]
    raise invalid(
        "model",
        f"the model, optimizer and metrics that {folder} was written by "
        f"({len(saved)} {group} variables)",
        f"{len(found)} {group} variables; {(different or ['more of them'])[0]}",
    )


@contextlib.contextmanager
def whole_folder(path):
    """A folder that appears under its name when all of it is on the disk.

    What stood there is replaced. After an error, a full disk for instance,
    the old folder is still there and nothing of the new one is left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        yield staging
        for entry in sorted(staging.rglob("*"), reverse=True):
            _to_disk(entry)
        _to_disk(staging)
        if path.exists():
            old = path.with_name(f".{path.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
            staging.rename(path)
            shutil.rmtree(old)
        else:
            staging.rename(path)
        _to_disk(path.parent)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _to_disk(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checkpoints_in(folder, prefix="step-"):
    """The whole checkpoints of a folder, oldest first."""
    numbers = {
        path: path.name.removeprefix(prefix)
        for path in Path(folder).glob(f"{prefix}*")
    }
    # A copy that a user made has another ending.
    found = [
        path
        for path, number in numbers.items()
        if number.isdecimal() and is_state(path)
    ]
    return sorted(found, key=lambda path: int(numbers[path]))


def prune(folder, keep):
    """Removes all but the last `keep` checkpoints, and what a kill left."""
    folder = Path(folder)
    for path in checkpoints_in(folder)[:-keep]:
        # Renamed first: a kill in the middle leaves no torn checkpoint.
        gone = path.with_name(f".{path.name}.old")
        path.rename(gone)
    for path in folder.glob(".*.old"):
        shutil.rmtree(path, ignore_errors=True)
