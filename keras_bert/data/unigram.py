"""What a model reaches that knows only how frequent each token is.

The chance level that stands beside every pretraining figure: a model that
looks at nothing always answers the most frequent token.
"""

from typing import NamedTuple

import numpy as np

from keras_bert._errors import invalid


class Unigram(NamedTuple):
    """Chance level of masked-language-model figures.

    Args:
        accuracy: share of the labels that are the most frequent token.
        entropy: nats; the lowest loss of a model that ignores the context.
        num_labels: the number of labels counted.
    """

    accuracy: float
    entropy: float
    num_labels: int


def unigram_level(labels, weights=None):
    """The chance level for these masked labels.

    Both figures are measured on the labels themselves, so a model has to beat
    the best possible answer without context, not an estimate of it.

    Args:
        labels: integer array of true token ids, any shape.
        weights: array of the same shape; labels of weight 0 do not count.

    Example:

    ```python
    x, y, weight = next(iter(dataset))
    level = unigram_level(y["mask_ids"], weight["mask_ids"])
    print(level.accuracy, level.entropy)
    ```
    """
    labels = np.asarray(labels).reshape(-1)
    if weights is not None:
        labels = labels[np.asarray(weights).reshape(-1) > 0]
    if not len(labels):
        raise invalid("labels", "at least one label of positive weight", labels)
    _, counts = np.unique(labels, return_counts=True)
    share = counts / counts.sum()
    return Unigram(
        accuracy=float(share.max()),
        entropy=float(-(share * np.log(share)).sum()),
        num_labels=len(labels),
    )


def dataset_level(dataset):
    """The chance level for all masked labels of a `pretraining_dataset`.

    Takes one iteration, which counts as an epoch: the number of the next one
    is put back.
    """
    cell = dataset.keras_bert_epoch
    epoch = cell.value
    labels, weights = [], []
    for _, y, weight in dataset:
        if isinstance(y, dict):
            y, weight = y["mask_ids"], weight["mask_ids"]
        labels.append(np.asarray(y))
        weights.append(np.asarray(weight))
    cell.value = epoch
    return unigram_level(np.concatenate(labels), np.concatenate(weights))
