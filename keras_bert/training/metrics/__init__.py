"""Metrics of pretraining and fine-tuning."""

from keras_bert.training.metrics.masked_accuracy import MaskedAccuracy
from keras_bert.training.metrics.matthews_correlation import MatthewsCorrelation
from keras_bert.training.metrics.pearson_correlation import PearsonCorrelation
from keras_bert.training.metrics.perplexity import Perplexity

__all__ = [
    "MaskedAccuracy",
    "MatthewsCorrelation",
    "PearsonCorrelation",
    "Perplexity",
]
