"""The line of the learning rate."""

import keras
import numpy as np
import pytest

from keras_bert.training import WarmupDecay


def values(schedule, steps):
    return [float(schedule(step)) for step in steps]


def test_rate_is_exact_at_zero_peak_end_and_beyond():
    rate = WarmupDecay(1e-4, warmup=10, total_steps=110)
    peak = float(np.float32(1e-4))
    assert values(rate, [0, 10, 110, 111, 10**6]) == [0.0, peak, 0.0, 0.0, 0.0]


def test_line_equals_that_of_transformers():
    import torch
    import transformers

    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=2e-5)
    line = transformers.get_linear_schedule_with_warmup(optimizer, 7, 40)
    expected = []
    for _ in range(45):
        expected.append(line.get_last_lr()[0])
        optimizer.step()
        line.step()
    rate = WarmupDecay(2e-5, warmup=7, total_steps=40)
    np.testing.assert_allclose(values(rate, range(45)), expected, atol=1e-11)


def test_line_of_the_original_decays_from_step_zero():
    # spec E: lr0 * t / W for t < W, lr0 * (1 - min(t, N) / N) for t >= W;
    # "at t = W it drops from lr0 to lr0 * (1 - W / N)".
    rate = WarmupDecay(1e-4, warmup=10, total_steps=1000, original=True)
    expected = [0.0, 0.9e-4, 0.99e-4, 0.5e-4, 0.0, 0.0]
    got = values(rate, [0, 9, 10, 500, 1000, 1200])
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_float_is_a_share_and_int_a_number_of_steps():
    assert WarmupDecay(1.0, 0.29).warmup_steps(100) == 29
    assert WarmupDecay(1.0, 1.0).warmup_steps(100) == 100
    assert WarmupDecay(1.0, 1).warmup_steps(100) == 1
    assert values(WarmupDecay(1.0, 0, total_steps=4), [0, 2]) == [1.0, 0.5]
    assert values(WarmupDecay(1.0, 1.0, total_steps=4), [2, 4]) == [0.5, 0.0]


def test_new_span_starts_at_its_own_step():
    rate = WarmupDecay(1.0, warmup=0.5)
    rate.set_span(100, 4)
    assert values(rate, [99, 100, 101, 102, 103, 104]) == [
        0.0, 0.0, 0.5, 1.0, 0.5, 0.0,
    ]  # fmt: skip


def test_late_steps_keep_their_digits():
    # Above 2**24 a float32 cannot count by one.
    rate = WarmupDecay(1.0, warmup=2)
    rate.set_span(2**25, 4)
    assert values(rate, [2**25 + 1, 2**25 + 3]) == [0.5, 0.5]


def test_config_keeps_what_fit_has_set():
    rate = WarmupDecay(1e-3, warmup=0.2, original=True)
    rate.set_span(5, 20)
    other = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(rate)
    )
    assert isinstance(other, WarmupDecay)
    assert other.total_steps is None
    assert values(other, range(30)) == values(rate, range(30))


@pytest.mark.parametrize("warmup", [-1, -0.1, 1.5])
def test_impossible_warmup_is_refused(warmup):
    with pytest.raises(ValueError, match="`warmup`.*Received: warmup="):
        WarmupDecay(1e-4, warmup=warmup)


def test_warmup_longer_than_the_run_is_refused_when_the_run_is_known():
    rate = WarmupDecay(1e-4, warmup=100)
    with pytest.raises(ValueError, match="`warmup`.*total_steps=50"):
        rate.set_span(0, 50)
    with pytest.raises(ValueError, match="`warmup`"):
        WarmupDecay(1e-4, warmup=100, total_steps=50)


def test_rate_of_an_unknown_run_says_what_to_do():
    with pytest.raises(ValueError, match="Pass `total_steps`.*`fit`"):
        WarmupDecay(1e-4)(0)


@pytest.mark.parametrize("peak", [0.0, -1e-4])
def test_peak_must_be_above_zero(peak):
    with pytest.raises(ValueError, match="`peak`"):
        WarmupDecay(peak)
