"""The `serving_default` signature of models that answer questions.

    question   ["Who jumps?"]        context   ["The quick fox jumps."]
    text       ["The quick fox"]     "" for no answer
    start, end [0], [13]             characters of the context, -1 for none
    score      [7.2]                 start plus end logit of the best span

One context serves all questions. The rules are those of
`keras_bert.data.answer_spans`, as graph operations: long contexts are read in
overlapping windows, and the best span is the best of all windows.
"""

from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import tensorflow_text
from keras_bert.export.signature import Signature
from keras_bert.export.signature import assert_all
from keras_bert.export.signature import one_per_row
from keras_bert.export.windows import dense
from keras_bert.export.windows import graph_windows
from keras_bert.export.windows import joined_rows
from keras_bert.export.windows import read_here
from keras_bert.tokenizers._normalize import repair_utf8


def answer_signature(preprocessor, logits_of):
    """The signature `question`, `context`.

    Args:
        preprocessor: has `tokenizer`, `sequence_length`, `doc_stride`,
            `max_query_length`, `n_best`, `max_answer_length` and
            `null_threshold`.
        logits_of: callable from a dict of rows `[windows, length]` to a dict
            of logits `start` and `end` `[windows, length]`.
    """
    tf = tensorflow()
    tensorflow_text()

    def serve(question, context):
        count = tf.size(question)
        context = one_per_row(context, count, "context", "question")
        return _answers(preprocessor, logits_of, question, repair_utf8(context))

    strings = tf.TensorSpec([None], tf.string)
    function = tf.function(
        serve, input_signature=[strings, strings], autograph=False
    )
    example = {"question": ["who warms up"], "context": ["they warm up"]}
    return Signature(function, example)


def _answers(preprocessor, logits_of, question, context):
    tf = tensorflow()
    # One call: a second one would be a second tokenizer in the graph.
    ids, starts, ends = preprocessor.tokenizer.tokenize_with_offsets(
        tf.concat([question, context], axis=0)
    )
    count = tf.size(question)
    asked = ids[:count, : preprocessor.max_query_length]
    ids, starts, ends = (part[count:] for part in (ids, starts, ends))
    windows = _windows(preprocessor, asked, ids)
    owner, size = windows.owner, windows.size
    # The number of each position's piece in all contexts.
    base = tf.gather(ids.row_starts(), owner) + windows.start
    piece = tf.gather(base, windows.row) + windows.left
    held = tf.RaggedTensor.from_value_rowids(
        tf.gather(ids.values, piece), windows.row, nrows=tf.size(size, tf.int64)
    )
    asked = tf.gather(asked, owner)
    rows = joined_rows(preprocessor.tokenizer, [asked, held])
    logits = logits_of(rows)
    here = read_here(windows, piece, tf.size(ids.values, tf.int64))
    first, last, score = _best_spans(
        preprocessor,
        logits,
        asked.row_lengths() + 2,
        size,
        tf.RaggedTensor.from_value_rowids(
            here, windows.row, nrows=tf.size(size, tf.int64)
        ),
        tf.reduce_sum(rows["padding_mask"], axis=1),
    )
    # The best window of each question; the first one wins a tie.
    best = tf.math.unsorted_segment_max(score, owner, count)
    number = tf.range(tf.size(score, tf.int64))
    number = tf.where(score == tf.gather(best, owner), number, 2**60)
    row = tf.math.unsorted_segment_min(number, owner, count)
    null = tf.math.unsorted_segment_min(
        logits["start"][:, 0] + logits["end"][:, 0], owner, count
    )
    found = best > tf.float32.min
    given = found
    if preprocessor.null_threshold is not None:
        margin = tf.cast(null, "double") - tf.cast(best, "double")
        given &= margin <= preprocessor.null_threshold
    first, last = (
        tf.gather(base, row) + tf.gather(place, row) for place in (first, last)
    )
    start, end = (
        tf.scatter_nd(
            tf.where(given),
            tf.gather(of.values, tf.boolean_mask(place, given)),
            tf.shape(given, tf.int64),
        )
        for of, place in ((starts, first), (ends, last))
    )
    return {
        "text": tf.strings.substr(context, start, end - start, "UTF8_CHAR"),
        "start": tf.where(given, start, -1),
        "end": tf.where(given, end, -1),
        "score": tf.where(found, best, null),
    }


def _windows(preprocessor, asked, ids):
    tf = tensorflow()
    totals = ids.row_lengths()
    rooms = preprocessor.sequence_length - 3 - asked.row_lengths()
    checks = [
        assert_all(
            rooms >= 1,
            "Invalid value received for argument `question`. Expected room "
            "for its context in a row of sequence_length="
            f"{preprocessor.sequence_length}. Received (tokens):",
            asked.row_lengths(),
        ),
        assert_all(
            (totals <= rooms) | (rooms >= preprocessor.doc_stride),
            "Invalid value received for argument `question`. Expected a "
            f"room for the context of at least doc_stride="
            f"{preprocessor.doc_stride} where it needs several windows. "
            "Received (rooms):",
            rooms,
        ),
    ]
    with tf.control_dependencies(checks):
        rooms = tf.identity(rooms)
    return graph_windows(totals, rooms, preprocessor.doc_stride, empty=1)


def _best_spans(preprocessor, logits, column, size, here, length):
    """First and last piece in the window, and score, of each row's best span.

    The score is the least float where a row has no span.
    """
    tf = tensorflow()
    start, end = logits["start"], logits["end"]
    width = tf.shape(start)[1]
    padding = tf.range(width) >= length[:, None]
    count = tf.minimum(preprocessor.n_best, width)
    low = tf.float32.min
    start, begins = tf.math.top_k(tf.where(padding, low, start), count)
    end, ends = tf.math.top_k(tf.where(padding, low, end), count)
    begins, ends = (
        tf.cast(place, tf.int64) - column[:, None] for place in (begins, ends)
    )
    here = dense(here, False)
    inside = tf.clip_by_value(begins, 0, tf.shape(here, tf.int64)[1] - 1)
    may_start = tf.gather(here, inside, batch_dims=1)
    may_start &= (begins >= 0) & (begins < size[:, None])
    may_end = (ends >= 0) & (ends < size[:, None])
    distance = ends[:, None, :] - begins[:, :, None]
    fits = may_start[:, :, None] & may_end[:, None, :]
    fits &= (distance >= 0) & (distance < preprocessor.max_answer_length)
    score = tf.where(fits, start[:, :, None] + end[:, None, :], low)
    score = tf.reshape(score, [-1, count * count])
    best = tf.argmax(score, axis=1, output_type=tf.int32)
    first = tf.gather(begins, best // count, batch_dims=1)
    last = tf.gather(ends, best % count, batch_dims=1)
    return first, last, tf.reduce_max(score, axis=1)
