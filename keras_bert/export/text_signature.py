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


def text_pair_function(preprocessor, outputs):
    """A tf.function of `text` and `text_pair` for a SavedModel.

    Args:
        preprocessor: callable from a batch of strings, or a pair (tuple) of
            such batches, to a dict of rows `[batch, length]`.
        outputs: callable from such a dict to the dict of outputs.
    """
    tf = tensorflow()
    tensorflow_text()

    no_pair = tf.constant([""])

    def serve(text, text_pair=no_pair):
        count = tf.shape(text)[0]
        fits = tf.reduce_any(tf.equal(tf.size(text_pair), [1, count]))
        message = (
            "Invalid value received for argument `text_pair`. Expected one "
            "string, or as many as `text` has. Received (sizes):"
        )
        sizes = [message, tf.size(text_pair), count]
        with tf.control_dependencies([tf.debugging.Assert(fits, sizes)]):
            pair = tf.broadcast_to(text_pair, [count])
        return outputs(_rows(preprocessor, text, pair))

    strings = tf.TensorSpec([None], tf.string)
    return tf.function(serve, input_signature=[strings, strings])


def _rows(preprocessor, text, pair):
    """Rows of one segment where the pair is empty, else of two."""
    tf = tensorflow()
    alone = tf.equal(pair, "")
    # Both branches call the one function, so it is in the graph once.
    one_text = tf.function(lambda text: preprocessor(text))

    def mixed():
        one, two = one_text(text), preprocessor((text, pair))
        return {
            name: tf.where(alone[:, None], one[name], two[name]) for name in one
        }

    return tf.cond(tf.reduce_all(alone), lambda: one_text(text), mixed)
