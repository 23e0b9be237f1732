"""`fit`, `evaluate` and `predict` where `distribute` is in force.

    fit        batches are filled up to a multiple of the replicas with rows
               of weight 0; each process reads its rows of each batch
    evaluate   every row counts once: JAX works on what is left over with
               every device, TensorFlow gives the replicas different numbers
               of rows
    predict    batches are filled up, and the outputs of the filling cut off

A mixin of the task models, before keras.Model in the list of bases.
"""

import hashlib
import json

import keras
import numpy as np
from keras import ops
from keras import tree

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.models import _texts
from keras_bert.models._batches import MappedPyDataset
from keras_bert.models._batches import mapped_generator
from keras_bert.training import MaskedLMLoss
from keras_bert.training._backend import sum_over_replicas
from keras_bert.training.distribution._devices import current
from keras_bert.training.distribution._devices import map_arrays
from keras_bert.training.distribution._devices import rows_of
from keras_bert.training.distribution._link import random_state_digest
from keras_bert.training.distribution._link import refuse_differences


class Distributed:
    """Mixin; the methods do nothing new on a single device."""

    # fit

    def _shared_data(self, data, shuffle, class_weight):
        """The arguments of Keras' `fit`, with this process's rows."""
        devices = current()
        if devices is None:
            return data
        if devices.processes > 1:
            self._compare_processes(devices, data["x"])
        x = data["x"]
        if not _is_source(x):
            x = _as_dataset(data, shuffle)
        check = _Filler(devices, class_weight)
        if _texts.is_dataset(x):
            shared = _shared_dataset(x, devices, check)
        elif isinstance(x, keras.utils.PyDataset):
            shared = MappedPyDataset(x, check.own_part)
        else:
            shared = mapped_generator(x, check.own_part)
        if hasattr(x, "keras_bert_epoch"):
            shared.keras_bert_epoch = x.keras_bert_epoch
        return {"x": shared, "y": None, "sample_weight": None}

    def _compare_processes(self, devices, x):
        tokenizer = getattr(self, "tokenizer", None)
        facts = {
            "vocabulary": tokenizer and _digest(tokenizer.vocabulary),
            "model": _digest(self.backbone.get_config()),
            "number of batches": str(getattr(x, "cardinality", int)()),
            "random seed (call keras.utils.set_random_seed with the same "
            "number in each process)": random_state_digest(),
        }
        facts = {name: str(value)[-60:] for name, value in facts.items()}
        found = devices.everywhere(json.dumps(facts))
        refuse_differences(list(map(json.loads, found)))

    def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        devices = current()
        if devices is not None:
            filler = _Filler(devices, kwargs.get("class_weight"))
            x, y, sample_weight = _three(filler.own_part(x, y, sample_weight))
            if devices.splits_datasets:
                x, y, sample_weight = devices.place((x, y, sample_weight))
        return super().train_on_batch(x, y, sample_weight, **kwargs)

    # evaluate

    def evaluate(
        self, x=None, y=None, batch_size=None, verbose="auto",
        sample_weight=None, steps=None, callbacks=None, return_dict=False,
        **kwargs,
    ):  # fmt: skip
        devices = current()
        if devices is None or devices.evaluates_whole_batches() is None:
            if devices is not None and _texts.is_dataset(x):
                x = _not_by_file(x)
            return super().evaluate(
                x=x,
                y=y,
                batch_size=batch_size,
                verbose=verbose,
                sample_weight=sample_weight,
                steps=steps,
                callbacks=callbacks,
                return_dict=return_dict,
                **kwargs,
            )
        batches = _numpy_batches(x, y, sample_weight, batch_size, steps)
        callbacks = self._callbacks(callbacks, verbose)
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = {}
        self._keeps_metrics = True
        try:
            for step, batch in enumerate(batches):
                callbacks.on_test_batch_begin(step)
                logs = self._evaluate_batch(devices, *_three(batch))
                callbacks.on_test_batch_end(step, logs)
        finally:
            self._keeps_metrics = False
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        devices = current()
        if devices is None or devices.evaluates_whole_batches() is None:
            return super().test_on_batch(x, y, sample_weight, **kwargs)
        logs = self._evaluate_batch(devices, x, y, sample_weight)
        if kwargs.get("return_dict"):
            return logs
        return self._flatten_metrics_in_order(logs)

    def _evaluate_batch(self, devices, x, y, sample_weight):
        batch = (x, y, sample_weight)
        test = super().test_on_batch
        if rows_of(batch) % devices.replicas:
            with devices.evaluates_whole_batches():
                return test(*batch, return_dict=True)
        return test(*devices.own_rows(batch), return_dict=True)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        loss = super().compute_loss(x, y, y_pred, sample_weight, training)
        devices = current()
        if training or devices is None or devices.strategy is None:
            return loss
        if not all(
            isinstance(a, MaskedLMLoss) for a in tree.flatten(self.loss)
        ):
            return loss
        # Keras takes the mean of the replicas' losses by their rows. Ours are
        # shares of one sum, so what counts is only that sum.
        rows = ops.cast(ops.shape(tree.flatten(x)[0])[0], "float32")
        share = ops.divide_no_nan(
            sum_over_replicas(rows), devices.replicas * rows
        )
        return loss * share

    def reset_metrics(self):
        if not getattr(self, "_keeps_metrics", False):
            super().reset_metrics()

    # predict

    def predict(
        self, x, batch_size=None, verbose="auto", steps=None, callbacks=None
    ):
        devices = current()
        if devices is None:
            return super().predict(
                x,
                batch_size=batch_size,
                verbose=verbose,
                steps=steps,
                callbacks=callbacks,
            )
        callbacks = self._callbacks(callbacks, verbose)
        callbacks.on_predict_begin()
        outputs = []
        batches = _numpy_batches(x, None, None, batch_size, steps)
        for step, batch in enumerate(batches):
            callbacks.on_predict_batch_begin(step)
            outputs.append(self._predict_batch(devices, _three(batch)[0]))
            callbacks.on_predict_batch_end(step, {"outputs": outputs[-1]})
        callbacks.on_predict_end()
        if not outputs:
            raise invalid("x", "at least one batch", x)
        return tree.map_structure(
            lambda *parts: np.concatenate(parts), *outputs
        )

    def predict_on_batch(self, x):
        devices = current()
        if devices is None:
            return super().predict_on_batch(x)
        return self._predict_batch(devices, x)

    def _predict_batch(self, devices, x):
        count = rows_of(x)
        outputs = super().predict_on_batch(
            devices.place(map_arrays(_filled_to(devices.replicas), x))
        )
        return tree.map_structure(lambda array: array[:count], outputs)

    def predict_step(self, *arguments):
        outputs = super().predict_step(*arguments)
        devices = current()
        if devices is None or devices.processes == 1:
            return outputs
        return devices.copied(outputs)

    def _callbacks(self, callbacks, verbose):
        if isinstance(callbacks, keras.callbacks.CallbackList):
            return callbacks
        verbose = 0 if verbose == "auto" else verbose
        return keras.callbacks.CallbackList(
            callbacks, add_progbar=verbose != 0, verbose=verbose, epochs=1,
            model=self,
        )  # fmt: skip


