"""Training on several devices and hosts."""

from keras_bert.training.distribution.distribute import distribute
from keras_bert.training.distribution.multi_worker import MultiWorker

__all__ = ["MultiWorker", "distribute"]
