"""Every task's SavedModel, asked over HTTP by a process that is not ours.

The models are exported by a copy of the package, which is renamed afterwards,
with its vocabulary; the server runs in an environment of tensorflow and
tensorflow-text alone (`tensorflow_environment.py`, `rest_server.py`).
"""

import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from every_task import FORMS
from every_task import VOCABULARY

import keras_bert

HERE = Path(__file__).parent
NAMES = ["classifier", "tagger", "answerer", "choice", "masked", "embedder"]
# What TensorFlow writes is one for all backends: further forms are looked at
# once.
if keras.config.backend() == "tensorflow":
    NAMES += FORMS
CLASSES = ["label", "logits", "probabilities"]
ROWS = ["padding_mask", "segment_ids", "token_ids"]
# design.md, section 4; the words of masked models and `length` are ours.
SIGNATURES = {
    "classifier": (["text", "text_pair"], CLASSES),
    "regression": (["text", "text_pair"], ["logits"]),
    "tagger": (["row_lengths", "words"], CLASSES),
    "answerer": (["context", "question"], ["end", "score", "start", "text"]),
    "choice": (["context", "endings"], CLASSES),
    "masked": (["text"], ["score", "token"]),
    "pretrainer": (["text"], ["score", "token"]),
    "embedder": (["text"], ["embedding"]),
    "vectors": (["text"], ["embedding", "length"]),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory, tensorflow_python):
    """Requests with what the exporting process computed, and `ask`."""
    folder = tmp_path_factory.mktemp("every_task")
    project = folder / "project"
    shutil.copytree(
        Path(keras_bert.__file__).parent,
        project / "keras_bert",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    vocabulary = project / "vocab.txt"
    vocabulary.write_text("\n".join(VOCABULARY) + "\n")
    models = folder / "models"
    models.mkdir()
    done = subprocess.run(
        [sys.executable, HERE / "every_task.py", vocabulary, models],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == str(project / "keras_bert/__init__.py")
    project.rename(folder / "renamed")
    models = models.rename(folder / "served")
    # TensorFlow imports keras, which would import its backend.
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("KERAS_BACKEND", None)
    process = subprocess.Popen(
        [tensorflow_python, "-I", HERE / "rest_server.py", models],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        port = int(process.stdout.readline())

        def ask(path, request=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, 120)
            body = None if request is None else json.dumps(request)
            method = "GET" if request is None else "POST"
            connection.request(method, path, body)
            answer = connection.getresponse()
            content = json.loads(answer.read())
            connection.close()
            return answer.status, content

        requests = json.loads((models / "requests.json").read_text())
        yield SimpleNamespace(
            ask=ask, requests=requests, models=models, python=tensorflow_python
        )
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def reloaded(server):
    """What the saved files give in a new process under another backend."""
    backends = ["tensorflow", "jax", "torch"]
    here = backends.index(keras.config.backend())
    other = backends[(here + 1) % 3]
    done = subprocess.run(
        [sys.executable, HERE / "every_task.py", server.models],
        env={**os.environ, "KERAS_BACKEND": other},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == other
    return json.loads((server.models / "reloaded.json").read_text())


def test_files_and_presets_reload_under_another_backend(server, reloaded):
    assert set(reloaded) == set(NAMES) - set(FORMS)
    for name, requests in reloaded.items():
        expected = {
            (signature, json.dumps(inputs)): outputs
            for signature, inputs, outputs in server.requests[name]
        }
        for signature, inputs, outputs in requests:
            assert_same(outputs, expected[signature, json.dumps(inputs)])
    assert len(reloaded["classifier"]) == 2


def columns(server, name, inputs, signature="serving_default"):
    status, answer = server.ask(
        f"/v1/models/{name}:predict",
        {"signature_name": signature, "inputs": inputs},
    )
    assert status == 200, answer
    return answer["outputs"]


def assert_same(outputs, expected):
    assert sorted(outputs) == sorted(expected)
    for key, wanted in expected.items():
        if np.asarray(wanted).dtype.kind in "fi":
            assert np.shape(outputs[key]) == np.shape(wanted), key
            np.testing.assert_allclose(outputs[key], wanted, atol=1e-5)
        else:
            assert outputs[key] == wanted, key


def test_the_server_knows_tensorflow_and_tensorflow_text_only(server):
    status, process = server.ask("/process")
    assert status == 200
    assert process == {"found": [], "executable": str(server.python)}


@pytest.mark.parametrize("name", NAMES)
def test_users_43_strings_and_ids_give_the_outputs_of_the_process(server, name):
    requests = server.requests[name]
    assert {signature for signature, *_ in requests} == {
        "serving_default",
        "ids",
    }
    for signature, inputs, expected in requests:
        outputs = columns(server, name, inputs, signature)
        assert_same(outputs, expected)


def test_the_comparison_sees_a_wrong_number_and_a_wrong_text(server):
    _, inputs, expected = server.requests["classifier"][0]
    outputs = columns(server, "classifier", inputs)
    for key, value in (
        ("logits", (np.array(expected["logits"]) + 1e-3).tolist()),
        ("label", ["?", *expected["label"][1:]]),
    ):
        with pytest.raises(AssertionError):
            assert_same(outputs, {**expected, key: value})


@pytest.mark.parametrize("name", sorted(set(NAMES) & set(SIGNATURES)))
def test_signatures_have_the_names_of_the_contract(server, name):
    _, signatures = server.ask(f"/v1/models/{name}/metadata")
    assert sorted(signatures) == ["ids", "serving_default"]
    strings, ids = signatures["serving_default"], signatures["ids"]
    assert (strings["inputs"], strings["outputs"]) == SIGNATURES[name]
    masked = ["mask_positions"] if name in ("masked", "pretrainer") else []
    assert ids["inputs"] == masked + ROWS
    text = ("String", "Regex", "Wordpiece", "Normalize", "Utf", "Unicode")

    def found(ops):
        return [op for op in ops if any(word in op for word in text)]

    assert not found(ids["ops"])
    assert found(strings["ops"])


def test_answers_differ_and_one_model_declines(server):
    """The requests are such that the outputs have something to tell."""
    texts = server.requests["answerer"][0][2]["text"]
    assert texts[0] and texts[2] and texts[1] == ""
    if "reluctant" in NAMES:
        assert server.requests["reluctant"][0][2]["text"] == ["", "", ""]
    tags = server.requests["tagger"][0][2]["label"]
    assert len(set(tags)) > 1
    for name in ("classifier", "choice"):
        _, _, expected = server.requests[name][0]
        assert np.ptp(expected["logits"], axis=0).max() > 1e-2


def test_rows_and_columns_give_the_same(server):
    path = "/v1/models/classifier:predict"
    inputs = {"text": ["a fox", "the dog"], "text_pair": ["ran", ""]}
    outputs = columns(server, "classifier", inputs)
    rows = [
        dict(zip(inputs, row, strict=True))
        for row in zip(*inputs.values(), strict=True)
    ]
    status, answer = server.ask(path, {"instances": rows})
    assert status == 200, answer
    for index, row in enumerate(answer["predictions"]):
        assert row["label"] == outputs["label"][index]
        np.testing.assert_allclose(row["logits"], outputs["logits"][index])
    # The default of text_pair is in the SavedModel.
    alone = columns(server, "classifier", {"text": ["a fox", "the dog"]})
    status, answer = server.ask(path, {"instances": ["a fox", "the dog"]})
    assert status == 200, answer
    labels = [row["label"] for row in answer["predictions"]]
    assert labels == alone["label"]
    assert alone["logits"][1] == pytest.approx(outputs["logits"][1], abs=1e-5)
    assert alone["logits"][0] != pytest.approx(outputs["logits"][0], abs=1e-3)


@pytest.mark.parametrize("name", ["answerer", "choice", "masked", "embedder"])
def test_every_task_of_whole_texts_takes_rows(server, name):
    _, inputs, expected = server.requests[name][0]
    rows = [
        dict(zip(inputs, row, strict=True))
        for row in zip(*inputs.values(), strict=True)
    ]
    status, answer = server.ask(
        f"/v1/models/{name}:predict", {"instances": rows}
    )
    assert status == 200, answer
    outputs = {
        key: [row[key] for row in answer["predictions"]] for key in expected
    }
    assert_same(outputs, expected)


def test_words_without_row_lengths_are_one_text(server):
    words = ["the", "old", "fox"]
    given = {"words": words, "row_lengths": [3]}
    assert columns(server, "tagger", {"words": words}) == columns(
        server, "tagger", given
    )


def test_one_context_serves_all_questions(server):
    context = "the old fox ran ."
    inputs = {"question": ["a fox", "dog"], "context": [context]}
    twice = {**inputs, "context": [context] * 2}
    assert_same(
        columns(server, "answerer", inputs), columns(server, "answerer", twice)
    )


def test_bytes_that_are_no_utf8_are_dropped_as_python_drops_them(server):
    raw = b"a \xff\xfefox\xc3 ran"
    encoded = {"b64": base64.b64encode(raw).decode()}
    outputs = columns(server, "classifier", {"text": [encoded]})
    text = raw.decode("utf-8", "ignore")
    assert_same(outputs, columns(server, "classifier", {"text": [text]}))
    inputs = {"question": ["a"], "context": [encoded]}
    outputs = columns(server, "answerer", inputs)
    inputs["context"] = [text]
    assert_same(outputs, columns(server, "answerer", inputs))


def test_a_megabyte_of_text_is_cut_and_answered(server):
    long = "old fox " * 131_072
    outputs = columns(server, "classifier", {"text": [long]})
    short = columns(server, "classifier", {"text": [long[:4000]]})
    assert_same(outputs, short)


def test_an_empty_batch_gives_empty_outputs(server):
    for name, inputs in (
        ("classifier", {"text": []}),
        ("tagger", {"words": [], "row_lengths": []}),
        ("answerer", {"question": [], "context": []}),
        ("masked", {"text": []}),
        ("embedder", {"text": []}),
    ):
        outputs = columns(server, name, inputs)
        assert {len(value) for value in outputs.values()} == {0}, name


@pytest.mark.parametrize(
    ("name", "inputs", "parts"),
    [
        (
            "tagger",
            {"words": ["a", "b"], "row_lengths": [3]},
            ["`row_lengths`", "[3]", "[2]"],
        ),
        (
            "tagger",
            {"words": ["a"], "row_lengths": [2, -1]},
            ["`row_lengths`", "at least 0"],
        ),
        (
            "answerer",
            {"question": ["a"] * 3, "context": ["b"] * 2},
            ["`context`", "[2]", "[3]"],
        ),
        (
            "answerer",
            {"question": ["a " * 13], "context": ["b"]},
            ["`question`", "sequence_length=16", "[13]"],
        ),
        (
            "answerer",
            {"question": ["a " * 9], "context": ["fox " * 9]},
            ["`question`", "doc_stride=5", "[4]"],
        ),
        (
            "choice",
            {"context": ["a"], "endings": [["b", "c"], ["d", "e"]]},
            ["`endings`", "[2]", "[1]"],
        ),
        (
            "choice",
            {"context": [], "endings": []},
            ["`endings`", "endings in each"],
        ),
        ("masked", {"text": ["no mask"]}, ["`text`", "[MASK]", "[0]"]),
        (
            "masked",
            {"text": ["[MASK] " + "fox " * 30]},
            ["`text`", "at most 32", "[33]"],
        ),
    ],
)
def test_the_graph_refuses_with_the_numbers(server, name, inputs, parts):
    # Several times: operations run in any order, and none may fail before
    # the assertion does.
    for _ in range(10):
        status, answer = server.ask(
            f"/v1/models/{name}:predict", {"inputs": inputs}
        )
        assert status == 400
        for part in parts:
            assert part in answer["error"]


@pytest.mark.parametrize("name", ["tagger", "choice", "embedder"])
def test_ids_out_of_range_are_refused_with_both_numbers(server, name):
    _, inputs, _ = server.requests[name][-1]
    size = len(VOCABULARY) + 3

    def first_id(value):
        ids = np.array(inputs["token_ids"])
        ids[...] = value
        return ids.tolist()

    wider = {
        key: np.concatenate([value, value], axis=-1).tolist()
        for key, value in inputs.items()
    }
    for wrong, parts in (
        ({"token_ids": first_id(size)}, [f"vocabulary_size={size}", str(size)]),
        ({"token_ids": first_id(-1)}, ["at least 0", "[-1]"]),
        (wider, ["max_sequence_length=32", "[64]"]),
    ):
        status, answer = server.ask(
            f"/v1/models/{name}:predict",
            {"signature_name": "ids", "inputs": {**inputs, **wrong}},
        )
        assert status == 400
        for part in parts:
            assert part in answer["error"]


def test_a_wrong_signature_name_is_not_found(server):
    status, answer = server.ask(
        "/v1/models/classifier:predict",
        {"signature_name": "text", "inputs": {"text": ["a"]}},
    )
    assert status == 404
    assert "['ids', 'serving_default']" in answer["error"]


@pytest.mark.parametrize("name", NAMES)
def test_serving_warms_up_with_a_request_of_each_signature(server, name):
    """The file is read with the messages of TensorFlow Serving itself."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = server.models / name / "assets.extra/tf_serving_warmup_requests"
    seen = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(record)
        request = log.predict_log.request
        seen.append(request.model_spec.signature_name)
        inputs = {
            key: tf.make_ndarray(value) for key, value in request.inputs.items()
        }
        inputs = {
            key: np.asarray(value, str if value.dtype == object else None)
            for key, value in inputs.items()
        }
        inputs = {key: value.tolist() for key, value in inputs.items()}
        outputs = columns(server, name, inputs, seen[-1])
        assert all(len(value) for value in outputs.values())
        types = {value.dtype for value in request.inputs.values()}
        known = {tf.string, tf.int32, tf.int64}
        assert types <= {one.as_datatype_enum for one in known}
    assert seen == ["serving_default", "ids"]
    # Nothing else but the graph and the weights.
    files = {
        p.relative_to(server.models / name).as_posix()
        for p in (server.models / name).rglob("*")
        if p.is_file()
    }
    assert files == {
        "assets.extra/tf_serving_warmup_requests",
        "fingerprint.pb",
        "saved_model.pb",
        "variables/variables.data-00000-of-00001",
        "variables/variables.index",
    }
