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
from keras_bert.models import _texts
from keras_bert.models._batches import MappedPyDataset
from keras_bert.models._batches import mapped_generator
from keras_bert.models._distributed_data import Filler
from keras_bert.models._distributed_data import as_dataset
from keras_bert.models._distributed_data import filled_to
from keras_bert.models._distributed_data import is_source
from keras_bert.models._distributed_data import not_by_file
from keras_bert.models._distributed_data import numpy_batches
from keras_bert.models._distributed_data import shared_dataset
from keras_bert.models._distributed_data import three
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
        if not is_source(x):
            x = as_dataset(data, shuffle)
        check = Filler(devices, class_weight)
        if _texts.is_dataset(x):
            shared = shared_dataset(x, devices, check)
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
            "model": _digest(getattr(self, "backbone", self).get_config()),
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
            filler = Filler(devices, kwargs.get("class_weight"))
            x, y, sample_weight = three(filler.own_part(x, y, sample_weight))
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
                x = not_by_file(x)
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
        batches = numpy_batches(x, y, sample_weight, batch_size, steps)
        callbacks = self._callbacks(callbacks, verbose)
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = {}
        self._keeps_metrics = True
        try:
            for step, batch in enumerate(batches):
                callbacks.on_test_batch_begin(step)
                logs = self._evaluate_batch(devices, *three(batch))
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
        batches = numpy_batches(x, None, None, batch_size, steps)
        for step, batch in enumerate(batches):
            callbacks.on_predict_batch_begin(step)
            outputs.append(self._predict_batch(devices, three(batch)[0]))
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
            devices.place(map_arrays(filled_to(devices.replicas), x))
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


def _digest(value):
    text = json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()[:12]
