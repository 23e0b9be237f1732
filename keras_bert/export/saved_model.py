"""A TensorFlow SavedModel with strings in."""

from keras_bert._tensorflow import tensorflow
from keras_bert.export.ids_signature import ids_example
from keras_bert.export.ids_signature import ids_function
from keras_bert.export.warmup import write_warmup


def write_saved_model(model, target, shapes):
    """Writes the folder `target`.

    The signature `ids` takes the model's int32 arrays. `serving_default`
    takes strings where the model has a preprocessor, else it equals `ids`.
    Nothing but the model's weights is written: no optimizer, no asset; and a
    request of each signature with which TensorFlow Serving warms up.
    """
    tf = tensorflow()
    ids = ids_function(model, shapes, model._output_name)
    serving = model._serving_signature()
    module = tf.Module()
    # The weights alone: a Keras model as attribute would bring its optimizer
    # and every compiled function along.
    module.weights = [variable.value for variable in model.weights]
    module.ids = ids
    module.serve = ids if serving is None else serving.function
    tf.saved_model.save(
        module,
        str(target),
        signatures={"serving_default": module.serve, "ids": ids},
        # Gradients of custom operations serve training only.
        options=tf.saved_model.SaveOptions(experimental_custom_gradients=False),
    )
    example = ids_example(shapes)
    write_warmup(
        target,
        {
            "serving_default": example if serving is None else serving.example,
            "ids": example,
        },
    )
