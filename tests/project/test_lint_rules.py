"""The rules of the code base that ruff has no word for.

Each rule is a function (path, tree, lines) -> complaints. It runs over all
of keras_bert/ and, as a control, over a small bad source that it must refuse
and a good one that it must accept.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORDER = (
    "tokenizers",
    "data",
    "layers",
    "training",
    "checkpoints",
    "export",
    "models",
    "tasks",
    "serving",
    "cli",
)
MAX_LINES = 400
# What a module may import when it is itself imported. The rest comes in
# inside functions, so that extras stay optional and start-up stays short.
# (Keras itself imports ml_dtypes.)
AT_IMPORT = {"keras", "keras_bert", "ml_dtypes", "numpy"}
AT_IMPORT |= set(sys.stdlib_module_names)
TENSORFLOW = {"tensorflow", "tensorflow_text", "tensorflow_datasets"}
# The modules that may ask which backend runs, and why.
BACKEND_MODULES = {
    "keras_bert/_backend.py": "the place for branches",
    "keras_bert/_tensorflow.py": "hides GPUs from an unused TensorFlow",
    "keras_bert/export/by_tensorflow.py": "only TensorFlow writes the formats",
    "keras_bert/testing/gradients.py": "gradients without a train step",
    "keras_bert/training/_accumulation.py": "a train step for each backend",
    "keras_bert/training/distribution/distribute.py": "one way per backend",
    "keras_bert/training/_backend.py": "sums of replicas, torch in place",
}


def imports(tree):
    """(line, module, names) of all imports, at any depth.

    Calls of import_module with a literal name count.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield node.lineno, "." * node.level + (node.module or ""), names
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).split(".")[-1]
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(
                first, ast.Constant
            ):
                yield node.lineno, str(first.value), ()


