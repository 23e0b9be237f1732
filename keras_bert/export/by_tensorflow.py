"""The formats that TensorFlow writes, under every backend.

Under JAX and PyTorch the model is saved as a `.keras` file and a child process
with KERAS_BACKEND=tensorflow reads and exports it: converting the graph itself
needs packages that do not exist for current versions of torch, and under JAX
freezes the shapes of the strings.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import keras

from keras_bert._errors import invalid
from keras_bert.export.litert_file import write_litert
from keras_bert.export.onnx_file import check_onnx
from keras_bert.export.onnx_file import write_onnx
from keras_bert.export.saved_model import write_saved_model

WRITERS = {
    "tf_saved_model": write_saved_model,
    "onnx": write_onnx,
    "litert": write_litert,
}

# What the child process runs; the jobs come in as JSON.
_CHILD = """
import json, sys
import keras
import keras_bert
for source, target, format, shapes, options in json.load(sys.stdin):
    model = keras.saving.load_model(source, compile=False)
    signature = {
        name: keras.InputSpec(shape=shape, dtype="int32")
        for name, shape in shapes.items()
    }
    model.export(target, format=format, input_signature=signature, **options)
"""


def export_by_tensorflow(model, filepath, format, shapes, options):
    """Writes `filepath` whole, or not at all.

    Args:
        model: a Keras model whose call takes a dict with `token_ids`.
        filepath: str or path: a folder, absent or empty, for a SavedModel,
            else a file.
        format: one of `WRITERS`.
        shapes: dict of input name -> shape, `None` for any length.
        options: dict, further arguments of the writer.
    """
    if format == "onnx":
        check_onnx(model, **options)
    target = _free_path(filepath, is_folder=format == "tf_saved_model")
    # A sibling is on the same disk: the last step is a rename.
    staging = Path(
        tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
    )
    try:
        written = staging / "written"
        if keras.config.backend() == "tensorflow":
            WRITERS[format](model, written, shapes, **options)
        else:
            source = staging / "model.keras"
            model.save(source)
            run_child([(source, written, format, shapes, options)])
        if target.is_dir():
            target.rmdir()
        os.replace(written, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _free_path(filepath, is_folder):
    target = Path(filepath).absolute()
    if not is_folder:
        if target.is_dir():
            raise invalid("filepath", "a file, not a folder", str(filepath))
    elif target.exists() and not target.is_dir():
        raise invalid("filepath", "a new folder, not a file", str(filepath))
    elif target.is_dir() and any(target.iterdir()):
        raise invalid("filepath", "a new or empty folder", str(filepath))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def run_child(jobs):
    """Exports `.keras` files in one process under TensorFlow.

    Args:
        jobs: list of (source, target, format, shapes, options).
    """
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        # This process may hold the GPU's memory; writing needs none.
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(jobs, default=str),
        env=environment,
        capture_output=True,
        text=True,
    )
    if child.returncode != 0:
        raise RuntimeError(
            "The model could not be exported by the child process with "
            f"KERAS_BACKEND=tensorflow (exit {child.returncode}):\n"
            f"{child.stderr.strip()}"
        )
