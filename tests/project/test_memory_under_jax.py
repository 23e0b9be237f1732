"""What XLA keeps between the two ways of a training step under JAX."""

import os
import subprocess
import sys

PROGRAM = """
import jax
import jax.numpy as jnp

import keras_bert as kb
from keras_bert import _backend

def kept(layers):
    model = kb.BertBackbone(
        100, layers, 4, 64, 256, max_sequence_length=256
    )
    weights = [v.value for v in model.trainable_variables]
    state = [v.value for v in model.non_trainable_variables]
    def loss(weights, ids):
        y, _ = model.stateless_call(
            weights, state, {"token_ids": ids}, training=True
        )
        return jnp.sum(y["sequence_output"] ** 2)
    step = jax.jit(jax.value_and_grad(loss))
    step = step.lower(weights, jnp.ones((4, 256), "int32")).compile()
    return step.memory_analysis().temp_size_in_bytes

print((kept(4) - kept(2)) / 2)
_backend.recomputed = lambda function: function
_backend._dropped_attention_jax = lambda q, k, v, mask, dropout: jnp.einsum(
    "bnts,bsnd->btnd",
    dropout.call(_backend._softmax(q, k, mask), training=True),
    v,
)
print((kept(4) - kept(2)) / 2)
"""


def test_a_block_keeps_less_than_without_recomputation():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    ours, plain = map(float, done.stdout.split())
    # The softmax and its mask in bfloat16 are 1.5 tensors of the weights; of
    # the wide layer input and output; the rest is as wide as the model.
    weights, wide, hidden = 4 * 4 * 256 * 256 * 4, 4 * 256 * 256 * 4, 2**18
    assert ours < 2 * weights + 4 * wide + 12 * hidden
    assert ours < 0.75 * plain
