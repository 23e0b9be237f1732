"""The recipes of the paper as plain values, and the steps of a run.

Fine-tuning: peak 2e-5, 3 epochs, batch 32. Pretraining: peak 1e-4. Both:
warm-up over 10% of the steps, linear decay to zero, decay 0.01 except on
biases and LayerNorm, epsilon 1e-6, global clip at 1.0. Bias correction is on,
which the 2018 code lacks: without it about half of the runs of BERT-large on
small data sets fail (Zhang et al., 2021).
"""

import math
import numbers

from keras_bert._errors import invalid
from keras_bert.training.adamw import AdamW
from keras_bert.training.warmup_decay import WarmupDecay

RECIPES = {
    "fine_tuning": {"peak": 2e-5, "warmup": 0.1},
    "pretraining": {"peak": 1e-4, "warmup": 0.1},
}


def recipe_optimizer(kind, learning_rate=None, **adamw_arguments):
    """The optimizer of a recipe.

    Args:
        kind: "fine_tuning" or "pretraining".
        learning_rate: None for the peak of the recipe, a number for another
            peak, a schedule to replace the recipe's.
        **adamw_arguments: Handed to `AdamW`.
    """
    if kind not in RECIPES:
        raise invalid("kind", f"one of {sorted(RECIPES)}", kind)
    recipe = RECIPES[kind]
    if learning_rate is None:
        learning_rate = recipe["peak"]
    if not callable(learning_rate):
        is_number = isinstance(learning_rate, numbers.Real)
        if not is_number or not 0 < learning_rate < math.inf:
            raise invalid(
                "learning_rate",
                "a number above 0, or a schedule",
                learning_rate,
            )
        learning_rate = WarmupDecay(learning_rate, recipe["warmup"])
    return AdamW(learning_rate, **adamw_arguments)


def steps_per_epoch_of(
    x, batch_size=None, steps_per_epoch=None, validation_split=0.0
):
    """The number of batches that one epoch of `fit` takes from `x`.

    Args:
        x: What `fit` gets: arrays or lists of examples, a pair (tuple) or
            dict of them, a tf.data dataset, a PyDataset or a DataLoader.
        batch_size: Int or None (32). Only for arrays.
        steps_per_epoch: Int or None. Given, it is the answer.
        validation_split: Float. The share of arrays that `fit` sets aside.

    Raises:
        ValueError: If the number is infinite or cannot be known.
    """
    if steps_per_epoch is not None:
        if steps_per_epoch < 1:
            raise invalid("steps_per_epoch", "at least 1", steps_per_epoch)
        return int(steps_per_epoch)
    batches = _number_of_batches(x)
    if batches is None:
        examples = _number_of_examples(x)
        if examples is not None:
            examples = math.floor(examples * (1.0 - validation_split))
            batches = math.ceil(examples / (batch_size or 32))
    if batches is None:
        raise invalid(
            "steps_per_epoch",
            "a number of steps, since the data does not tell its length and "
            "the learning rate has to reach zero at the end",
            steps_per_epoch,
        )
    return int(batches)


def _number_of_batches(x):
    """Batches of a dataset object; None for arrays and unknown lengths."""
    if hasattr(x, "cardinality"):  # tf.data; -1 is infinite, -2 unknown.
        batches = int(x.cardinality())
        return batches if batches >= 0 else None
    if hasattr(x, "num_batches"):  # PyDataset; None is infinite.
        return x.num_batches
    if hasattr(x, "batch_sampler"):  # DataLoader
        try:
            return len(x)
        except TypeError:  # Its dataset is an iterable one.
            return None
    return None


def _number_of_examples(x):
    """The length of the first array found in tuples, dicts and arrays."""
    if hasattr(x, "cardinality") or hasattr(x, "num_batches"):
        return None
    if hasattr(x, "batch_sampler"):
        return None
    if isinstance(x, dict):
        x = tuple(x.values())
    if isinstance(x, tuple):
        return _number_of_examples(x[0]) if x else None
    shape = getattr(x, "shape", None)
    if shape is not None and len(shape) > 0 and shape[0] is not None:
        return int(shape[0])
    return len(x) if hasattr(x, "__len__") else None
