"""The `serving_default` signature of models that label words.

    words         ["Jim", "Henson", "sings", "Big", "Bird"]   all texts, flat
    row_lengths   [3, 2]                                      words per text
    logits        [5, labels]; `probabilities` and `label` alike

`row_lengths` has the default `[-1]`: all words are one text. A text longer
than a row is read in overlapping windows, as in the process that trains. A
word of which the tokenizer keeps nothing has the logits 0.
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.export.signature import Signature
from keras_bert.export.signature import assert_all
from keras_bert.export.windows import graph_windows
from keras_bert.export.windows import joined_rows
from keras_bert.export.windows import read_here


def word_signature(preprocessor, logits_of, outputs):
    """The signature `words`, `row_lengths`.

    Args:
        preprocessor: has `tokenizer`, `sequence_length` and `stride`.
        logits_of: callable from a dict of rows `[windows, length]` to logits
            `[windows, length, labels]`.
        outputs: callable (logits `[words, labels]`, bool `[words]`: whether
            the word has a piece) to the dict of outputs.
    """
    tf = tensorflow()
    tensorflow_text()

    one_text = tf.constant([-1], tf.int64)

    def serve(words, row_lengths=one_text):
        row_lengths = _checked(words, row_lengths)
        pieces = preprocessor.tokenizer(words)
        logits, has_piece = _word_logits(
            preprocessor, logits_of, pieces, row_lengths
        )
        return outputs(logits, has_piece)

    specs = [tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)]
    function = tf.function(serve, input_signature=specs, autograph=False)
    return Signature(
        function,
        {"words": ["warm", "up"], "row_lengths": tf.constant([2], tf.int64)},
    )


def _checked(words, row_lengths):
    tf = tensorflow()
    count = tf.size(words, tf.int64)
    is_default = tf.reduce_all(tf.equal(row_lengths, [-1]))
    is_default &= tf.equal(tf.size(row_lengths), 1)
    row_lengths = tf.cond(is_default, lambda: count[None], lambda: row_lengths)
    total = tf.reduce_sum(row_lengths)
    check = assert_all(
        (total == count) & tf.reduce_all(row_lengths >= 0),
        "Invalid value received for argument `row_lengths`. Expected numbers "
        "of at least 0 with the number of `words` as their sum. Received "
        "(row_lengths, sum, words):",
        row_lengths,
        total,
        count,
    )
    with tf.control_dependencies([check]):
        return tf.identity(row_lengths)


def _word_logits(preprocessor, logits_of, pieces, row_lengths):
    tf = tensorflow()
    piece_counts = pieces.row_lengths()
    texts = tf.RaggedTensor.from_row_lengths(piece_counts, row_lengths)
    totals = tf.reduce_sum(texts, axis=1)
    offset = tf.cumsum(totals, exclusive=True)
    room = tf.zeros_like(totals) + (preprocessor.sequence_length - 2)
    windows = graph_windows(totals, room, preprocessor.stride, empty=0)
    begin = tf.gather(offset, windows.owner) + windows.start
    piece = tf.gather(begin, windows.row) + windows.left
    ids = tf.RaggedTensor.from_value_rowids(
        tf.gather(pieces.values, piece),
        windows.row,
        nrows=tf.size(windows.size, tf.int64),
    )
    rows = joined_rows(preprocessor.tokenizer, [ids])
    logits = logits_of(rows)
    # Where each piece is read, as a position in the flat logits.
    width = tf.shape(logits, tf.int64)[1]
    here = read_here(windows, piece, tf.size(pieces.values, tf.int64))
    place = windows.row * width + windows.left + 1
    place = tf.scatter_nd(
        tf.boolean_mask(piece, here)[:, None],
        tf.boolean_mask(place, here),
        tf.size(pieces.values, tf.int64)[None],
    )
    has_piece = piece_counts > 0
    first = tf.boolean_mask(tf.cumsum(piece_counts, exclusive=True), has_piece)
    labels = logits.shape[-1]
    found = tf.gather(tf.reshape(logits, [-1, labels]), tf.gather(place, first))
    result = tf.scatter_nd(
        tf.where(has_piece),
        found,
        [tf.size(has_piece, tf.int64), labels],
    )
    return result, has_piece
