"""The recipes of fine-tuning as plain values."""

import dataclasses
import itertools
import math


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a task model is fine-tuned.

    Attributes:
        learning_rate: peak of the schedule.
        batch_size: rows per update.
        epochs: passes over the data.
        min_steps: not fewer updates than this, by more epochs.
        bias_correction: of Adam; False is the 2018 code.
        original_schedule: decay from step 0 on, as in the 2018 code.
        warmup: share of the steps in which the rate rises.
    """

    learning_rate: float = 2e-5
    batch_size: int = 32
    epochs: int = 3
    min_steps: int = 0
    bias_correction: bool = True
    original_schedule: bool = False
    warmup: float = 0.1

    def epochs_for(self, examples):
        """Passes over `examples` rows, and updates in each of them."""
        steps = math.ceil(examples / self.batch_size)
        return max(self.epochs, math.ceil(self.min_steps / steps)), steps


# default: the paper's, with bias correction and, since small data sets need
# the steps, at least 1,000 of them. stable: Mosbach et al. (2021). 2018: the
# flags and the optimizer of run_classifier.py.
FINE_TUNING = {
    "default": Recipe(min_steps=1000),
    "stable": Recipe(batch_size=16, epochs=20),
    "2018": Recipe(
        learning_rate=5e-5, bias_correction=False, original_schedule=True
    ),
}


def paper_grid(recipe):
    """The 18 recipes of the paper's appendix A.3, for one base recipe."""
    return [
        dataclasses.replace(
            recipe,
            batch_size=batch_size,
            learning_rate=rate,
            epochs=epochs,
            min_steps=0,
        )
        for batch_size, rate, epochs in itertools.product(
            (16, 32), (5e-5, 3e-5, 2e-5), (2, 3, 4)
        )
    ]