class _Filler:
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
        x, y, sample_weight = _three(batch)
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
            fill = _filled_to(self.devices.replicas)
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


def _filled_to(multiple):
    """A function that repeats the first rows of an array at its end."""

    def fill(array):
        missing = -len(array) % multiple
        if not missing:
            return array
        return np.concatenate(
            [array, np.resize(array, (missing, *array.shape[1:]))]
        )

    return fill


def _three(batch):
    """(x, y, sample_weight) of what a data source yields."""
    if not isinstance(batch, tuple):
        return batch, None, None
    return (*batch, None, None)[:3]


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()[:12]


def _is_source(x):
    """Whether x yields batches by itself."""
    return (
        _texts.is_dataset(x)
        or isinstance(x, keras.utils.PyDataset)
        or hasattr(x, "__next__")
    )


def _as_dataset(data, shuffle):
    """A tf.data dataset of batches from arrays in memory."""
    tf = tensorflow()
    parts = [data["x"], data.get("y"), data.get("sample_weight")]
    while parts[-1] is None:
        parts.pop()
    dataset = tf.data.Dataset.from_tensor_slices(tuple(parts))
    if shuffle:
        seed = np.random.randint(2**31 - 1)
        dataset = dataset.shuffle(int(dataset.cardinality()), seed=seed)
    return dataset.batch(data.get("batch_size") or 32).prefetch(2)


def _shared_dataset(x, devices, filler):
    """This process's rows of each batch of a dataset, as a dataset."""
    tf = tensorflow()
    spec = x.element_spec
    sizes = {leaf.shape[0] for leaf in tf.nest.flatten(spec)}
    if sizes == {None} or None in sizes:
        x = _filled_dataset(x, devices, filler)
    else:
        filler.check(sizes.pop())
    if devices.splits_datasets:
        return _not_by_file(x)
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

    return x.map(own).prefetch(tf.data.AUTOTUNE)


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
        x, y, given = _three(batch)
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


def _not_by_file(dataset):
    """Workers take turns with batches; by file their numbers would differ."""
    tf = tensorflow()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return dataset.with_options(options)


def _numpy_batches(x, y, sample_weight, batch_size, steps):
    """Batches of arrays out of whatever `evaluate` of Keras takes."""
    if _texts.is_dataset(x):
        batches = x.as_numpy_iterator()
    elif isinstance(x, keras.utils.PyDataset):
        batches = (x[index] for index in range(len(x)))
    elif hasattr(x, "__next__"):
        batches = x
    else:
        batches = _slices((x, y, sample_weight), batch_size or 32)
    for step, batch in enumerate(batches):
        if step == steps:
            return
        yield batch


def _slices(arrays, size):
    for first in range(0, rows_of(arrays), size):
        yield map_arrays(lambda a, first=first: a[first : first + size], arrays)
