"""What `export` refuses, and that it leaves nothing half-written."""

import keras
import numpy as np
import pytest

from keras_bert._tensorflow import tensorflow
from keras_bert.export import by_tensorflow
from keras_bert.export import text_pair_signature
from keras_bert.export.classification import classification_outputs
from keras_bert.models import BertPretrainer


def test_a_folder_with_files_is_refused_and_kept(fresh, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("keep")
    with pytest.raises(ValueError, match="`filepath`.*empty folder"):
        fresh.export(tmp_path / "model")
    assert (tmp_path / "model" / "mine.txt").read_text() == "keep"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_file_is_refused_and_kept(fresh, tmp_path):
    (tmp_path / "model").write_text("keep")
    with pytest.raises(ValueError, match="`filepath`.*not a file"):
        fresh.export(tmp_path / "model", format="saved_model")
    assert (tmp_path / "model").read_text() == "keep"


def test_an_unknown_format_is_refused_with_the_known_ones(fresh, tmp_path):
    with pytest.raises(ValueError, match="`format`.*onnx.*format='tflite'"):
        fresh.export(tmp_path / "model", format="tflite")


def test_a_wrong_signature_is_refused(fresh, tmp_path):
    spec = keras.InputSpec(shape=(None, 8), dtype="int32")
    for signature in ([spec], {"input_ids": spec}, {"token_ids": spec, "x": 1}):
        with pytest.raises(ValueError, match="`input_signature`"):
            fresh.export(tmp_path / "model", input_signature=signature)


def test_an_unknown_argument_is_refused(fresh, tmp_path):
    with pytest.raises(TypeError, match="opset_version"):
        fresh.export(tmp_path / "model", opset_version=17)


def test_a_failed_export_leaves_nothing_and_says_why(
    fresh, tmp_path, monkeypatch
):
    if keras.config.backend() == "tensorflow":

        def fail(*arguments):
            raise RuntimeError("the disk is full")

        monkeypatch.setitem(by_tensorflow.WRITERS, "tf_saved_model", fail)
    else:
        script = "raise SystemExit('the disk is full')"
        monkeypatch.setattr(by_tensorflow, "_CHILD", script)
    with pytest.raises(RuntimeError, match="the disk is full"):
        fresh.export(tmp_path / "new" / "model")
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("format", ["openvino", "torch"])
def test_other_formats_reach_keras_with_our_signature(
    fresh, tmp_path, monkeypatch, format
):
    seen = []
    monkeypatch.setattr(
        keras.Model, "export", lambda self, *args, **kw: seen.append((args, kw))
    )
    fresh.export(tmp_path / "model.bin", format=format, opset_version=17)
    ((path, word, verbose, (signature,)), kwargs) = seen[0]
    assert (path, word, verbose) == (tmp_path / "model.bin", format, None)
    assert kwargs == {"opset_version": 17}
    assert {name: (s.shape, s.dtype) for name, s in signature.items()} == {
        name: ((None, None), "int32")
        for name in ("token_ids", "segment_ids", "padding_mask")
    }


def test_the_label_is_the_class_id_where_there_are_no_names():
    logits = np.array([[0.0, np.log(3.0)], [5.0, 5.0 - np.log(3.0)]], "float32")
    linear = keras.activations.linear
    outputs = classification_outputs(logits, linear)
    assert outputs["label"].numpy().tolist() == [b"1", b"0"]
    # By hand: odds of 3 to 1.
    np.testing.assert_allclose(
        outputs["probabilities"], [[0.25, 0.75], [0.75, 0.25]], atol=1e-6
    )
    outputs = classification_outputs(logits, linear, ["nein", "ja"])
    assert outputs["label"].numpy().tolist() == [b"ja", b"nein"]


def test_probabilities_are_the_activation_where_there_is_one():
    logits = np.array([[0.0, 1.0]], "float32")
    outputs = classification_outputs(logits, lambda x: x * 2)
    assert outputs["probabilities"].tolist() == [[0.0, 2.0]]
    assert outputs["logits"].tolist() == [[0.0, 1.0]]


def test_one_pair_serves_all_rows():
    def preprocessor(x):
        first, second = (tensorflow().strings.length(part) for part in x)
        return {"token_ids": first * 100 + second}

    serve = text_pair_signature(preprocessor, lambda rows: rows).function

    def ids(*arguments):
        return serve(*arguments)["token_ids"].numpy().tolist()

    assert ids(["a", "bb", "ccc"], ["", "12", ""]) == [100, 202, 300]
    assert ids(["a", "bb"], ["12"]) == [102, 202]
    assert ids(["a", "bb"], [""]) == [100, 200]
    assert ids(["a", "bb"]) == [100, 200]


# TensorFlow writes the graph under every backend (in a child process under
# the others), so these forms of the model are looked at once, here.
if keras.config.backend() == "tensorflow":

    @pytest.mark.parametrize(
        "arguments, names",
        [
            (
                {"labels": None, "num_classes": 2, "activation": "softmax"},
                {"logits", "probabilities", "label"},
            ),
            ({"labels": None, "num_classes": 1}, {"logits"}),
        ],
    )
    def test_forms_of_the_classifier(make_classifier, arguments, names):
        model = make_classifier(**arguments)
        texts = ["the fox ran", "a cat"]
        outputs = model._serving_signature().function(texts)
        assert set(outputs) == names
        key = "logits" if names == {"logits"} else "probabilities"
        expected = model.predict(texts, verbose=0)
        np.testing.assert_allclose(outputs[key], expected, atol=1e-5)
        assert model._output_name == key

    def test_a_fixed_signature_and_a_model_without_preprocessor(
        make_classifier, tmp_path
    ):
        tf = tensorflow()
        model = make_classifier(preprocessor=None)
        spec = keras.InputSpec(shape=(2, 8), dtype="int32")
        path = tmp_path / "model"
        path.mkdir()  # an empty folder is taken
        model.export(path, input_signature={"token_ids": spec})
        loaded = tf.saved_model.load(path)
        assert set(loaded.signatures) == {"ids", "serving_default"}
        rows = np.arange(16, dtype="int32").reshape(2, 8)
        expected = model.predict({"token_ids": rows}, verbose=0)
        for name in loaded.signatures:
            (given,) = loaded.signatures[name].structured_input_signature[1]
            assert given == "token_ids"
            outputs = loaded.signatures[name](token_ids=tf.constant(rows))
            np.testing.assert_allclose(outputs["logits"], expected, atol=1e-5)

    def test_a_backbone_gives_the_names_of_its_outputs(fresh, tmp_path):
        tf = tensorflow()
        fresh.backbone.export(tmp_path / "backbone")
        loaded = tf.saved_model.load(tmp_path / "backbone")
        rows = tf.constant([[2, 7, 3]])
        outputs = loaded.signatures["ids"](
            token_ids=rows,
            segment_ids=tf.zeros_like(rows),
            padding_mask=tf.ones_like(rows),
        )
        expected = fresh.backbone({"token_ids": rows})
        assert set(outputs) == {"sequence_output", "pooled_output"}
        for name, value in outputs.items():
            np.testing.assert_allclose(value, expected[name], atol=1e-5)

    def test_a_pretrainer_takes_mask_positions_and_checks_them(fresh, tmp_path):
        tf = tensorflow()
        model = BertPretrainer(fresh.backbone)
        model.export(tmp_path / "pretrainer")
        ids = tf.saved_model.load(tmp_path / "pretrainer").signatures["ids"]
        rows = tf.constant([[2, 7, 3]])
        inputs = {
            "token_ids": rows,
            "segment_ids": tf.zeros_like(rows),
            "padding_mask": tf.ones_like(rows),
            "mask_positions": tf.constant([[1, 2]]),
        }
        outputs, expected = ids(**inputs), model(inputs)
        assert set(outputs) == {"mask_ids", "next_sentence"}
        for name, value in outputs.items():
            np.testing.assert_allclose(value, expected[name], atol=1e-5)
        inputs["mask_positions"] = tf.constant([[1, 3]])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            ids(**inputs)
        assert "mask_positions" in str(caught.value)
        assert "row length" in str(caught.value)
