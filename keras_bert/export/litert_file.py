"""A LiteRT (formerly TensorFlow Lite) file, ids in.

What is lost against the model: strings, and the checks of ids and lengths: an
id that is too large reads past its table. The file holds plain operations
only, so that the small runtime suffices.
"""

import tempfile

from keras_bert._tensorflow import tensorflow
from keras_bert.export.ids_signature import ids_function


def write_litert(model, target, shapes):
    """Writes the file `target`; its signature is `ids`, all sizes open."""
    tf = tensorflow()
    module = tf.Module()
    module.weights = [variable.value for variable in model.weights]
    module.ids = ids_function(model, shapes, model._output_name, checks=False)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        tf.saved_model.save(module, folder, signatures={"ids": module.ids})
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=["ids"]
        )
        target.write_bytes(converter.convert())
