"""The contract that every model keeps."""

import json

import keras
import numpy as np
from keras import ops

from keras_bert.testing.reloading import expect
from keras_bert.testing.reloading import record


def check_model(
    build, x, y, sample_weight=None, compile_arguments=None, steps=8
):
    """Assert that a model keeps the contract of this library.

    - Its config survives JSON and gives an equal model.
    - The same outputs eager, compiled (`predict`), for one row alone, and
      after saving and loading; also when it is saved before its first call.
      `keras_bert.testing.check_recorded` repeats this in a new process.
    - The losses of the steps that follow a save are those of the loaded
      model, so weights, optimizer state and schedule were all in the file.
    - Under mixed_bfloat16 and mixed_float16 all weights are float32 and the
      outputs finite.
    - Training on one batch lowers its loss.

    Args:
        build: callable that makes a new model; it passes its keyword
            arguments (`dtype`) on. All dropout rates have to be 0: Keras'
            files leave out the state of dropout.
        x: dict of int arrays, one batch.
        y: array or dict of arrays, the targets of `x`.
        sample_weight: as `y`, or `None`.
        compile_arguments: dict for `compile`; `None` keeps the compilation
            that the model made itself.
        steps: int. Training steps after which the loss must be lower.
    """
    batch = (x, y) if sample_weight is None else (x, y, sample_weight)
    model = build()
    fresh = record(model, x, None)
    expected = _numpy(model(x, training=False))
    expect(fresh, outputs=expected)
    _assert_close(model.predict(x, verbose=0), expected, "compiled")
    loaded = keras.saving.load_model(fresh["path"])
    _assert_close(loaded(x), expected, "saved before its first call")
    _check_config(model, x, expected)
    _check_one_row(model, x, expected)
    for policy in ("mixed_bfloat16", "mixed_float16"):
        _check_policy(build, x, policy)
    _check_training(build(), batch, compile_arguments, steps)


def _numpy(outputs):
    return [ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)]


def _assert_close(outputs, expected, what):
    for output, wanted in zip(_numpy(outputs), expected, strict=True):
        np.testing.assert_allclose(
            output, wanted, rtol=0, atol=1e-5, err_msg=what
        )


def _check_config(model, x, expected):
    config = model.get_config()
    copy = type(model).from_config(json.loads(json.dumps(config)))
    assert copy.get_config() == config
    assert [v.path for v in copy.weights] == [v.path for v in model.weights]
    copy.set_weights(model.get_weights())
    _assert_close(copy(x), expected, "model made from the config")


def _check_one_row(model, x, expected):
    row = {name: values[:1] for name, values in x.items()}
    _assert_close(
        model.predict(row, verbose=0), [e[:1] for e in expected], "one row"
    )


def _check_policy(build, x, policy):
    model = build(dtype=policy)
    outputs = model.predict(x, verbose=0)
    for weight in model.weights:
        assert weight.dtype == "float32", weight.path
    half = policy.removeprefix("mixed_")
    assert model.compute_dtype == half
    for output in keras.tree.flatten(outputs):
        assert np.isfinite(np.asarray(output, "float32")).all()


def _check_training(model, batch, compile_arguments, steps):
    if compile_arguments is not None:
        model.compile(**compile_arguments)

    def step():
        return float(np.ravel(model.train_on_batch(*batch))[0])

    losses = [step() for _ in range(steps)]
    assert np.isfinite(losses).all(), losses
    assert losses[-1] < losses[0], losses
    entry = record(model, batch[0], None, batch=batch)
    expect(entry, outputs=model.predict(batch[0], verbose=0))
    iterations = int(model.optimizer.iterations)
    # The first loss shows the weights, the second the optimizer's state.
    losses = [step(), step(), step()]
    expect(entry, next_losses=losses)
    loaded = keras.saving.load_model(entry["path"])
    assert int(loaded.optimizer.iterations) == iterations
    again = [float(np.ravel(loaded.train_on_batch(*batch))[0]) for _ in losses]
    np.testing.assert_allclose(again, losses, rtol=0, atol=1e-5)
