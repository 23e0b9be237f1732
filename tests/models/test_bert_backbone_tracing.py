"""The backbone under each backend's tracer, with open batch and length."""

import os
import subprocess
import sys

import keras
import numpy as np
from keras import ops

import keras_bert


def traced(model):
    """`model` traced once for every batch size and length."""
    backend = keras.config.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        open_shape = tf.TensorSpec((None, None), tf.int32)
        names = ("token_ids", "segment_ids", "padding_mask")
        return tf.function(
            lambda x: model(x, training=False)["sequence_output"],
            input_signature=[dict.fromkeys(names, open_shape)],
            jit_compile=True,
        )
    if backend == "torch":
        import torch

        # The tracer alone, without its code generator; a graph break, for
        # instance at a Python branch on values, is an error.
        compiled = torch.compile(
            lambda x: model(x, training=False)["sequence_output"],
            backend="eager",
            fullgraph=True,
            dynamic=True,
        )
        return lambda x: compiled({k: torch.tensor(v) for k, v in x.items()})
    import jax
    from jax import export

    values = [v.value for v in model.variables]

    def stateless(values, x):
        mapping = list(zip(model.variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return model(x, training=False)["sequence_output"]

    shape = export.symbolic_shape("batch, length")
    spec = jax.ShapeDtypeStruct(shape, "int32")
    names = ("token_ids", "segment_ids", "padding_mask")
    exported = export.export(jax.jit(stateless))(
        values, dict.fromkeys(names, spec)
    )
    return lambda x: exported.call(values, x)


def test_one_trace_serves_every_shape():
    model = keras_bert.BertBackbone(
        20, 1, 2, 8, 16, max_sequence_length=12, initializer_range=0.2
    )
    call = traced(model)
    for rows, length in ((1, 5), (3, 12), (2, 2)):
        ids = np.arange(rows * length).reshape(rows, length) % 20
        x = {
            "token_ids": ids.astype("int32"),
            "segment_ids": (ids % 2).astype("int32"),
            "padding_mask": np.where(ids % 7 == 6, 0, 1).astype("int32"),
        }
        np.testing.assert_allclose(
            ops.convert_to_numpy(call(x)),
            ops.convert_to_numpy(model(x)["sequence_output"]),
            rtol=0,
            atol=1e-5,
        )


REPLICAS = """
import keras
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
from keras_bert.layers import _parts

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    ours, theirs = _parts.Dropout(0.5), keras.layers.Dropout(0.5)

@tf.function
def run(layer):
    x = tf.ones((8, 8))
    return strategy.run(lambda: layer(x, training=True))

for layer in (ours, theirs):
    first, second = strategy.experimental_local_results(run(layer))
    print("equal" if np.array_equal(first, second) else "different")
"""


def test_replicas_drop_different_units():
    """Keras' own layer drops the same ones on each: the negative control."""
    done = subprocess.run(
        [sys.executable, "-c", REPLICAS],
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["different", "equal"]
