"""Writes a TensorFlow SavedModel with strings in.

Only TensorFlow writes the format. Under JAX and PyTorch the model is saved as
a `.keras` file and a child process with KERAS_BACKEND=tensorflow reads and
exports it: converting the graph itself needs packages that do not exist for
current versions of torch, and under JAX freezes the shapes of the strings.
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
from keras_bert._tensorflow import tensorflow
from keras_bert.export.assertions import checked_ids

# What the child process runs: source, target, signature.
_CHILD = """
import json, sys
import keras
import keras_bert
source, target, signature = sys.argv[1:]
model = keras.saving.load_model(source, compile=False)
signature = {
    name: keras.InputSpec(shape=shape, dtype="int32")
    for name, shape in json.loads(signature).items()
}
model.export(target, format="tf_saved_model", input_signature=signature)
"""


def export_saved_model(model, filepath, shapes, serving_function, output_name):
    """Writes the folder `filepath`, whole or not at all.

    The signature `ids` takes the model's int32 arrays. `serving_default`
    takes strings where the model has a preprocessor, else it equals `ids`.
    Nothing but the model's weights is written: no optimizer, no asset.

    Args:
        model: a Keras model whose call takes a dict with `token_ids`.
        filepath: str or path. The folder; it must be absent or empty.
        shapes: dict of input name -> shape, `None` for any length.
        serving_function: callable that returns the tf.function of
            `serving_default` or `None`; called under TensorFlow only.
        output_name: str. Name of the output of a model that returns one
            array.
    """
    target = _free_folder(filepath)
    # A sibling is on the same disk: the last step is a rename.
    staging = Path(
        tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
    )
    try:
        written = staging / "saved_model"
        if keras.config.backend() == "tensorflow":
            _write(model, written, shapes, serving_function(), output_name)
        else:
            source = staging / "model.keras"
            model.save(source)
            _write_in_child(source, written, shapes)
        if target.exists():
            target.rmdir()
        os.rename(written, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _free_folder(filepath):
    target = Path(filepath).absolute()
    if target.exists() and not target.is_dir():
        raise invalid("filepath", "a new folder, not a file", str(filepath))
    if target.is_dir() and any(target.iterdir()):
        raise invalid("filepath", "a new or empty folder", str(filepath))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _write(model, target, shapes, serving_function, output_name):
    tf = tensorflow()

    def outputs(inputs):
        result = model(checked_ids(inputs, model), training=False)
        return result if isinstance(result, dict) else {output_name: result}

    # An argument each, so that the signature's inputs keep their names.
    specs = {
        name: tf.TensorSpec(shape, tf.int32, name=name)
        for name, shape in shapes.items()
    }
    ids = tf.function(lambda **inputs: outputs(inputs))
    ids = ids.get_concrete_function(**specs)
    module = tf.Module()
    # The weights alone: a Keras model as attribute would bring its optimizer
    # and every compiled function along.
    module.weights = [variable.value for variable in model.weights]
    module.ids = ids
    module.serve = serving_function or ids
    tf.saved_model.save(
        module,
        str(target),
        signatures={"serving_default": module.serve, "ids": ids},
        # Gradients of custom operations serve training only.
        options=tf.saved_model.SaveOptions(experimental_custom_gradients=False),
    )


def _write_in_child(source, target, shapes):
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        # This process may hold the GPU's memory; writing needs none.
        "CUDA_VISIBLE_DEVICES": "-1",
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    command = [sys.executable, "-c", _CHILD, source, target, json.dumps(shapes)]
    child = subprocess.run(
        command, env=environment, capture_output=True, text=True
    )
    if child.returncode != 0:
        raise RuntimeError(
            "The SavedModel could not be written by the child process with "
            f"KERAS_BACKEND=tensorflow (exit {child.returncode}):\n"
            f"{child.stderr.strip()}"
        )
