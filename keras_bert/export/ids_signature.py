"""The signature `ids`: a model's own int32 arrays in, its outputs by name."""

from keras_bert._tensorflow import tensorflow
from keras_bert.export.assertions import checked_ids


def ids_function(model, shapes, output_name, checks=True):
    """A concrete tf.function of the model's int32 inputs.

    Args:
        model: a Keras model whose call takes a dict with `token_ids`.
        shapes: dict of input name -> shape, `None` for any length.
        output_name: str. Name of the output of a model that returns one
            array.
        checks: whether ids and lengths out of range are refused.
    """
    tf = tensorflow()

    def outputs(**inputs):
        if checks:
            inputs = checked_ids(inputs, model)
        result = model(inputs, training=False)
        return result if isinstance(result, dict) else {output_name: result}

    # An argument each, so that the signature's inputs keep their names.
    specs = {
        name: tf.TensorSpec(shape, tf.int32, name=name)
        for name, shape in shapes.items()
    }
    return tf.function(outputs).get_concrete_function(**specs)


def ids_example(shapes):
    """Arrays for a signature of these shapes: ids 0, nothing padded."""
    import numpy as np

    return {
        name: np.full(
            [8 if size is None else size for size in shape],
            int(name == "padding_mask"),
            "int32",
        )
        for name, shape in shapes.items()
    }
