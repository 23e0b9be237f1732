"""ONNX and LiteRT files against the model in the process."""

import sys

import keras
import numpy as np
import onnx
import onnxruntime
import pytest
from every_task import id_requests

import keras_bert as kb
from keras_bert._tensorflow import tensorflow

VOCABULARY_SIZE = 30
LONGEST = 16
LAYERS = 2
TASKS = {
    "classifier": lambda backbone: kb.BertTextClassifier(
        backbone, num_classes=3
    ),
    "tagger": lambda backbone: kb.BertTokenClassifier(backbone, num_classes=3),
    "answerer": kb.BertQuestionAnswerer,
    "choice": kb.BertMultipleChoice,
    "masked": kb.BertMaskedLM,
    "embedder": kb.BertTextEmbedder,
    "pretrainer": kb.BertPretrainer,
    "backbone": lambda backbone: backbone,
}
# TensorFlow writes the files under every backend: one of them goes the whole
# way elsewhere, all of them here.
if keras.config.backend() != "tensorflow":
    TASKS = {"classifier": TASKS["classifier"]}


@pytest.fixture(scope="module")
def backbone():
    keras.utils.set_random_seed(1)
    return kb.BertBackbone(
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=LAYERS,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        max_sequence_length=LONGEST,
        initializer_range=0.3,
    )


def disturbed(model):
    """The model with norms and biases that are no ones and zeros."""
    generator = np.random.default_rng(2)
    for variable in model.trainable_variables:
        if len(variable.shape) == 1:
            shift = generator.normal(0, 0.1, variable.shape)
            variable.assign_add(shift.astype("float32"))
    return model


def assert_runs(model, run):
    seen = []
    for x, expected in id_requests(model):
        outputs = run(x)
        assert sorted(outputs) == sorted(expected)
        for key, wanted in expected.items():
            assert outputs[key].shape == wanted.shape
            np.testing.assert_allclose(outputs[key], wanted, atol=1e-4)
            seen.append(np.ptp(wanted))
    # Not a model that gives one answer.
    assert max(seen) > 1e-2


def onnx_runner(path):
    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return session, lambda x: dict(
        zip(names, session.run(None, x), strict=True)
    )


def counted(path):
    operators = [node.op_type for node in onnx.load(path).graph.node]
    names = ("LayerNormalization", "Gelu", "Attention", "Softmax", "Erf")
    return {name: operators.count(name) for name in names}


@pytest.mark.parametrize("name", TASKS)
def test_onnx_of_any_batch_and_length_equals_the_model(
    backbone, tmp_path, name
):
    model = disturbed(TASKS[name](backbone))
    path = tmp_path / "model.onnx"
    model.export(path, format="onnx")
    session, run = onnx_runner(path)
    assert {one.name: one.shape for one in session.get_inputs()} == {
        key: ["batch", "masks"]
        if key == "mask_positions"
        else ["batch", "choices", "length"]
        if name == "choice"
        else ["batch", "length"]
        for key in model.input
    }
    assert_runs(model, run)
    # Two norms and one attention a block, a norm of the embeddings, and the
    # head's own norm and activation (bert.md, A).
    head = name in ("masked", "pretrainer")
    assert counted(path) == {
        "LayerNormalization": 2 * LAYERS + 1 + head,
        "Gelu": LAYERS + head,
        "Attention": LAYERS,
        "Softmax": 0,
        "Erf": 0,
    }


def test_a_smaller_opset_has_the_operators_that_it_knows(backbone, tmp_path):
    model = kb.BertTextClassifier(backbone, num_classes=3)
    path = tmp_path / "model.onnx"
    model.export(path, format="onnx", opset_version=18)
    (opset,) = {
        one.version for one in onnx.load(path).opset_import if not one.domain
    }
    assert opset == 18
    assert counted(path) == {
        "LayerNormalization": 2 * LAYERS + 1,
        "Gelu": 0,
        "Attention": 0,
        "Softmax": LAYERS,
        "Erf": LAYERS,
    }
    assert_runs(model, onnx_runner(path)[1])


@pytest.mark.parametrize("name", TASKS)
def test_litert_of_any_batch_and_length_equals_the_model(
    backbone, tmp_path, name
):
    model = TASKS[name](backbone)
    path = tmp_path / "model.tflite"
    model.export(path, format="litert")
    interpreter = tensorflow().lite.Interpreter(model_path=str(path))
    assert sorted(interpreter.get_signature_list()["ids"]["inputs"]) == sorted(
        model.input
    )
    run = interpreter.get_signature_runner("ids")
    assert_runs(model, lambda x: run(**x))
    # Plain operations only: no part of TensorFlow is needed to run it.
    assert b"Flex" not in path.read_bytes()


if keras.config.backend() == "tensorflow":

    def test_what_onnx_loses(backbone, tmp_path):
        """Documented: onnxruntime's own refusals are all that is left."""
        model = kb.BertTextClassifier(backbone, num_classes=3)
        model.export(tmp_path / "model.onnx", format="onnx")
        _, run = onnx_runner(tmp_path / "model.onnx")
        x, expected = next(id_requests(model))
        with pytest.raises(Exception, match="out of data bounds"):
            run({**x, "token_ids": np.full((1, 1), 30, "int32")})
        last = {**x, "token_ids": np.full((1, 1), 29, "int32")}
        minus = {**x, "token_ids": np.full((1, 1), -1, "int32")}
        np.testing.assert_allclose(run(minus)["logits"], run(last)["logits"])

    def test_other_activations_are_written_as_they_are(tmp_path):
        backbone = kb.BertBackbone(
            vocabulary_size=VOCABULARY_SIZE,
            num_layers=1,
            num_heads=1,
            hidden_dim=8,
            intermediate_dim=16,
            max_sequence_length=LONGEST,
            activation="gelu_approximate",
            initializer_range=0.3,
        )
        backbone.export(tmp_path / "model.onnx", format="onnx")
        assert counted(tmp_path / "model.onnx")["Gelu"] == 0
        assert_runs(backbone, onnx_runner(tmp_path / "model.onnx")[1])


def test_half_precision_and_odd_opsets_are_refused(tmp_path):
    small = {
        "vocabulary_size": 9,
        "num_layers": 1,
        "num_heads": 1,
        "hidden_dim": 4,
        "intermediate_dim": 4,
    }
    half = kb.BertBackbone(**small, dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="`format`.*float32.*bfloat16"):
        half.export(tmp_path / "model.onnx", format="onnx")
    backbone = kb.BertBackbone(**small)
    with pytest.raises(ValueError, match="`opset_version`.*14 to 23"):
        backbone.export(
            tmp_path / "model.onnx", format="onnx", opset_version=99
        )
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named_with_its_extra(
    backbone, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match=r"keras3-bert\[onnx\]"):
        backbone.export(tmp_path / "model.onnx", format="onnx")
    assert not list(tmp_path.iterdir())
