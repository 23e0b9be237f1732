"""Ids out of range are refused wherever Keras is handed them."""

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.layers.id_checks import check_ids
from keras_bert.models import _texts
from keras_bert.models._batches import MappedPyDataset
from keras_bert.models._batches import mapped_generator
from keras_bert.models._guards import argument_errors


class CheckedIds:
    """Mixin with the checks themselves, for arrays and for tf.data."""

    def _check_ids(self, x):
        if not _texts.is_ids(x):
            return
        backbone = getattr(self, "backbone", self)
        check_ids(
            x,
            vocabulary_size=backbone.vocabulary_size,
            num_segments=backbone.num_segments,
            max_sequence_length=backbone.max_sequence_length,
        )

    def _check_element(self, x, *rest):
        """Adds the id check to a tf.data element; shapes stay static."""
        tf = tensorflow()
        # A row that is too long is known before the first batch, and a graph
        # for it may not fit into memory.
        longest = getattr(self, "backbone", self).max_sequence_length
        length = x["token_ids"].shape[-1]
        if length is not None and length > longest:
            raise invalid(
                "token_ids",
                f"rows of at most max_sequence_length={longest}",
                f"rows of {length}",
            )
        keys = sorted(x)

        def check(*values):
            self._check_ids(dict(zip(keys, values, strict=True)))
            return np.int32(0)

        done = tf.numpy_function(check, [x[key] for key in keys], tf.int32)
        with tf.control_dependencies([done]):
            x = {key: tf.identity(value) for key, value in x.items()}
        return (x, *rest)


class CheckedModel(CheckedIds):
    """Mixin for a model on ids: Keras' methods with the checks in front."""

    def _checked(self, x):
        if _texts.is_dataset(x):
            spec = x.element_spec
            spec = spec[0] if isinstance(spec, tuple) else spec
            if not isinstance(spec, dict):
                return x
            function = tensorflow().autograph.experimental.do_not_convert(
                self._check_element
            )
            return x.map(function)
        if isinstance(x, keras.utils.PyDataset):
            return MappedPyDataset(x, self._checked_batch)
        if hasattr(x, "__next__"):
            return mapped_generator(x, self._checked_batch)
        self._check_ids(x)
        return x

    def _checked_batch(self, x, *rest):
        self._check_ids(x)
        return (x, *rest)

    def fit(self, x=None, *args, validation_data=None, **kwargs):
        if isinstance(validation_data, tuple):
            self._check_ids(validation_data[0])
        elif validation_data is not None:
            validation_data = self._checked(validation_data)
        with argument_errors():
            return super().fit(
                self._checked(x),
                *args,
                validation_data=validation_data,
                **kwargs,
            )

    def evaluate(self, x=None, *args, **kwargs):
        with argument_errors():
            return super().evaluate(self._checked(x), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        with argument_errors():
            return super().predict(self._checked(x), *args, **kwargs)

    def train_on_batch(self, x, *args, **kwargs):
        return super().train_on_batch(self._checked(x), *args, **kwargs)

    def test_on_batch(self, x, *args, **kwargs):
        return super().test_on_batch(self._checked(x), *args, **kwargs)

    def predict_on_batch(self, x):
        return super().predict_on_batch(self._checked(x))
