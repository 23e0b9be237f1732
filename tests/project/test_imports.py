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

TRAIN_KERAS = """
import numpy as np
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
import numpy as np
backbone = keras_bert.BertBackbone(
    vocabulary_size=20, num_layers=1, num_heads=2, hidden_dim=8,
    intermediate_dim=16, max_sequence_length=8,
)
model = keras_bert.BertTextClassifier(backbone, num_classes=2)
x = {"token_ids": np.ones((4, 8), "int32")}
model.fit(x, np.array([0, 1, 0, 1]), batch_size=2, verbose=0)
model.save_weights("x.weights.h5")
"""


KERAS = ("import keras", TRAIN_KERAS)
OURS = ("import keras_bert", TRAIN_OURS)


@functools.cache
def modules(backend, scripts, folder):
    """Top-level modules outside the standard library after each script."""
    child = subprocess.run(
        [sys.executable, "-c", "".join(one + REPORT for one in scripts)],
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
    return [
        set(json.loads(line.removeprefix("MODULES ")))
        for line in child.stdout.splitlines()
        if line.startswith("MODULES ")
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("imports")


@pytest.mark.parametrize("backend", BACKENDS)
def test_keras_bert_imports_nothing_beyond_keras(backend, folder):
    # First after the import, then after training.
    for found, control in zip(
        modules(backend, OURS, folder),
        modules(backend, KERAS, folder),
        strict=True,
    ):
        assert "keras_bert" in found
        added = found - control - {"keras_bert"}
        # An editable install registers a finder under a name of its own.
        assert not {x for x in added if not x.startswith("__editable__")}


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_imports_no_bridge_and_no_unused_backend(backend, folder):
    found = modules(backend, OURS, folder)[-1]
    if backend != "tensorflow":
        assert "tensorflow" not in found
    never = {"tensorflow", "jax", "torch"} - {backend}
    # Plain Keras imports jax where it is installed, whatever the backend.
    never -= modules(backend, KERAS, folder)[-1]
    never |= {"keras_nlp", "keras_hub", "tensorflow_text"}
    assert not found & never


def test_the_check_sees_an_import(folder):
    before, after = modules("jax", ("import json", "import pytest"), folder)
    assert "pytest" not in before
    assert "pytest" in after
