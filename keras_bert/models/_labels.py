"""Class names and class ids of the classifiers."""

import math
import numbers

import numpy as np

from keras_bert._errors import invalid


def class_count(num_classes, labels):
    """The number of classes that the two arguments agree on."""
    if labels is not None:
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise invalid("labels", "two distinct class names or more", labels)
        if num_classes not in (None, len(labels)):
            raise invalid(
                "num_classes", f"{len(labels)}, one per label", num_classes
            )
        return len(labels)
    if not isinstance(num_classes, int) or num_classes < 1:
        raise invalid("num_classes", "a positive int, or `labels`", num_classes)
    return num_classes


def class_ids(y, num_classes, labels=None):
    """Names or ids of classes, any shape, as checked int32 ids."""
    y = np.asarray(y)
    if y.dtype.kind in "USO" and y.size and isinstance(y.flat[0], str):
        return _ids_of_names(y, labels)
    if y.dtype.kind == "f" and np.array_equal(y, np.floor(y)):
        y = y.astype("int64")
    if y.dtype.kind not in "biu":
        raise invalid("y", f"class ids from 0 to {num_classes - 1}", y)
    wrong = (y < 0) | (y >= num_classes)
    if wrong.any():
        raise invalid(
            "y", f"class ids from 0 to {num_classes - 1}", y[wrong].tolist()
        )
    return y.astype("int32")


def _ids_of_names(y, labels):
    if labels is None:
        raise invalid(
            "y", "class ids, since the model was given no `labels`", y
        )
    ids = {label: index for index, label in enumerate(labels)}
    unknown = sorted({str(label) for label in y.flat if label not in ids})
    if unknown:
        raise invalid("y", f"labels out of {labels}", unknown)
    found = np.array([ids[label] for label in y.flat], "int32")
    return found.reshape(y.shape)


def weights_by_id(class_weight, model):
    """`class_weight` of Keras by ids, a weight of 1 where none was given.

    Keras wants all ids for a tf.data dataset, and knows no names.
    """
    if class_weight is None:
        return None
    if not isinstance(class_weight, dict):
        raise invalid("class_weight", "a dict of weights", class_weight)
    for weight in class_weight.values():
        if not isinstance(weight, numbers.Real) or not 0 <= weight < math.inf:
            raise invalid("class_weight", "finite numbers from 0", weight)
    labels = getattr(model, "labels", None)
    count = len(labels or ()) or getattr(model, "num_classes", None)
    if not count:
        return class_weight
    ids = {label: index for index, label in enumerate(labels or ())}
    ids |= {index: index for index in range(count)}
    unknown = [name for name in class_weight if name not in ids]
    if unknown:
        expected = f"ids from 0 to {count - 1}"
        if labels:
            expected += f", or labels out of {labels}"
        raise invalid("class_weight", expected, unknown)
    given = {ids[name]: weight for name, weight in class_weight.items()}
    if len(given) < len(class_weight):
        raise invalid("class_weight", "each class once", list(class_weight))
    return {index: given.get(index, 1.0) for index in range(count)}
