"""The optimizer against the original's formula, torch and Keras."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.training import AdamW
from keras_bert.training import WarmupDecay


def variable(value, name="kernel"):
    return keras.Variable(np.asarray(value, "float32"), name=name)


def tensor(value):
    return ops.convert_to_tensor(np.asarray(value, "float32"))


def apply(optimizer, gradients, variables):
    optimizer.apply([tensor(g) for g in gradients], variables)


def numpy(x):
    return np.array(ops.convert_to_numpy(x))


SHAPES = {"kernel": (3, 4), "bias": (4,), "gamma": (4,), "embeddings": (5, 3)}


def draw(scale, seed):
    rng = np.random.default_rng(seed)
    return {k: rng.normal(0, scale, s) for k, s in SHAPES.items()}


def test_unit_test_of_the_original_optimizer():
    # google-research/bert, optimization_test.py (spec E): 100 steps of rate
    # 0.2 on the mean squared error come within 1e-2 of the target.
    w = variable([0.1, -0.2, -0.1])
    target = np.array([0.4, 0.2, -0.5])
    optimizer = AdamW(0.2, weight_decay=None, bias_correction=False)
    for _ in range(100):
        apply(optimizer, [2 / 3 * (numpy(w) - target)], [w])
    np.testing.assert_allclose(numpy(w), target, atol=1e-2)


def test_original_update_by_hand_over_six_steps():
    # spec E: clip over all gradients, m / (sqrt(v) + 1e-6), decay added to
    # the update except for names with "bias" or of LayerNorm, rate of step t
    # counted from 0.
    start = draw(1.0, 0)
    w = {k: v.copy() for k, v in start.items()}
    m = {k: np.zeros_like(v) for k, v in w.items()}
    v = {k: np.zeros_like(x) for k, x in w.items()}
    line = [0.0, 0.05, 0.08, 0.07, 0.06, 0.05]
    for t, rate in enumerate(line):
        g = draw(3.0, t + 1)
        norm = np.sqrt(sum((x**2).sum() for x in g.values()))
        assert norm > 1.0
        for k in w:
            clipped = g[k] * min(1.0, 1.0 / norm)
            m[k] = 0.9 * m[k] + 0.1 * clipped
            v[k] = 0.999 * v[k] + 0.001 * clipped**2
            u = m[k] / (np.sqrt(v[k]) + 1e-6)
            if k in ("kernel", "embeddings"):
                u = u + 0.01 * w[k]
            w[k] = w[k] - rate * u

    optimizer = AdamW(
        WarmupDecay(0.1, warmup=2, total_steps=10, original=True),
        bias_correction=False,
    )
    ours = {k: variable(x, k) for k, x in start.items()}
    for t in range(len(line)):
        apply(optimizer, draw(3.0, t + 1).values(), list(ours.values()))
    for k in w:
        np.testing.assert_allclose(numpy(ours[k]), w[k], rtol=1e-5, atol=1e-6)
        assert np.abs(w[k] - start[k]).max() > 0.1


def test_first_step_of_a_warm_up_changes_nothing():
    w = variable([1.0, 2.0])
    optimizer = AdamW(WarmupDecay(1.0, warmup=2, total_steps=4))
    apply(optimizer, [[0.5, 0.0]], [w])
    assert numpy(w).tolist() == [1.0, 2.0]
    apply(optimizer, [[0.5, 0.0]], [w])
    assert numpy(w)[0] < 0.6


def test_size_of_the_update_without_and_with_correction():
    # spec E: (1 - 0.9^t) / sqrt(1 - 0.999^t).
    table = {1: 3.162, 2: 4.25, 5: 5.80, 10: 6.53, 20: 6.24, 50: 4.50}
    pair = []
    for correction in (False, True):
        w = variable([0.0])
        optimizer = AdamW(
            1.0, weight_decay=None, bias_correction=correction, epsilon=0.0
        )
        at = [0.0]
        for _ in range(50):
            apply(optimizer, [[0.1]], [w])
            at.append(float(numpy(w)[0]))
        pair.append(np.diff(at))
    ratio = pair[0] / pair[1]
    for t, expected in table.items():
        assert ratio[t - 1] == pytest.approx(expected, rel=2e-3), t


def test_corrected_update_equals_torch():
    import torch

    start = draw(1.0, 0)
    parameters = {
        k: torch.nn.Parameter(torch.tensor(x, dtype=torch.float32))
        for k, x in start.items()
    }
    decayed = [parameters["kernel"], parameters["embeddings"]]
    others = [parameters["bias"], parameters["gamma"]]
    # A large epsilon shows on which side of the root it stands.
    theirs = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": 0.1},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=0.02,
        eps=0.3,
    )
    optimizer = AdamW(0.02, weight_decay=0.1, epsilon=0.3)
    ours = {k: variable(x, k) for k, x in start.items()}
    for t in range(5):
        gradients = draw(2.0, t + 1)
        for k, p in parameters.items():
            p.grad = torch.tensor(gradients[k], dtype=torch.float32)
        torch.nn.utils.clip_grad_norm_(list(parameters.values()), 1.0)
        theirs.step()
        apply(optimizer, gradients.values(), list(ours.values()))
    for k, p in parameters.items():
        np.testing.assert_allclose(
            numpy(ours[k]), p.detach().cpu().numpy(), rtol=2e-5, atol=1e-6
        )


def test_corrected_update_equals_keras_where_epsilon_does_not_matter():
    start = draw(1.0, 0)
    theirs = keras.optimizers.AdamW(
        0.02, weight_decay=0.1, epsilon=1e-12, global_clipnorm=1.0
    )
    theirs.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    results = []
    for optimizer in (theirs, AdamW(0.02, weight_decay=0.1, epsilon=1e-12)):
        variables = [variable(x, k) for k, x in start.items()]
        for t in range(5):
            apply(optimizer, draw(2.0, t + 1).values(), variables)
        results.append([numpy(v) for v in variables])
    for a, b in zip(*results, strict=True):
        # Keras computes 1 - 0.999^t in float32, which loses digits.
        np.testing.assert_allclose(a, b, atol=2e-5)


def test_excluded_variables_of_real_layers():
    """Names decide, not the layers they stand in."""
    layers = [
        keras.layers.Dense(3, name="unbiased_gamma"),
        keras.layers.LayerNormalization(name="layer_norm"),
        keras.layers.EinsumDense(
            "bld,dhe->blhe", (None, 2, 2), bias_axes="he", name="query"
        ),
    ]
    variables = []
    for layer in layers:
        layer.build((None, None, 3))
        variables += layer.trainable_variables
    table = keras.layers.Embedding(4, 3)
    table.build((None, None))
    variables += table.trainable_variables
    optimizer = AdamW(0.5, weight_decay=0.1)
    before = [numpy(v) + 1.0 for v in variables]
    for v, x in zip(variables, before, strict=True):
        v.assign(x)
    apply(optimizer, [np.zeros(v.shape) for v in variables], variables)
    moved = {
        v.path
        for v, x in zip(variables, before, strict=True)
        if not np.array_equal(numpy(v), x)
    }
    assert moved == {
        "unbiased_gamma/kernel",
        "query/kernel",
        f"{table.name}/embeddings",
    }
    for v, x in zip(variables, before, strict=True):
        share = 0.95 if v.path in moved else 1.0
        np.testing.assert_allclose(numpy(v), share * x, rtol=1e-6)


def test_exclusions_are_in_the_config():
    optimizer = AdamW(1e-3, no_decay=("bias",))
    assert optimizer.get_config()["no_decay"] == ["bias"]
    other = AdamW.from_config(optimizer.get_config())
    assert other.decays(variable([1.0], "gamma"))
    assert not other.decays(variable([1.0], "output_bias"))


def test_exclusions_in_the_way_of_keras_are_added():
    special = variable([1.0], "kernel")
    optimizer = AdamW(1e-3)
    optimizer.exclude_from_weight_decay([special], ["embeddings"])
    names = ("kernel", "embeddings", "bias")
    decayed = [optimizer.decays(variable([1.0], n)) for n in names]
    assert decayed == [True, False, False]
    assert not optimizer.decays(special)


def test_registered_name_and_config_round_trip():
    optimizer = AdamW(
        WarmupDecay(1e-4, warmup=3, total_steps=9),
        weight_decay=0.02,
        beta_1=0.8,
        beta_2=0.99,
        epsilon=1e-5,
        bias_correction=False,
        clipnorm=2.0,
        use_ema=True,
        gradient_accumulation_steps=2,
        name="mine",
    )
    config = keras.saving.serialize_keras_object(optimizer)
    assert config["registered_name"] == "keras_bert>AdamW"
    other = keras.saving.deserialize_keras_object(config)
    assert other.get_config() == optimizer.get_config()
    assert other.clipnorm == 2.0 and other.global_clipnorm is None


def test_clip_is_over_all_gradients_by_default():
    a, b = variable([0.0]), variable([0.0])
    optimizer = AdamW(1e-3, weight_decay=None)
    apply(optimizer, [[3.0], [4.0]], [a, b])
    # Norm 5, so the gradients become 0.6 and 0.8; m is a tenth of them.
    got = [float(numpy(m)[0]) for m in optimizer.momentums]
    assert got == pytest.approx([0.06, 0.08], rel=1e-5)


def test_clip_counts_a_repeated_token_once():
    """TensorFlow gives embeddings a slice for each place of a token."""
    table = keras.layers.Embedding(3, 2)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), table])
    model.compile(
        AdamW(1e-3, weight_decay=None),
        loss=lambda y_true, y_pred: ops.sum(y_pred, axis=(1, 2)),
    )
    model.train_on_batch(np.ones((1, 4), "int32"), np.zeros((1, 4, 2)))
    m = numpy(model.optimizer.momentums[0])
    # The whole gradient has the norm 1 after the clip.
    assert np.linalg.norm(m) == pytest.approx(0.1, rel=1e-5)


def test_accumulated_batches_make_one_update_at_the_rate_of_updates():
    single, double = variable([0.5, 1.0]), variable([0.5, 1.0])
    # The state of a schedule belongs to one optimizer.
    one = AdamW(WarmupDecay(0.1, warmup=2, total_steps=6))
    two = AdamW(
        WarmupDecay(0.1, warmup=2, total_steps=6),
        gradient_accumulation_steps=2,
    )
    rng = np.random.default_rng(0)
    for _ in range(5):
        parts = rng.normal(size=(2, 2))
        apply(one, [parts.mean(axis=0)], [single])
        for part in parts:
            apply(two, [part], [double])
    np.testing.assert_allclose(numpy(single), numpy(double), rtol=1e-6)
    assert int(two.iterations) == 5


def test_half_precision_gradients_reach_float32_moments():
    w = variable([0.0, 0.0])
    optimizer = AdamW(1e-2, weight_decay=None)
    gradient = ops.cast(tensor([1e-3, -1e-3]), "bfloat16")
    optimizer.build([w])
    optimizer.update_step(gradient, w, tensor(1e-2))
    assert optimizer.velocities[0].dtype == "float32"
    np.testing.assert_allclose(numpy(w), [-0.01, 0.01], rtol=5e-3)
