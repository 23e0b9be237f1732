"""Two replicas of TensorFlow learn what one device learns.

The strategy needs two devices before TensorFlow starts, so it runs in a
process of its own.
"""

import json
import os
import subprocess
import sys

import keras

SCRIPT = """
import json
import sys

import keras
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
from keras_bert.training import AdamW, MaskedLMLoss, WarmupDecay

rng = np.random.default_rng(0)
x, y = rng.integers(0, 12, (2, 16, 5))
weight = (rng.random((16, 5)) < 0.5).astype("float32")
weight[:8, 1:] = 0.0  # The replicas differ in their number of masked tokens.
weight[0, 0] = 1.0
data = tf.data.Dataset.from_tensor_slices((x, y, weight)).batch(16).repeat(6)


def train(strategy, optimizer, loss):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((5,), dtype="int32"),
                keras.layers.Embedding(12, 8),
                keras.layers.Dense(12),
            ]
        )
        model.compile(optimizer(), loss)
    model.fit(data, verbose=0)
    return np.concatenate([w.ravel() for w in model.get_weights()])


def optimizer():
    # Without the correction small differences are not evened out.
    return AdamW(
        WarmupDecay(0.1, 1, 8), global_clipnorm=0.2, bias_correction=False
    )


control = keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, reduction="mean_with_sample_weight"
)
one = tf.distribute.get_strategy()
two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
expected = train(one, optimizer, MaskedLMLoss())
result = [
    float(np.abs(train(two, optimizer, loss) - expected).max())
    for loss in (MaskedLMLoss(), control)
]
print(json.dumps(result))
"""


def two_replicas_equal_one_device():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ours, control = json.loads(done.stdout.splitlines()[-1])
    assert ours < 1e-5
    # Keras' loss divides by the masked tokens of each replica alone.
    assert control > 1e-3


if keras.config.backend() == "tensorflow":
    test_two_replicas_equal_one_device = two_replicas_equal_one_device
