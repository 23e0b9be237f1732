"""Base of the task models that read one example in several rows."""

import itertools

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune
from keras_bert.models import _texts
from keras_bert.models._row_prediction import predict_rows
from keras_bert.models._row_prediction import row_width
from keras_bert.models._tables import inputs_of
from keras_bert.models.bert_task import BertTask


class BertWindowTask(BertTask):
    """A task model whose long examples are read in overlapping windows.

    `fit` and `evaluate` take every window as a row of its own. `predict`
    reads the windows in batches of similar length and gives one result per
    example, in the order of the examples. Batches of ids stay what they are:
    rows in, one output per row.

    A subclass defines:

        _examples(x): raw inputs of any kind, checked, as a list (or a tuple
            of lists) of Python values.
        _featurise(examples): an object with `rows`, a `SegmentRows`.
        _row_targets(features, examples, y, sample_weight): a function
            (row numbers, width) -> (y, sample_weight) as arrays or dicts.
        _results(features, examples, batches): the list of results, from
            the pairs (row numbers, outputs) that `predict_rows` yields.
    """

    def _checked(self, x):
        examples = self._examples(x)
        if _count(examples) == 0:
            raise invalid("x", "at least one text", x)
        return examples

    def _make_rows(self, x, y, sample_weight):
        """The rows, and a function (row numbers) -> (x, y, weights)."""
        examples = self._checked(x)
        _texts.check_lengths(_count(examples), y=y, sample_weight=sample_weight)
        if y is None and sample_weight is not None:
            raise invalid("sample_weight", "None if `y` is None", sample_weight)
        features = self._featurise(examples)
        if len(features.rows) == 0:
            raise invalid("x", "texts with at least one token", x)
        targets = None
        if y is not None:
            targets = self._row_targets(features, examples, y, sample_weight)
        rows = features.rows

        def make(numbers):
            width = row_width(rows.lengths[numbers], self.preprocessor)
            batch = rows.batch(numbers, width)
            return (batch,) if y is None else (batch, *targets(numbers, width))

        return rows, make

    def _text_batch(self, x, y, sample_weight):
        rows, make = self._make_rows(x, y, sample_weight)
        return (*make(np.arange(len(rows))), None, None)[:3]

    def _text_dataset(self, x, y, sample_weight, batch_size, shuffle):
        tf = tensorflow()
        rows, make = self._make_rows(x, y, sample_weight)
        example = make(np.arange(1))
        types = [
            tf.as_dtype(value.dtype) for value in keras.tree.flatten(example)
        ]

        def batch(numbers):
            values = tf.numpy_function(
                lambda numbers: keras.tree.flatten(make(numbers)),
                [numbers],
                types,
            )
            for value, one in zip(
                values, keras.tree.flatten(example), strict=True
            ):
                value.set_shape([None] * one.ndim)
            return keras.tree.pack_sequence_as(example, values)

        dataset = _texts.row_batches(rows.lengths, batch_size, shuffle)
        dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
        return without_autotune(dataset.prefetch(2))

    def _prepare(self, x, y=None, sample_weight=None):
        packed = self.preprocessor(
            x, self._encode_target_tensors(y), sample_weight
        )
        if not isinstance(packed, tuple):
            return (_texts.trim(packed, _texts.widths()),)
        rows, *targets = packed
        rows = _texts.trim(rows, _texts.widths())
        width = tensorflow().shape(rows["token_ids"])[-1]
        targets = keras.tree.map_structure(
            lambda value: value[:, :width] if value.shape.rank == 2 else value,
            targets,
        )
        return (rows, *targets)

    def predict(
        self, x, batch_size=None, verbose="auto", steps=None, callbacks=None
    ):
        x, raw = self._raw(inputs_of(x), batch_size, steps)
        if not raw:
            return super().predict(x, batch_size, verbose, steps, callbacks)
        examples = self._checked(x)
        features = self._featurise(examples)
        batches = self._batches(features, batch_size, verbose, callbacks)
        return self._results(features, examples, batches)

    def _batches(self, features, batch_size, verbose, callbacks=None):
        return predict_rows(self, features.rows, batch_size, verbose, callbacks)

    def predict_on_batch(self, x):
        if _texts.is_ids(x) or self.preprocessor is None:
            return super().predict_on_batch(x)
        return self.predict(x, verbose=0)

    def _raw(self, x, batch_size, steps):
        """Raw examples of any source as one batch; else x and False."""
        if _texts.is_ids(x) or self.preprocessor is None:
            return x, False
        if isinstance(x, keras.utils.PyDataset):
            count = steps if x.num_batches is None else x.num_batches
            batches = (x[index] for index in range(count))
        elif _texts.is_dataset(x) or hasattr(x, "__next__"):
            batches = iter(x)
        else:
            count = None if steps is None else steps * (batch_size or 32)
            examples = self._checked(x)
            if isinstance(examples, tuple):
                return tuple(part[:count] for part in examples), True
            return examples[:count], True
        first = next(batches, None)
        if first is None or _texts.is_ids(_inputs(first)):
            if hasattr(x, "__next__") and first is not None:
                x = itertools.chain([first], batches)
            return x, False
        found = [
            self._examples(_inputs(batch))
            for batch in itertools.islice(
                itertools.chain([first], batches), steps
            )
        ]
        if not isinstance(found[0], tuple):
            return [one for examples in found for one in examples], True
        return tuple(
            [one for part in parts for one in part]
            for parts in zip(*found, strict=True)
        ), True


def _inputs(batch):
    return batch[0] if isinstance(batch, tuple) else batch


def _count(examples):
    return len(examples[0] if isinstance(examples, tuple) else examples)
