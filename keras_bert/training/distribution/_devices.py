"""What the models ask about the devices that `distribute` has set up."""

import numpy as np
from keras import tree

_ACTIVE = []


def current():
    """The `Devices` of the innermost `with distribute(...)`, or None.

    None as well where that `distribute` found a single device.
    """
    return _ACTIVE[-1] if _ACTIVE else None


def activate(devices):
    _ACTIVE.append(devices)


def deactivate():
    _ACTIVE.pop()


class Devices:
    """Several devices, and the process's share of every batch.

    Attributes:
        replicas: int. Copies of the model, each with its rows of a batch.
        process, processes: int. Number of this process, and how many.
        data_part, data_parts: int. The part of a batch's rows that this
            process reads, and how many such parts there are.
        splits_datasets: bool. Whether Keras hands each process its rows of a
            tf.data dataset; if not, `fit` does.
        strategy: the strategy of tf.distribute, or None.
        link: a `Link` to the other processes, or None.
    """

    process = 0
    processes = 1
    data_part = 0
    data_parts = 1
    splits_datasets = True
    strategy = None
    link = None

    def scope(self):
        """A context manager in which models are made and trained."""
        raise NotImplementedError

    def place(self, batch):
        """A whole batch of arrays as `predict_on_batch` of Keras takes it."""
        raise NotImplementedError

    def evaluates_whole_batches(self):
        """A context manager in which no batch is split, or None.

        None where Keras evaluates batches whose rows do not divide evenly.
        """
        return None

    def copied(self, result):
        """What `predict_step` gives, with outputs that every process has."""
        return result

    def everywhere(self, text):
        """The texts that all processes have given, in their order."""
        return [text] if self.link is None else self.link.exchange(text)

    def own_rows(self, batch):
        """The rows of this process out of a batch of arrays."""
        if self.data_parts == 1:
            return batch

        def cut(array):
            size = len(array) // self.data_parts
            return array[self.data_part * size : (self.data_part + 1) * size]

        return map_arrays(cut, batch)


def map_arrays(function, batch):
    """The function of each array; None stays None."""
    return tree.map_structure(
        lambda array: None if array is None else function(np.asarray(array)),
        batch,
        none_is_leaf=True,
    )


def rows_of(batch):
    """Number of rows of the first array."""
    return len(next(a for a in tree.flatten(batch) if a is not None))
