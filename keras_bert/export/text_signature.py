"""The `serving_default` signature of models that read a text or a pair.

    text       ["a fox", "a dog", "a cat"]
    text_pair  ["",      "it ran", ""    ]     "" = no second segment
               [CLS] a fox [SEP]
               [CLS] a dog [SEP] it ran [SEP]
               [CLS] a cat [SEP]

`text_pair` has the default `[""]`, and one value stands for all rows. The
default is written into the SavedModel: TensorFlow Serving fills it in, and so
does `loaded.serve(texts)` in Python. Only Python's
`loaded.signatures["serving_default"]` (TensorFlow 2.21) does not read
defaults and wants `text_pair=[""]` spelled out.
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.export.signature import Signature
from keras_bert.export.signature import one_per_row


def text_signature(preprocessor, outputs):
    """The signature of models that read single texts: `text`.

    Args:
        preprocessor: callable from a batch of strings to a dict of rows
            `[batch, length]`.
        outputs: callable from such a dict to the dict of outputs.
    """
    tf = tensorflow()
    tensorflow_text()
    strings = tf.TensorSpec([None], tf.string, name="text")
    function = tf.function(
        lambda text: outputs(preprocessor(text)),
        input_signature=[strings],
        autograph=False,
    )
    return Signature(function, {"text": ["warm up"]})


def text_pair_signature(preprocessor, outputs):
    """The signature of models that read texts or pairs.

    Args:
        preprocessor: callable from a pair (tuple) of batches of strings to a
            dict of rows `[batch, length]`; an empty second string is none.
        outputs: callable from such a dict to the dict of outputs.
    """
    tf = tensorflow()
    tensorflow_text()

    no_pair = tf.constant([""])

    def serve(text, text_pair=no_pair):
        pair = one_per_row(text_pair, tf.shape(text)[0], "text_pair", "text")
        return outputs(preprocessor((text, pair)))

    strings = tf.TensorSpec([None], tf.string)
    function = tf.function(
        serve, input_signature=[strings, strings], autograph=False
    )
    return Signature(function, {"text": ["warm up"], "text_pair": [""]})
