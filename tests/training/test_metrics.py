"""Metrics against scikit-learn, scipy and hand arithmetic."""

import keras
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from keras import ops

from keras_bert.training import MaskedLMLoss
from keras_bert.training import _cross_entropy as cross_entropy
from keras_bert.training import metrics


def result(metric):
    return float(ops.convert_to_numpy(metric.result()))


def test_masked_accuracy_counts_places_with_a_weight():
    metric = metrics.MaskedAccuracy()
    logits = np.eye(4)[[[0, 1, 2], [3, 0, 0]]]
    labels = np.array([[0, 1, 3], [3, 3, 3]])
    weight = np.array([[1, 1, 1], [1, 0, 0]])
    metric.update_state(labels, logits, weight)
    assert result(metric) == pytest.approx(3 / 4)
    metric.update_state(labels, logits, weight[:, :1] * 0)
    assert result(metric) == pytest.approx(3 / 4)
    metric.reset_state()
    metric.update_state(labels, logits)
    assert result(metric) == pytest.approx(3 / 6)


def test_of_equal_logits_the_first_is_chosen():
    # By hand: the argmax is 1, 0, 2; -1 and 3 are no classes.
    logits = np.array([[0.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    for labels, right in (
        ([1, 0, 2], 3), ([2, 0, 2], 2), ([1, 2, 0], 1), ([-1, 3, 2], 1),
    ):  # fmt: skip
        metric = metrics.MaskedAccuracy()
        metric.update_state(np.array(labels), logits)
        assert result(metric) == pytest.approx(right / 3)


def test_perplexity_takes_what_the_loss_has_computed(monkeypatch):
    logits = ops.convert_to_tensor(np.log([[[0.5, 0.5], [0.125, 0.875]]]))
    labels, others = map(ops.convert_to_tensor, ([[0, 0]], [[0, 1]]))

    def perplexity(labels):
        metric = metrics.Perplexity()
        metric.update_state(labels, logits)
        return result(metric)

    MaskedLMLoss()(labels, logits)
    asked = []
    plain = cross_entropy.cross_entropy
    monkeypatch.setattr(
        cross_entropy,
        "cross_entropy",
        lambda *given: asked.append(1) or plain(*given),
    )
    # Probabilities 1/2 and 1/8; with the other labels 1/2 and 7/8.
    assert perplexity(labels) == pytest.approx(4.0, rel=1e-5)
    # The others compile both into one program.
    assert len(asked) == (0 if keras.config.backend() == "torch" else 1)
    assert perplexity(others) == pytest.approx((16 / 7) ** 0.5, rel=1e-5)
    if keras.config.backend() == "torch":
        logits.zero_()
        assert perplexity(labels) == pytest.approx(2.0, rel=1e-5)


def test_perplexity_is_of_the_mean_over_all_tokens():
    metric = metrics.Perplexity()
    metric.update_state([[0, 0]], np.log([[[0.5, 0.5], [0.5, 0.5]]]))
    metric.update_state(
        [[0, 1]], np.log([[[0.125, 0.875], [0.5, 0.5]]]), [[1.0, 0.0]]
    )
    # Probabilities 1/2, 1/2, 1/8: exp(log(32) / 3)
    assert result(metric) == pytest.approx(32 ** (1 / 3), rel=1e-5)


def test_perplexity_without_tokens_is_not_perfect():
    assert result(metrics.Perplexity()) == 0.0


@pytest.mark.parametrize("classes", [2, 3])
def test_matthews_equals_scikit_learn_over_batches(classes):
    rng = np.random.default_rng(classes)
    labels = rng.integers(0, classes, 90)
    logits = rng.normal(size=(90, classes)) + np.eye(classes)[labels]
    metric = metrics.MatthewsCorrelation(classes)
    for i in range(0, 90, 30):
        metric.update_state(labels[i : i + 30], logits[i : i + 30])
    expected = sklearn.metrics.matthews_corrcoef(labels, logits.argmax(-1))
    assert result(metric) == pytest.approx(expected, abs=1e-6)
    assert abs(expected) > 0.2


def test_matthews_takes_classes_and_weights():
    rng = np.random.default_rng(0)
    labels, guesses = rng.integers(0, 2, (2, 40))
    weight = rng.random(40)
    metric = metrics.MatthewsCorrelation()
    metric.update_state(labels[:, None], guesses[:, None], weight)
    expected = sklearn.metrics.matthews_corrcoef(
        labels, guesses, sample_weight=weight
    )
    assert result(metric) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "labels, guesses", [([0, 1, 1], [1, 1, 1]), ([1, 1, 1], [0, 1, 1])]
)
def test_matthews_is_zero_for_a_constant(labels, guesses):
    metric = metrics.MatthewsCorrelation()
    metric.update_state(labels, guesses)
    assert result(metric) == 0.0
    assert sklearn.metrics.matthews_corrcoef(labels, guesses) == 0.0


def test_matthews_of_nothing_is_zero():
    assert result(metrics.MatthewsCorrelation()) == 0.0


def test_matthews_needs_two_classes():
    with pytest.raises(ValueError, match="`num_classes`"):
        metrics.MatthewsCorrelation(1)


def test_pearson_equals_scipy_over_batches_far_from_zero():
    rng = np.random.default_rng(0)
    # A mean of 1,000 loses all digits where sums of squares are subtracted.
    labels = rng.normal(1000, 1, 60).astype("float32")
    guesses = (labels + rng.normal(0, 1, 60)).astype("float32")
    metric = metrics.PearsonCorrelation()
    for part in (slice(0, 7), slice(7, 40), slice(40, 60)):
        metric.update_state(labels[part], guesses[part][:, None])
    expected = scipy.stats.pearsonr(labels, guesses)[0]
    assert result(metric) == pytest.approx(expected, abs=1e-4)
    assert 0.2 < expected < 0.95


def test_pearson_takes_weights_and_is_zero_for_a_constant():
    metric = metrics.PearsonCorrelation()
    metric.update_state([1, 2, 3, 9], [2, 4, 6, -5], [1, 1, 1, 0])
    assert result(metric) == pytest.approx(1.0, abs=1e-6)
    metric.reset_state()
    metric.update_state([1, 2, 3], [4, 4, 4])
    assert result(metric) == 0.0


@pytest.mark.parametrize(
    "metric",
    [
        metrics.MaskedAccuracy(),
        metrics.Perplexity(name="ppl"),
        metrics.MatthewsCorrelation(3),
        metrics.PearsonCorrelation(),
    ],
)
def test_metrics_are_registered(metric):
    config = keras.saving.serialize_keras_object(metric)
    assert config["registered_name"] == f"keras_bert>{type(metric).__name__}"
    other = keras.saving.deserialize_keras_object(config)
    assert other.get_config() == metric.get_config()


def test_metrics_run_inside_a_compiled_step_and_start_anew():
    """Labels follow the input, so that a fixed model is always right."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.layers[0].set_weights([np.eye(2), np.zeros(2)])
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.SGD(0.0),
        weighted_metrics=[
            metrics.MatthewsCorrelation(),
            metrics.MaskedAccuracy(),
            metrics.Perplexity(),
        ],
    )
    labels = np.array([0, 1, 1, 0, 1])
    x = 100.0 * np.eye(2)[labels]
    for y, sign in ((labels, 1.0), (1 - labels, -1.0)):
        got = model.evaluate(x, y, batch_size=2, verbose=0, return_dict=True)
        assert got["matthews_correlation"] == pytest.approx(sign, abs=1e-6)
        assert got["masked_accuracy"] == pytest.approx((1 + sign) / 2)
    assert got["perplexity"] > 1e6
