"""What all task models share: raw strings in fit, evaluate and predict."""

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune
from keras_bert.export import Exportable
from keras_bert.models import _texts
from keras_bert.models._batches import MappedPyDataset
from keras_bert.models._batches import mapped_generator
from keras_bert.models._checked_ids import CheckedIds
from keras_bert.models._distributed import Distributed
from keras_bert.models._fit import fit_in_parts
from keras_bert.models._guards import argument_errors
from keras_bert.models._guards import state_kept
from keras_bert.models._guards import unused_pooler
from keras_bert.models._labels import weights_by_id
from keras_bert.models._preset import TaskPreset
from keras_bert.models._tables import columns_of
from keras_bert.models._tables import inputs_of
from keras_bert.training import AutoCompile
from keras_bert.training.distribution import MultiWorker


class BertTask(
    CheckedIds,
    TaskPreset,
    AutoCompile,
    Exportable,
    Distributed,
    MultiWorker,
    keras.Model,
):
    """Base of the task models: a backbone, a head, and a preprocessor.

    `fit`, `evaluate`, `predict` and their `*_on_batch` forms accept raw
    strings (when the model has a preprocessor), dicts of ids, tf.data
    datasets, `keras.utils.PyDataset`s and generators of either. Ids outside
    the vocabulary and rows longer than the position table are refused on
    every one of these paths.

    Args:
        backbone: a `BertBackbone`.
        preprocessor: `None` (ids in), a `BertTokenizer` (the default
            preprocessor is built round it) or a preprocessor.
    """

    preprocessor_class = None
    default_sequence_length = 128
    # Whether fit on texts wants targets; masked models make their own.
    needs_targets = True
    # Whether a table holds contexts with several endings.
    has_choices = False

    def __init__(self, backbone, preprocessor=None, **kwargs):
        if not hasattr(backbone, "max_sequence_length"):
            raise invalid("backbone", "a `BertBackbone`", backbone)
        kwargs.setdefault("dtype", backbone.dtype_policy)
        # Ids and masks that come as floats must not become half floats.
        super().__init__(autocast=False, **kwargs)
        self.backbone = backbone
        self.preprocessor = self._as_preprocessor(preprocessor)

    def _finish(self):
        """Builds the head and compiles the recipe: last in constructors."""
        self.build(None)
        self.compile()

    def _as_preprocessor(self, preprocessor):
        if preprocessor is None:
            return None
        longest = self.backbone.max_sequence_length
        if hasattr(preprocessor, "cls_token_id"):
            preprocessor = self.preprocessor_class(
                preprocessor,
                sequence_length=min(self.default_sequence_length, longest),
            )
        if not hasattr(preprocessor, "tokenizer"):
            raise invalid(
                "preprocessor",
                "None, a BertTokenizer or a "
                + self.preprocessor_class.__name__,
                preprocessor,
            )
        if preprocessor.sequence_length > longest:
            raise invalid(
                "preprocessor",
                f"a sequence_length of at most {longest}, the backbone's "
                "max_sequence_length",
                preprocessor.sequence_length,
            )
        size = preprocessor.tokenizer.vocabulary_size()
        if size > self.backbone.vocabulary_size:
            raise invalid(
                "preprocessor",
                "a vocabulary of at most "
                f"{self.backbone.vocabulary_size} tokens, the backbone's "
                "vocabulary_size",
                f"{size} tokens",
            )
        return preprocessor

    @property
    def tokenizer(self):
        return self.preprocessor.tokenizer if self.preprocessor else None

    @property
    def input(self):
        return self.backbone.input

    # What subclasses may change.

    def _encode_targets(self, y, count):
        """Targets as numbers, checked against the head; `count` rows."""
        return np.asarray(y) if isinstance(y, list) else y

    def _encode_target_tensors(self, y):
        """The same for one batch inside tf.data."""
        return y

    def _text_arrays(self, x):
        """Raw inputs as a tuple of checked arrays, a row per example."""
        return _texts.text_arrays(x)

    def _is_texts(self, x):
        """Whether x is raw inputs in memory, no source of batches."""
        in_memory = isinstance(x, str | bytes | list | tuple | np.ndarray)
        return in_memory and self.preprocessor is not None

    def _text_batch(self, x, y, sample_weight):
        """One batch of raw inputs as arrays: x, y, sample_weight."""
        arrays = self._text_arrays(x)
        count = len(arrays[0])
        _texts.check_lengths(count, y=y, sample_weight=sample_weight)
        y = self._encode_targets(y, count)
        packed = self._prepare(
            arrays[0] if len(arrays) == 1 else arrays, y, sample_weight
        )
        packed = keras.tree.map_structure(np.asarray, packed)
        return (*packed, None, None)[:3]

    def _text_dataset(self, x, y, sample_weight, batch_size, shuffle):
        """A tf.data dataset of batches made from raw inputs."""
        arrays = self._text_arrays(x)
        count = len(arrays[0])
        _texts.check_lengths(count, y=y, sample_weight=sample_weight)
        return _texts.text_dataset(
            arrays,
            self._encode_targets(y, count),
            sample_weight,
            batch_size,
            shuffle,
            self.preprocessor,
            self._prepare,
        )

    # Data on its way in.

    def _columns(self, x, y):
        """Raw inputs and targets of a table; else what came."""
        labels = getattr(self, "labels", None)
        return columns_of(x, y, labels, self.has_choices)

    def _prepare(self, x, y=None, sample_weight=None):
        """One batch of texts to trimmed rows, inside tf.data."""
        packed = self.preprocessor(
            x, self._encode_target_tensors(y), sample_weight
        )
        if isinstance(packed, tuple):
            return (_texts.trim(packed[0], _texts.widths()), *packed[1:])
        return (_texts.trim(packed, _texts.widths()),)

    def _map_dataset(self, dataset, batch_size=None, group=False):
        """A user's tf.data dataset with the preprocessor or the id check.

        One of single texts is batched here, if `batch_size` says how.
        """
        tf = tensorflow()
        spec = dataset.element_spec
        x_spec = spec[0] if isinstance(spec, tuple) else spec
        # There is no Python control flow for AutoGraph to convert.
        keep = tf.autograph.experimental.do_not_convert
        function = keep(self._prepare)
        if isinstance(x_spec, dict) and "token_ids" in x_spec:
            function = keep(self._check_element)
        elif self.preprocessor is None:
            return dataset
        elif tf.nest.flatten(x_spec)[0].shape.rank == 0:
            if batch_size is None:
                raise invalid(
                    "x",
                    "a batched dataset: call `.batch(n)` on it, or give "
                    "`batch_size`, and rows of similar length come together",
                    dataset,
                )
            return without_autotune(
                _texts.example_batches(dataset, batch_size, group, function)
                .prefetch(2)
            )  # fmt: skip
        mapped = dataset.map(function, num_parallel_calls=tf.data.AUTOTUNE)
        mapped = without_autotune(mapped.prefetch(2))
        if hasattr(dataset, "keras_bert_epoch"):
            mapped.keras_bert_epoch = dataset.keras_bert_epoch
        return mapped

    def _map_batch(self, x, y=None, sample_weight=None):
        """One concrete batch of texts or ids to what the model reads."""
        _texts.check_dict(x)
        if not _texts.is_ids(x) and self.preprocessor is not None:
            return self._text_batch(x, y, sample_weight)
        self._check_ids(x)
        if y is not None:
            y = self._encode_targets(y, _count(x))
        return x, y, sample_weight

    def _data(self, x, y, sample_weight, batch_size, shuffle=False):
        """Keras' data arguments for whatever the user gave."""
        rest = {"y": y, "sample_weight": sample_weight}
        _texts.check_dict(x)
        if batch_size is not None and batch_size < 1:
            raise invalid("batch_size", "None or at least 1", batch_size)
        if _texts.is_dataset(x):
            x = self._map_dataset(x, batch_size, shuffle)
            return {"x": x, **rest}
        if isinstance(x, keras.utils.PyDataset):
            return {"x": MappedPyDataset(x, self._map_batch), **rest}
        if hasattr(x, "__next__"):
            return {"x": mapped_generator(x, self._map_batch), **rest}
        if _texts.is_ids(x):
            self._check_ids(x)
            count = _count(x)
            _texts.check_lengths(count, **rest)
            if y is not None:
                y = self._encode_targets(y, count)
            if sample_weight is not None:
                sample_weight = keras.tree.map_structure(
                    np.asarray, sample_weight
                )
            return {"x": x, "y": y, "sample_weight": sample_weight,
                    "batch_size": batch_size}  # fmt: skip
        if self.preprocessor is None:
            raise invalid(
                "x",
                "a dict of ids with `token_ids` (the model has no "
                "preprocessor), or a dataset of such dicts",
                x,
            )
        batch_size = 32 if batch_size is None else batch_size
        weights = _texts.weights_of(sample_weight)
        rows = self._text_dataset(x, y, weights, batch_size, shuffle)
        return {"x": rows}

    # Keras' methods.

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        if not isinstance(epochs, int | np.integer) or epochs < 1:
            raise invalid("epochs", "an int of at least 1", epochs)
        x, y = self._columns(x, y)
        if validation_split:
            x, y, sample_weight, validation_data = _texts.split(
                validation_split, x, y, sample_weight
            )
        if validation_data is not None:
            if isinstance(validation_data, tuple):
                held = (*validation_data, None, None)[:3]
            else:
                held = (validation_data, None, None)
            held = (*self._columns(*held[:2]), held[2])
            _texts.check_targets(self, *held[:2], "validation_data")
            held = self._data(*held, validation_batch_size or batch_size)
            validation_data = held["x"]
            if held.get("y") is not None:
                validation_data = (held["x"], held["y"])
                if held.get("sample_weight") is not None:
                    validation_data += (held["sample_weight"],)
        data = self._data(x, y, sample_weight, batch_size, shuffle)
        _texts.check_targets(self, x, y)
        class_weight = weights_by_id(class_weight, self)
        data = self._shared_data(data, shuffle, class_weight)
        return fit_in_parts(
            self,
            super().fit,
            data,
            callbacks,
            epochs=epochs,
            verbose=verbose,
            validation_data=validation_data,
            # Keras warns that it cannot shuffle a tf.data dataset.
            shuffle=shuffle and not _texts.is_dataset(data["x"]),
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_batch_size=validation_batch_size,
            validation_freq=validation_freq,
        )

    def evaluate(
        self, x=None, y=None, batch_size=None, verbose="auto",
        sample_weight=None, steps=None, callbacks=None, return_dict=False,
        **kwargs,
    ):  # fmt: skip
        x, y = self._columns(x, y)
        _texts.check_targets(self, x, y)
        data = self._data(x, y, sample_weight, batch_size)
        with argument_errors():
            return super().evaluate(
                **data,
                verbose=verbose,
                steps=steps,
                callbacks=callbacks,
                return_dict=return_dict,
                **kwargs,
            )

    def predict(
        self, x, batch_size=None, verbose="auto", steps=None, callbacks=None
    ):
        x = inputs_of(x, self.has_choices)
        data = self._data(x, None, None, batch_size)
        data = {key: data[key] for key in ("x", "batch_size") if key in data}
        with argument_errors():
            return super().predict(
                **data, verbose=verbose, steps=steps, callbacks=callbacks
            )

    def make_train_function(self, force=False):
        super().make_train_function(force)
        self.train_function = state_kept(self, self.train_function)

    def make_test_function(self, force=False):
        super().make_test_function(force)
        self.test_function = state_kept(self, self.test_function)

    def make_predict_function(self, force=False):
        super().make_predict_function(force)
        self.predict_function = state_kept(self, self.predict_function)
        return self.predict_function

    def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        batch = self._map_batch(x, y, sample_weight)
        with unused_pooler():
            return super().train_on_batch(*batch, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        return super().test_on_batch(
            *self._map_batch(x, y, sample_weight), **kwargs
        )

    def predict_on_batch(self, x):
        return super().predict_on_batch(self._map_batch(x)[0])

    # Config.

    def get_config(self):
        preprocessor = self.preprocessor
        return {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "preprocessor": preprocessor
            and keras.saving.serialize_keras_object(preprocessor),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        for key in ("backbone", "preprocessor", "dtype"):
            if isinstance(config.get(key), dict):
                config[key] = keras.saving.deserialize_keras_object(
                    config[key], custom_objects=custom_objects
                )
        return cls(**config)


def _count(x):
    return len(x["token_ids"]) if _texts.is_ids(x) else len(x)
