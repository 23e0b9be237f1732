"""The `serving_default` signature of models that choose among endings.

context   ["the fox",          "a dog"      ]
endings   [["jumps", "barks"], ["runs", "a"]]   as many for each context
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.export.signature import Signature
from keras_bert.export.signature import assert_all


def choice_signature(preprocessor, outputs):
    """The signature `context`, `endings`.

    Args:
        preprocessor: callable from a pair (tuple) of contexts `[batch]` and
            endings `[batch, choices]` to a dict of rows
            `[batch, choices, length]`.
        outputs: callable from such a dict to the dict of outputs.
    """
    tf = tensorflow()
    tensorflow_text()

    def serve(context, endings):
        lists, choices = tf.unstack(tf.shape(endings))
        check = assert_all(
            (lists == tf.size(context)) & (choices > 0),
            "Invalid value received for argument `endings`. Expected a list "
            "of endings for each context. Received (lists, endings in each, "
            "contexts):",
            lists,
            choices,
            tf.size(context),
        )
        with tf.control_dependencies([check]):
            return outputs(preprocessor((context, tf.identity(endings))))

    strings = [
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None, None], tf.string),
    ]
    function = tf.function(serve, input_signature=strings, autograph=False)
    example = {"context": ["warm"], "endings": [["up", "down"]]}
    return Signature(function, example)
