"""Saved models checked in a new process.

A test saves a model and hands it to `record` together with what it computes.
At the end of the session one new process, which imports only keras and
keras_bert, loads every recorded file and compares:

    python -m keras_bert.testing.reloading MANIFEST
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

_RECORDS = []
_FOLDER = []


def record(
    model,
    inputs,
    outputs,
    batch=None,
    next_losses=None,
    tolerance=1e-5,
    problem=None,
):
    """Save `model` now; the new process will load it and compare.

    Args:
        model: a Keras model, saved to a `.keras` file.
        inputs: array or dict of arrays, for `predict`.
        outputs: array or structure of arrays that `predict` must return.
            `None` if the model was never called: then the caller adds them
            to the returned entry with `expect`.
        batch: tuple of arrays or dicts for `train_on_batch` of a compiled
            model.
        next_losses: losses of the training steps after the save, see
            `expect`.
        tolerance: largest absolute difference.
        problem: text that the comparison must report, for a model that is
            recorded with wrong outputs to show that the check can fail.

    Returns the entry, for `expect`.
    """
    if not _FOLDER:
        _FOLDER.append(tempfile.mkdtemp(prefix="keras_bert_reload_"))
        atexit.register(shutil.rmtree, _FOLDER[0], ignore_errors=True)
    path = os.path.join(_FOLDER[0], f"{len(_RECORDS)}.keras")
    model.save(path)
    entry = {
        "path": path,
        # Shown when the comparison fails.
        "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
        "tolerance": tolerance,
        "problem": problem,
        "batch": len(batch) if batch else 0,
        "next_losses": [],
    }
    arrays = _flat("inputs", inputs)
    for i, part in enumerate(batch or ()):
        arrays.update(_flat(f"batch{i}", part))
    np.savez(path + ".npz", **arrays)
    _RECORDS.append(entry)
    expect(entry, outputs=outputs, next_losses=next_losses)
    return entry


def expect(entry, outputs=None, next_losses=None):
    """Add what the loaded model must compute to a recorded entry.

    `next_losses` are the losses of further `train_on_batch` calls. From the
    second on they depend on the state of the optimizer, not on the weights
    alone.
    """
    import keras

    if outputs is not None:
        flat = [
            keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)
        ]
        entry["outputs"] = len(flat)
        np.savez(
            entry["path"] + ".outputs.npz",
            **{str(i): x for i, x in enumerate(flat)},
        )
    if next_losses is not None:
        entry["next_losses"] = [float(x) for x in next_losses]


def check_recorded(timeout=600):
    """Compare all recorded models in one new process.

    Raises an AssertionError with the report of the process, and one when
    nothing was recorded.
    """
    assert _RECORDS, "no test has recorded a model"
    manifest = os.path.join(_FOLDER[0], "manifest.json")
    with open(manifest, "w") as f:
        json.dump(_RECORDS, f)
    done = subprocess.run(
        [sys.executable, "-m", "keras_bert.testing.reloading", manifest],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def _flat(prefix, value):
    if isinstance(value, dict):
        return {f"{prefix}/{name}": np.asarray(x) for name, x in value.items()}
    return {prefix: np.asarray(value)}


def _unflat(prefix, arrays):
    if prefix in arrays:
        return arrays[prefix]
    start = prefix + "/"
    return {
        name.removeprefix(start): x
        for name, x in arrays.items()
        if name.startswith(start)
    }


def _compare(entry):
    import keras

    model = keras.saving.load_model(entry["path"])
    arrays = dict(np.load(entry["path"] + ".npz"))
    expected = np.load(entry["path"] + ".outputs.npz")
    outputs = model.predict(_unflat("inputs", arrays), verbose=0)
    outputs = keras.tree.flatten(outputs)
    if len(outputs) != entry["outputs"]:
        return f"{len(outputs)} outputs instead of {entry['outputs']}"
    for i, output in enumerate(outputs):
        wanted = expected[str(i)]
        if output.shape != wanted.shape:
            return f"output {i}: shape {output.shape}, not {wanted.shape}"
        off = np.max(np.abs(np.subtract(output, wanted, dtype="float64")))
        if not off <= entry["tolerance"]:
            return f"output {i} is off by {off}"
    batch = [_unflat(f"batch{i}", arrays) for i in range(entry["batch"])]
    for i, wanted in enumerate(entry["next_losses"]):
        loss = float(np.ravel(model.train_on_batch(*batch))[0])
        if not abs(loss - wanted) <= entry["tolerance"]:
            return f"loss {i + 1} after loading is {loss}, not {wanted}"
    return None


def main(manifest):
    # Registers the classes; keras itself is imported by it.
    import keras_bert  # noqa: F401

    with open(manifest) as f:
        entries = json.load(f)
    failed = 0
    for entry in entries:
        try:
            problem = _compare(entry)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        wanted = entry["problem"]
        if (wanted not in (problem or "")) if wanted else problem:
            failed += 1
            print(f"{entry['test']}: {problem or f'not noticed: {wanted}'}")
    print(json.dumps({"models": len(entries), "failed": failed}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