def dotted_names(tree):
    """(line, "a.b.c") of each chain of attributes on a plain name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = [node.attr]
            inner = node.value
            while isinstance(inner, ast.Attribute):
                parts.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield node.lineno, ".".join([inner.id, *reversed(parts)])


def is_private(part):
    dunder = part.startswith("__") and part.endswith("__")
    return part == "src" or (part.startswith("_") and not dunder)


def no_private_modules_of_others(path, tree, lines):
    modules = {"tf": "tensorflow"}
    for line, module, names in imports(tree):
        parts = module.split(".")
        if parts[0] in ("keras_bert", ""):
            continue
        if any(map(is_private, [*parts, *names])):
            yield f"{path}:{line}: imports {module} {names}, which is private"
        if f"{module}.".startswith("tensorflow.python."):
            yield f"{path}:{line}: imports {module}, which is private"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not alias.name.startswith("keras_bert"):
                    top = alias.name.split(".")[0]
                    modules[alias.asname or top] = alias.name
    for line, name in dotted_names(tree):
        if name == "os._exit":  # Public, in spite of its name.
            continue
        root, *rest = name.split(".")
        if root in modules and (
            any(map(is_private, rest))
            or (modules[root] == "tensorflow" and rest[0] == "python")
        ):
            yield f"{path}:{line}: uses {name}, which is private"


def no_upward_import(path, tree, lines):
    parts = path.removesuffix(".py").split("/")[1:]
    if parts[0] in ("__init__", "__main__"):
        return
    here = parts[0] if len(parts) > 1 else None
    for line, module, names in imports(tree):
        if module.startswith("."):
            yield f"{path}:{line}: relative import {module}"
            continue
        top, *below = module.split(".")
        if top != "keras_bert":
            continue
        for target in [below[0]] if below else names or ("__init__",):
            if target.startswith("_") and target != "__init__":
                continue
            if here == "testing":
                allowed = target != "cli"
            elif here == "cli":
                allowed = target != "testing"
            elif here not in ORDER or target not in ORDER:
                # Root modules stand below all; the root package above all.
                allowed = False
            else:
                allowed = ORDER.index(target) <= ORDER.index(here)
            if not allowed:
                yield f"{path}:{line}: {here or parts[0]} imports {target}"


def tensorflow_has_one_door(path, tree, lines):
    if path == "keras_bert/_tensorflow.py":
        return
    for line, module, _ in imports(tree):
        if module.split(".")[0] in TENSORFLOW:
            yield f"{path}:{line}: imports {module}; use keras_bert._tensorflow"


def one_place_knows_the_backend(path, tree, lines):
    if path in BACKEND_MODULES:
        return
    for line, module, names in imports(tree):
        if module in ("keras.backend", "keras.config") and "backend" in names:
            yield f"{path}:{line}: asks for the backend"
    for line, name in dotted_names(tree):
        if name in ("keras.config.backend", "keras.backend.backend"):
            yield f"{path}:{line}: asks for the backend"


def light_at_import(path, tree, lines):
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside |= set(range(node.lineno, node.end_lineno + 1))
    for line, module, _ in imports(tree):
        top = module.split(".")[0]
        if top and line not in inside and top not in AT_IMPORT:
            yield f"{path}:{line}: imports {module} outside a function"


def kerashub_only_in_checkpoints(path, tree, lines):
    if path.startswith("keras_bert/checkpoints/"):
        return
    for line, module, _ in imports(tree):
        if module.split(".")[0] in ("keras_hub", "keras_nlp"):
            yield f"{path}:{line}: imports {module} outside checkpoints/"


def files_are_short(path, tree, lines):
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines, more than {MAX_LINES}"


def exported_names():
    """The names that some `__init__.py` of the library lists."""
    found = set()
    for file in (ROOT / "keras_bert").rglob("__init__.py"):
        for _, _, names in imports(ast.parse(file.read_text("utf-8"))):
            found.update(names)
    return found


def one_public_class_per_file(path, tree, lines):
    # Public is what an __init__.py lists; other classes are parts of the
    # file that they stand in, and so are records (dataclasses).
    names = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and "dataclass" not in " ".join(map(ast.unparse, node.decorator_list))
    }
    public = sorted(names & exported_names())
    if len(public) > 1:
        yield f"{path}: {len(public)} public classes: {public}"
    # Underscores are left out: adamw.py and masked_lm_loss.py are both right.
    stem = path.split("/")[-1].removesuffix(".py").replace("_", "")
    if len(public) == 1 and stem != public[0].lower():
        yield f"{path}: holds {public[0]}, so name the file after it"


RULES = {
    no_private_modules_of_others: (
        {
            "data/x.py": "from keras.src import backend",
            "data/b.py": "def f():\n    import jax._src.core",
            "data/c.py": "from keras_hub.src.models import bert",
            "data/d.py": "from torch import _dynamo",
            "data/e.py": "from tensorflow.python.ops import array_ops",
            "data/f.py": "import keras\nkeras.src.ops.add(1, 2)",
            "data/g.py": "tf.python.framework.ops.x()",
            "data/h.py": "import importlib\n"
            "importlib.import_module('keras.src.ops')",
        },
        {
            "data/x.py": "from __future__ import annotations\n"
            "import numpy as np\nfrom keras_bert._errors import invalid\n"
            "np.__version__"
        },  # fmt: skip
    ),
    no_upward_import: (
        {
            "data/x.py": "from keras_bert.layers import SelfAttention",
            "layers/x.py": "def f():\n    from keras_bert import models",
            "export/x.py": "import keras_bert.models.bert_backbone",
            "training/x.py": "import keras_bert",
            "models/x.py": "from keras_bert import BertBackbone",
            "testing/x.py": "from keras_bert.cli import main",
            "tasks/x.py": "from keras_bert.testing import tiny",
            "tokenizers/x.py": "from . import wordpiece",
            "_x.py": "from keras_bert.layers import SelfAttention",
        },
        {
            "models/x.py": "from keras_bert.export import export\n"
            "from keras_bert.models.bert_task import BertTask\n"
            "from keras_bert import _backend\nimport keras",
            "testing/x.py": "from keras_bert.models import BertBackbone",
            "cli/x.py": "from keras_bert.tasks import glue\nimport keras_bert",
            "__init__.py": "from keras_bert.cli import main",
        },
    ),
    tensorflow_has_one_door: (
        {
            "data/x.py": "def f():\n    import tensorflow as tf",
            "data/b.py": "from tensorflow_text import FastBertTokenizer",
        },
        {
            "_tensorflow.py": "import tensorflow as tf",
            "data/x.py": "from keras_bert._tensorflow import tensorflow",
        },
    ),
    one_place_knows_the_backend: (
        {
            "layers/x.py": "import keras\nif keras.config.backend() == 'jax':"
            "\n    pass",
            "layers/b.py": "import keras\nkeras.backend.backend()",
            "layers/c.py": "from keras.config import backend",
        },
        {"_backend.py": "import keras\nkeras.config.backend()"},
    ),
    light_at_import: (
        {"export/x.py": "import onnx", "layers/b.py": "import jax.numpy"},
        {"export/x.py": "import json\ndef f():\n    import onnx"},
    ),
    kerashub_only_in_checkpoints: (
        {"models/x.py": "def f():\n    import keras_nlp"},
        {"checkpoints/x.py": "def f():\n    import keras_hub"},
    ),
    files_are_short: (
        {"data/x.py": "a = 1\n" * (MAX_LINES + 1)},
        {"data/x.py": "a = 1\n" * MAX_LINES},
    ),
    one_public_class_per_file: (
        {
            "layers/x.py": "class BertTokenizer:\n    pass\n"
            "class BertBackbone:\n    pass",
            "layers/b.py": "class BertBackbone:\n    pass",
        },
        {
            "layers/bert_backbone.py": "class BertBackbone:\n    pass\n"
            "class Helper:\n    pass",
        },
    ),
}


def complaints(rule, path, source):
    return list(rule(path, ast.parse(source), source.splitlines()))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds_in_the_library(rule):
    files = sorted((ROOT / "keras_bert").rglob("*.py"))
    assert len(files) > 10
    found = []
    for file in files:
        path = file.relative_to(ROOT).as_posix()
        found += complaints(rule, path, file.read_text("utf-8"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_refuses_the_bad_and_accepts_the_good(rule):
    bad, good = RULES[rule]
    for path, source in bad.items():
        assert complaints(rule, f"keras_bert/{path}", source), (path, source)
    for path, source in good.items():
        assert not complaints(rule, f"keras_bert/{path}", source), source
