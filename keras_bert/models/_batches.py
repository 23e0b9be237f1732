"""Applies a function to each batch of a PyDataset or a generator."""

import keras


class MappedPyDataset(keras.utils.PyDataset):
    """A PyDataset whose batches pass through `function`."""

    def __init__(self, source, function):
        super().__init__(
            workers=source.workers,
            use_multiprocessing=False,
            max_queue_size=source.max_queue_size,
        )
        self.source = source
        self.function = function

    def __len__(self):
        return len(self.source)

    @property
    def num_batches(self):
        return self.source.num_batches

    def __getitem__(self, index):
        return _mapped(self.source[index], self.function)

    def on_epoch_begin(self):
        self.source.on_epoch_begin()

    def on_epoch_end(self):
        self.source.on_epoch_end()


def mapped_generator(source, function):
    """A generator whose batches pass through `function`."""
    for batch in source:
        yield _mapped(batch, function)


def _mapped(batch, function):
    batch = batch if isinstance(batch, tuple) else (batch,)
    batch = function(*batch)
    while len(batch) > 1 and batch[-1] is None:
        batch = batch[:-1]
    return batch
