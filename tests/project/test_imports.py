"""What `import keras_bert` and a training step on ids bring into a process.

Each case is a process of its own per backend. The control is the same script
in plain Keras: keras_bert may add itself and the standard library, nothing
else.
"""

import functools
import json
import os
import subprocess
import sys

import pytest

BACKENDS = ("tensorflow", "jax", "torch")

REPORT = """
import json, sys
names = {name.split(".")[0] for name in sys.modules}
print("MODULES", json.dumps(sorted(names - set(sys.stdlib_module_names))))
"""

IMPORT_KERAS = "import keras\n"

IMPORT_OURS = "import keras_bert\n"

TRAIN_KERAS = """
import keras, numpy as np
ids = keras.Input((8,), dtype="int32")
x = keras.layers.Embedding(20, 8)(ids)
x = keras.layers.Dense(2)(x[:, 0])
model = keras.Model(ids, x)
model.compile(
    "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
)
x = np.ones((4, 8), "int32")
model.fit(x, np.array([0, 1, 0, 1]), batch_size=2, verbose=0)
model.save_weights("x.weights.h5")
"""

TRAIN_OURS = """
import keras_bert, numpy as np
backbone = keras_bert.BertBackbone(
    vocabulary_size=20, num_layers=1, num_heads=2, hidden_dim=8,
    intermediate_dim=16, max_sequence_length=8,
)
model = keras_bert.BertTextClassifier(backbone, num_classes=2)
x = {"token_ids": np.ones((4, 8), "int32")}
model.fit(x, np.array([0, 1, 0, 1]), batch_size=2, verbose=0)
model.save_weights("x.weights.h5")
"""


@functools.cache
def modules(backend, script, folder):
    """Top-level modules outside the standard library after the script."""
    child = subprocess.run(
        [sys.executable, "-c", script + REPORT],
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "CUDA_VISIBLE_DEVICES": "",
        },
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    line = child.stdout.splitlines()[-1]
    return frozenset(json.loads(line.removeprefix("MODULES ")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("imports")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "control, ours",
    [(IMPORT_KERAS, IMPORT_OURS), (TRAIN_KERAS, TRAIN_OURS)],
    ids=["import", "train"],
)
def test_keras_bert_imports_nothing_beyond_keras(
    backend, control, ours, folder
):
    found = modules(backend, ours, folder)
    assert "keras_bert" in found
    allowed = modules(backend, control, folder) | {"keras_bert"}
    added = {name for name in found - allowed if not is_finder(name)}
    assert not added


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_imports_no_bridge_and_no_unused_backend(backend, folder):
    found = modules(backend, TRAIN_OURS, folder)
    never = {"tensorflow", "jax", "torch"} - {backend}
    if backend != "tensorflow":
        assert "tensorflow" not in found
    # Plain Keras imports jax where it is installed, whatever the backend.
    never -= modules(backend, TRAIN_KERAS, folder)
    never |= {"keras_nlp", "keras_hub", "tensorflow_text"}
    assert not found & never


def test_the_check_sees_an_import(folder):
    script = "import tensorflow_text\n"
    assert "tensorflow_text" in modules("tensorflow", script, folder)


def is_finder(name):
    """An editable install registers a finder module under its own name."""
    return name.startswith("__editable__")
