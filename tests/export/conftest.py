"""One model, one export, and one process that reloads it, per backend."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert.models import BertBackbone
from keras_bert.models import BertTextClassifier
from keras_bert.models import BertTextClassifierPreprocessor
from keras_bert.tokenizers import BertTokenizer

# For the modules that stand beside this file.
sys.path.insert(0, str(Path(__file__).parent))

WORDS = "a the fox dog cat bird ran saw ate and not very old ##s ##ly ."
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
LABELS = ["schlecht", "gut", "größte"]

# Words per text 1, 7 and 19; batches of 1 and 3.
TEXTS = [
    "fox",
    "The old foxs ran very unknown.",
    "a " * 18 + "cat",
]
PAIRS = ["it ran", "", "the dogly"]

# Runs with `python -I`: nothing of the environment, and no keras_bert.
RELOAD = r"""
import json, sys
import tensorflow as tf
import tensorflow_text

folder, source, target = sys.argv[1:]
loaded = tf.saved_model.load(folder)
strings = loaded.signatures["serving_default"]
ids = loaded.signatures["ids"]


def plain(outputs):
    return {
        name: [v.decode() for v in value.numpy()]
        if value.dtype == tf.string else value.numpy().tolist()
        for name, value in outputs.items()
    }


def op_names(function):
    graph = function.graph.as_graph_def()
    library = {f.signature.name: f for f in graph.library.function}
    found, todo, seen = set(), list(graph.node), set()
    while todo:
        node = todo.pop()
        found.add(node.op)
        for value in node.attr.values():
            for name in [value.func.name, *(f.name for f in value.list.func)]:
                if name in library and name not in seen:
                    seen.add(name)
                    todo.extend(library[name].node_def)
    return sorted(found)


def call(request):
    kind, values = request
    try:
        if kind == "ids":
            return plain(ids(**{k: tf.constant(v) for k, v in values.items()}))
        if kind == "serve":
            return plain(loaded.serve(*map(tf.constant, values)))
        values = {k: tf.constant(v) for k, v in values.items()}
        return plain(strings(**values))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


requests = json.load(open(source))
results = {
    "answers": {name: call(request) for name, request in requests.items()},
    "inputs": {
        key: sorted(f.structured_input_signature[1])
        for key, f in loaded.signatures.items()
    },
    "ops": {key: op_names(f) for key, f in loaded.signatures.items()},
    "modules": sorted({name.split(".")[0] for name in sys.modules}),
}
json.dump(results, open(target, "w"))
"""


def tiny_backbone(**kwargs):
    arguments = {
        "vocabulary_size": len(VOCABULARY),
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 16,
        "intermediate_dim": 32,
        "max_sequence_length": 32,
        # Wide enough for the rows to differ in their outputs.
        "initializer_range": 0.3,
    }
    return BertBackbone(**{**arguments, **kwargs})


def tiny_classifier(backbone=None, **kwargs):
    tokenizer = BertTokenizer(VOCABULARY, lowercase=True)
    preprocessor = BertTextClassifierPreprocessor(tokenizer, sequence_length=24)
    arguments = {"preprocessor": preprocessor, "labels": LABELS}
    return BertTextClassifier(
        tiny_backbone(**(backbone or {})), **{**arguments, **kwargs}
    )


def id_rows(batch, length):
    """Rows of any ids, the last quarter of each padded."""
    generator = np.random.default_rng(batch * 100 + length)
    shape = (batch, length)
    mask = np.ones(shape, "int32")
    mask[:, length - length // 4 :] = 0
    return {
        "token_ids": generator.integers(0, len(VOCABULARY), shape, "int32"),
        "segment_ids": generator.integers(0, 2, shape, "int32"),
        "padding_mask": mask,
    }


def disturbed(rows):
    """The same rows with other ids at the padding."""
    padding = rows["padding_mask"] == 0
    tokens = np.where(padding, 7, rows["token_ids"]).astype("int32")
    segments = np.where(padding, 1, rows["segment_ids"]).astype("int32")
    return {**rows, "token_ids": tokens, "segment_ids": segments}


@pytest.fixture
def make_classifier():
    return tiny_classifier


@pytest.fixture(scope="session")
def fresh():
    """A model that was never called nor exported."""
    return tiny_classifier()


def _requests():
    requests = {}
    for index, text in enumerate(TEXTS):
        values = {"text": [text], "text_pair": [""]}
        requests[f"text {index}"] = ("strings", values)
        values = {"text": [text], "text_pair": ["the dog"]}
        requests[f"pair {index}"] = ("strings", values)
    requests["texts"] = ("strings", {"text": TEXTS, "text_pair": [""]})
    requests["texts by serve"] = ("serve", [TEXTS])
    requests["mixed"] = ("strings", {"text": TEXTS, "text_pair": PAIRS})
    requests["mixed by serve"] = ("serve", [TEXTS, PAIRS])
    requests["wrong pairs"] = ("serve", [TEXTS, PAIRS[:2]])
    requests["long"] = ("serve", [["old cat " * 500]])
    for batch in (1, 3):
        for length in (1, 7, 19):
            rows = id_rows(batch, length)
            requests[f"ids {batch} {length}"] = ("ids", rows)
            requests[f"noise {batch} {length}"] = ("ids", disturbed(rows))
    rows = id_rows(1, 7)
    wrong = {
        "too large": {"token_ids": np.full((1, 7), len(VOCABULARY))},
        "negative": {"token_ids": np.full((1, 7), -3)},
        "segment": {"segment_ids": np.full((1, 7), 2)},
        "shape": {"padding_mask": np.ones((1, 6))},
    }
    for name, values in wrong.items():
        values = {key: value.astype("int32") for key, value in values.items()}
        requests[f"wrong {name}"] = ("ids", {**rows, **values})
    requests["wrong length"] = ("ids", id_rows(2, 33))
    return requests


@pytest.fixture(scope="session")
def tensorflow_python(tmp_path_factory):
    """A Python that has tensorflow and tensorflow-text and nothing else."""
    from tensorflow_environment import make_environment

    return make_environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="session")
def exported(tmp_path_factory, tensorflow_python):
    """The model (fitted one step), its folder, and the other process."""
    keras.utils.set_random_seed(1)
    folder = tmp_path_factory.mktemp("export")
    model = tiny_classifier()
    model.fit(TEXTS, LABELS, batch_size=3, verbose=0)
    path = folder / "model"
    model.export(path)
    source, target = folder / "requests.json", folder / "results.json"
    requests = {
        name: (
            kind,
            {k: np.asarray(v).tolist() for k, v in values.items()}
            if isinstance(values, dict)
            else values,
        )
        for name, (kind, values) in _requests().items()
    }
    source.write_text(json.dumps(requests))
    # TensorFlow imports keras, which would import its backend.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("KERAS_BACKEND", None)
    child = subprocess.run(
        [tensorflow_python, "-I", "-c", RELOAD, path, source, target],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert child.returncode == 0, child.stderr
    results = json.loads(target.read_text())
    return SimpleNamespace(
        model=model, folder=path, requests=_requests(), **results
    )
