"""The tokenizer outside the library: SavedModel, and very long lines."""

import json
import os
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_bert.tokenizers import BertTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["naïve  fox", "", "ΟΔΟΣ\0 [MASK]a", "é" * 201, "\u2c2f \u0ece 가"]

RELOAD = """
import json, sys
import tensorflow as tf, tensorflow_text
loaded = tf.saved_model.load(sys.argv[1])
outputs = loaded.tokenize(tf.constant(json.loads(sys.argv[2])))
assert not any(name.split(".")[0] in ("keras_bert", "keras_hub")
               for name in sys.modules)
print(json.dumps([part.to_list() for part in outputs]))
"""


def test_a_saved_tokenizer_runs_in_a_process_without_the_library(tmp_path):
    vocabulary = [*SPECIALS, "naive", "fox", "οδος", "a", "##a"]
    tokenizer = BertTokenizer(
        vocabulary, lowercase=True, special_tokens_in_strings=True
    )
    module = tf.Module()
    module.tokenize = tf.function(
        lambda text: tokenizer.tokenize_with_offsets(text),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path / "saved"))
    done = subprocess.run(
        [sys.executable, "-c", RELOAD, tmp_path / "saved", json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [p.to_list() for p in tokenizer.tokenize_with_offsets(TEXTS)]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
    assert expected[0][0] == [5, 6]
    assert expected[0][2] == [7, 4, 8]


def test_the_graph_holds_no_python_function_and_no_table():
    tokenizer = BertTokenizer([*SPECIALS, "a"], True, None, True)
    for method in (tokenizer, tokenizer.tokenize_with_offsets):
        function = tf.function(
            lambda text, method=method: method(text),
            input_signature=[tf.TensorSpec([None], tf.string)],
        )
        graph = function.get_concrete_function().graph.as_graph_def()
        operations = {node.op for node in graph.node}
        for inner in graph.library.function:
            operations |= {node.op for node in inner.node_def}
        assert "FastWordpieceTokenizeWithOffsets" in operations
        wrong = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
        assert not operations & set(wrong)
        assert not [name for name in operations if "Table" in name]


LONG_LINE = """
import os
from keras_bert.testing.peak_memory import peak_memory
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from keras_bert.tokenizers import BertTokenizer
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##a", "中", "/"]
tokenizer = BertTokenizer(words, lowercase=True)
tokenizer("a")
before = peak_memory()
os.dup2(os.open(os.environ["ERRORS"], os.O_WRONLY | os.O_CREAT), 2)
size = 10_000_000
counts = [
    len(tokenizer("a" * size)),
    len(tokenizer("中" * (size // 3))),
    # Many words and one too long: the exact rule runs on the whole line.
    len(tokenizer("aaaaaaa/" * (size // 8) + "é" * 201)),
]
print(counts, int(peak_memory() - before))
"""


def test_a_line_of_10_mb_without_spaces_in_bounded_memory(tmp_path):
    errors = tmp_path / "stderr"
    done = subprocess.run(
        [sys.executable, "-c", LONG_LINE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ERRORS": str(errors)},
    )
    counts, megabytes = done.stdout.strip().rsplit(" ", 1)
    assert counts == str([1, 10_000_000 // 3, 10_000_000 + 1])
    assert int(megabytes) < 3000
    assert errors.read_text() == ""


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_importing_and_configuring_needs_no_tensorflow(backend):
    code = (
        "import sys; from keras_bert.tokenizers import BertTokenizer;"
        "t = BertTokenizer(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']);"
        "t.get_config(); t.token_to_id('[SEP]');"
        "assert 'tensorflow' not in sys.modules;"
        "print(t(['x']).to_list())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "KERAS_BACKEND": backend},
    )
    assert done.stdout.split("\n")[-2] == "[[1]]"
