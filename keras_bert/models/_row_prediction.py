"""Predictions for rows of different lengths, in batches of similar length.

Rows are sorted by length, so a batch is padded to little more than it needs,
and widths and batch sizes are few: a compiled step is traced for at most
seven widths (`_texts.BUCKETS`) and the powers of two up to the batch size.
"""

import contextlib

import keras
import numpy as np

from keras_bert.models import _texts

# Texts that are tokenized and sorted at a time: memory stays bounded.
_CHUNK = 4096


def predict_rows(model, rows, batch_size=32, verbose=0, callbacks=None):
    """Yields the outputs of all rows, batch by batch, longest rows first.

    Args:
        model: a task model; its `predict_on_batch` is called.
        rows: has `lengths`, int `[rows]`, and `batch(numbers, width)`, the
            dict of padded arrays (see `SegmentRows`).
        batch_size, verbose, callbacks: as in Keras' `predict`.

    Yields `(numbers, outputs)`: the numbers of the rows in the batch and the
    arrays that the model gives for them.
    """
    batch_size = batch_size or 32
    steps = -(-len(rows.lengths) // batch_size)
    with _begun(model, callbacks, verbose, steps) as begun:
        yield from _batches(model, rows, batch_size, begun)


@contextlib.contextmanager
def _begun(model, callbacks, verbose, steps):
    """The callbacks of one `predict` of so many batches."""
    if not isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks = keras.callbacks.CallbackList(
            callbacks,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=1,
            steps=steps,
            model=model,
        )
    callbacks.on_predict_begin()
    yield callbacks
    callbacks.on_predict_end()


def _batches(model, rows, batch_size, callbacks, done=0):
    """As `predict_rows`; `done`: batches before these."""
    order = np.argsort(-rows.lengths, kind="stable")
    batches = [
        order[start : start + batch_size]
        for start in range(0, len(order), batch_size)
    ]
    for step, numbers in enumerate(batches, done):
        callbacks.on_predict_batch_begin(step)
        outputs = model.predict_on_batch(
            rows.batch(
                _filled(numbers, batch_size),
                row_width(rows.lengths[numbers], model.preprocessor),
            )
        )
        count = len(numbers)
        outputs = keras.tree.map_structure(
            lambda array, count=count: np.asarray(array)[:count], outputs
        )
        callbacks.on_predict_batch_end(step, {"outputs": outputs})
        yield numbers, outputs


def predict_texts(
    model, x, batch_size=32, verbose=0, steps=None, callbacks=None
):
    """Yields (number, number of tokens, output) of each text.

    Args:
        model: a task model that reads one row per text, or a fixed number of
            rows (multiple choice).
        x: raw inputs, a list or a tuple of lists.
        batch_size, verbose, steps, callbacks: as in Keras' `predict`.

    Yields per text its number, its number of tokens (of the longest of its
    rows) and the array that the model gives for it; not in order.
    """
    batch_size = batch_size or 32
    arrays = model._text_arrays(x)
    if steps is not None:
        arrays = tuple(array[: steps * batch_size] for array in arrays)
    count = len(arrays[0])
    chunks = [
        (start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK)
    ]
    sizes = [-(-(stop - start) // batch_size) for start, stop in chunks]
    with _begun(model, callbacks, verbose, sum(sizes)) as begun:
        done = 0
        for (start, stop), size in zip(chunks, sizes, strict=True):
            part = tuple(array[start:stop] for array in arrays)
            rows = _PaddedRows(
                model.preprocessor.rows(part[0] if len(part) == 1 else part)
            )
            found = _batches(model, rows, batch_size, begun, done)
            for numbers, outputs in found:
                lengths = rows.lengths[numbers]
                yield from zip(start + numbers, lengths, outputs, strict=True)
            done += size


class _PaddedRows:
    """Rows that are padded already, for `predict_rows`."""

    def __init__(self, rows):
        self.rows = {key: np.asarray(value) for key, value in rows.items()}
        lengths = np.count_nonzero(self.rows["padding_mask"], axis=-1)
        self.lengths = lengths.reshape(len(lengths), -1).max(axis=1)

    def batch(self, numbers, width):
        return {
            key: value[numbers][..., :width] for key, value in self.rows.items()
        }


def row_width(lengths, preprocessor):
    """The width of the bucket that the longest of some rows falls into."""
    longest = int(np.max(lengths, initial=1))
    limit = preprocessor.sequence_length
    return next(
        (width for width in _texts.widths() if longest <= width < limit), limit
    )


def _filled(numbers, batch_size):
    """The last batch filled up with its first row, to a power of two."""
    size = min(batch_size, 1 << (len(numbers) - 1).bit_length())
    if keras.distribution.distribution() is not None:
        # The devices share a batch evenly.
        size = batch_size
    return np.concatenate(
        [numbers, np.full(size - len(numbers), numbers[0])]
    ).astype("int64")
