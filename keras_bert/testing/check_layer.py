"""The contract that every layer keeps."""

import json

import keras
import numpy as np
from keras import ops

from keras_bert.testing.gradients import gradients
from keras_bert.testing.reloading import record


def check_layer(layer_class, arguments, calls, output_dtype=None):
    """Assert that a layer keeps the contract of this library.

    - Its config survives JSON and gives an equal layer.
    - The same outputs eager, in a compiled functional model whose batch and
      length are open, after saving and loading, and (by
      `keras_bert.testing.check_recorded`) in a new process.
    - Under mixed_bfloat16 and mixed_float16 all weights are float32 and the
      outputs have the compute dtype.
    - Every trainable weight gets a finite gradient that is not all zero.

    Args:
        layer_class: the class.
        arguments: dict for its constructor. Dropout has to be 0 where
            outputs are compared; the contract runs without training.
        calls: list of dicts of numpy arrays, the call arguments, of two or
            more different batch sizes and lengths. The first argument is
            passed by position.
        output_dtype: dtype of the outputs under every policy; `None` is the
            compute dtype.
    """
    layer = layer_class(**arguments)
    eager = [_call(layer, call) for call in calls]
    _check_config(layer, calls[0], eager[0])
    _check_functional(layer, calls, eager)
    for policy in ("mixed_bfloat16", "mixed_float16"):
        _check_policy(layer_class, arguments, calls[0], policy, output_dtype)
    _check_gradients(layer, calls[0])


def _call(layer, call):
    first, *rest = call
    return layer(call[first], **{name: call[name] for name in rest})


def _numpy(outputs):
    return [ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)]


def _assert_close(outputs, expected, what):
    outputs, expected = _numpy(outputs), _numpy(expected)
    assert len(outputs) == len(expected), what
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(
            output, wanted, rtol=0, atol=1e-5, err_msg=what
        )


def _check_config(layer, call, expected):
    config = layer.get_config()
    copy = type(layer).from_config(json.loads(json.dumps(config)))
    assert copy.get_config() == config
    assert copy.name == layer.name
    _call(copy, call)
    for source, target in zip(
        _weights_read(layer), _weights_read(copy), strict=True
    ):
        target.assign(source)
    _assert_close(_call(copy, call), expected, "layer made from the config")


def _weights_read(layer):
    """Weights that the layer computes with, also those of another layer."""
    tied = getattr(layer, "token_embedding", None)
    own = {id(weight) for weight in layer.weights}
    others = tied.weights if tied is not None else []
    return layer.weights + [w for w in others if id(w) not in own]


def _check_functional(layer, calls, eager):
    inputs = {
        name: keras.Input(
            (None,) * (x.ndim - 1 if x.dtype != "float32" else x.ndim - 2)
            + (() if x.dtype != "float32" else x.shape[-1:]),
            dtype=str(x.dtype),
            name=name,
        )
        for name, x in calls[0].items()
    }
    model = keras.Model(inputs, _call(layer, inputs))
    for call, expected in zip(calls, eager, strict=True):
        outputs = model.predict(call, verbose=0)
        _assert_close(outputs, expected, "functional model")
        for output, spec in zip(_numpy(outputs), model.outputs, strict=True):
            wanted = spec.shape
            assert len(wanted) == output.ndim
            assert all(
                w in (None, got)
                for w, got in zip(wanted, output.shape, strict=True)
            )
    entry = record(model, calls[0], model.predict(calls[0], verbose=0))
    loaded = keras.saving.load_model(entry["path"])
    _assert_close(loaded.predict(calls[0], verbose=0), eager[0], "loaded model")


def _check_policy(layer_class, arguments, call, policy, output_dtype):
    layer = layer_class(**{**arguments, "dtype": policy})
    outputs = _call(layer, call)
    for weight in layer.weights:
        assert weight.dtype == "float32", weight.path
    wanted = output_dtype or policy.removeprefix("mixed_")
    for output in keras.tree.flatten(outputs):
        got = keras.backend.standardize_dtype(output.dtype)
        assert got == wanted, f"{policy}: output of {got}"
        assert np.isfinite(_numpy(ops.cast(output, "float32"))).all()


def _check_gradients(layer, call):
    outputs = _numpy(_call(layer, call))
    rng = np.random.default_rng(0)
    # Random weights of the sum: the plain sum over a LayerNorm is constant.
    weights = [rng.normal(size=x.shape).astype("float32") for x in outputs]

    def loss():
        flat = keras.tree.flatten(_call(layer, call))
        return sum(
            ops.sum(ops.multiply(x, w))
            for x, w in zip(flat, weights, strict=True)
        )

    variables = layer.trainable_variables
    assert variables
    for variable, grad in zip(
        variables, gradients(loss, variables)[1], strict=True
    ):
        assert grad is not None, f"no gradient: {variable.path}"
        assert np.isfinite(grad).all(), variable.path
        assert np.any(grad != 0), f"gradient of zeros: {variable.path}"
