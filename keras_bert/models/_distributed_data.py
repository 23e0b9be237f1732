"""Batches for several replicas and several processes.

Batches are filled up with rows of weight 0 and cut into the rows of each
process: for numpy arrays by `Filler`, inside tf.data by `shared_dataset`.
"""

import itertools

import keras
import numpy as np
from keras import tree

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune
from keras_bert.models import _texts
from keras_bert.training.distribution._devices import map_arrays
from keras_bert.training.distribution._devices import rows_of


class Filler:
    """Fills batches of `fit` up to a multiple of the replicas."""

    def __init__(self, devices, class_weight):
        self.devices = devices
        self.class_weight = class_weight

    def check(self, size):
        """The rows of every whole batch, where they are known."""
        if size % self.devices.replicas:
            raise invalid(
                "batch_size",
                f"a multiple of the {self.devices.replicas} replicas, over "
                "which each batch is spread",
                size,
            )

    def own_part(self, *batch):
        """The rows of this process, numpy: (x, y, sample_weight)."""
        x, y, sample_weight = three(batch)
        rows = rows_of(x)
        size = -(-rows // self.devices.replicas) * self.devices.replicas
        if size > rows:
            if self.class_weight is not None:
                raise invalid(
                    "class_weight",
                    "None with a batch that does not divide evenly; pass "
                    "`sample_weight`",
                    self.class_weight,
                )
            # The loss of Keras divides by the number of rows, ours by the sum
            # of weights: with these weights both give the mean of the rows.
            weight = np.zeros(size, "float32")
            weight[:rows] = size / rows
            fill = filled_to(self.devices.replicas)
            x, y, sample_weight = (
                map_arrays(fill, part) for part in (x, y, sample_weight)
            )
            sample_weight = _weighted(weight, y, sample_weight)
        batch = self.devices.own_rows((x, y, sample_weight))
        while len(batch) > 1 and batch[-1] is None:
            batch = batch[:-1]
        return batch


def _weighted(weight, y, sample_weight):
    """The weights of rows joined with those that the user has given."""
    if y is None:
        return None
    if sample_weight is None:
        return tree.map_structure(lambda _: weight, y)

    def product(given):
        shape = (len(weight),) + (1,) * (given.ndim - 1)
        return given.astype("float32") * weight.reshape(shape)

    return map_arrays(product, sample_weight)


def filled_to(multiple):
    """A function that repeats the first rows of an array at its end."""

    def fill(array):
        missing = -len(array) % multiple
        if not missing:
            return array
        return np.concatenate(
            [array, np.resize(array, (missing, *array.shape[1:]))]
        )

    return fill


def three(batch):
    """(x, y, sample_weight) of what a data source yields."""
    if not isinstance(batch, tuple):
        return batch, None, None
    return (*batch, None, None)[:3]


def is_source(x):
    """Whether x yields batches by itself."""
    return (
        _texts.is_dataset(x)
        or isinstance(x, keras.utils.PyDataset)
        or hasattr(x, "__next__")
    )


def as_dataset(data, shuffle):
    """A tf.data dataset of batches from arrays in memory."""
    tf = tensorflow()
    parts = [data["x"], data.get("y"), data.get("sample_weight")]
    while parts[-1] is None:
        parts.pop()
    dataset = tf.data.Dataset.from_tensor_slices(tuple(parts))
    if shuffle:
        seed = np.random.randint(2**31 - 1)
        dataset = dataset.shuffle(int(dataset.cardinality()), seed=seed)
    dataset = dataset.batch(data.get("batch_size") or 32)
    return without_autotune(dataset.prefetch(2))


def shared_dataset(x, devices, filler):
    """This process's rows of each batch of a dataset, as a dataset."""
    tf = tensorflow()
    spec = x.element_spec
    sizes = {leaf.shape[0] for leaf in tf.nest.flatten(spec)}
    if None in sizes:
        x = _filled_dataset(x, devices, filler)
    else:
        filler.check(sizes.pop())
    if devices.splits_datasets:
        return not_by_file(x)
    parts, part = devices.data_parts, devices.data_part
    if parts == 1:
        return x
    if hasattr(x, "keras_bert_part"):
        return x.keras_bert_part(part, parts)

    def own(*batch):
        def cut(array):
            size = tf.shape(array)[0] // parts
            return array[part * size : (part + 1) * size]

        return tf.nest.map_structure(cut, batch)

    return without_autotune(x.map(own).prefetch(2))


def _filled_dataset(x, devices, filler):
    """Batches of unknown numbers of rows, filled up where needed."""
    tf = tensorflow()
    if filler.class_weight is not None:
        raise invalid(
            "class_weight",
            "None with batches that may not divide evenly; pass "
            "`sample_weight`",
            filler.class_weight,
        )

    def fill(*batch):
        x, y, given = three(batch)
        rows = tf.shape(tf.nest.flatten(x)[0])[0]
        size = -(-rows // devices.replicas) * devices.replicas
        index = tf.range(size) % rows
        share = tf.cast(size, "float32") / tf.cast(rows, "float32")
        weight = tf.where(tf.range(size) < rows, share, 0.0)
        x, y, given = (
            part
            if part is None
            else tf.nest.map_structure(lambda a: tf.gather(a, index), part)
            for part in (x, y, given)
        )
        if y is None:
            return (x,)
        if given is None:
            return x, y, tf.nest.map_structure(lambda _: weight, y)

        def product(one):
            shape = tf.concat([[size], tf.ones(one.shape.rank - 1, "int32")], 0)
            return tf.cast(one, "float32") * tf.reshape(weight, shape)

        return x, y, tf.nest.map_structure(product, given)

    fill = tf.autograph.experimental.do_not_convert(fill)
    return x.map(fill, num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)


def not_by_file(dataset):
    """Workers take turns with batches; by file their numbers would differ."""
    tf = tensorflow()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return dataset.with_options(options)


def numpy_batches(x, y, sample_weight, batch_size, steps):
    """Batches of arrays out of whatever `evaluate` of Keras takes."""
    if _texts.is_dataset(x):
        batches = x.as_numpy_iterator()
    elif isinstance(x, keras.utils.PyDataset):
        batches = (x[index] for index in range(len(x)))
    elif hasattr(x, "__next__"):
        batches = x
    else:
        batches = _slices((x, y, sample_weight), batch_size or 32)
    # Not one more than asked for: a generator would lose it.
    yield from itertools.islice(batches, steps)


def _slices(arrays, size):
    for first in range(0, rows_of(arrays), size):
        yield map_arrays(lambda a, first=first: a[first : first + size], arrays)
