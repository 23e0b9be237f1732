"""Preprocessor of the question answerer: windows over contexts."""

import math

import keras
import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.data.answer_spans import Pieces
from keras_bert.data.answer_spans import answer_windows
from keras_bert.data.answer_spans import label_windows
from keras_bert.models._answers import answer_list
from keras_bert.models._answers import answer_pieces
from keras_bert.models.bert_preprocessor import BertPreprocessor

# Contexts that are tokenized at a time: offsets need several arrays per byte.
_CHUNK = 1000


@keras.saving.register_keras_serializable("keras_bert")
class BertQuestionAnswererPreprocessor(BertPreprocessor):
    """Questions and contexts to rows, one for each window over a context.

    ```
    [CLS] question [SEP] window of the context [SEP]

    context      0 1 2 3 4 5 6 7 8 9      10 pieces, room for 6
    window 0     0 1 2 3 4 5
    window 1             4 5 6 7 8 9      doc_stride 4: where the next starts
    ```

    `doc_stride` is how far the start of a window moves, as in the original
    BERT. (Hugging Face's `stride` is what two windows share: 2 here.)

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        doc_stride: int; `None` is 128, or a third of `sequence_length` where
            that is less.
        max_query_length: int. Longer questions are cut to so many tokens;
            `None` is 64, or half of `sequence_length` where that is less.
        n_best: int. How many starts and ends are combined to spans.
        max_answer_length: int. Most tokens in an answer.
        null_threshold: float. A question gets the empty answer when the null
            score exceeds the score of the best span by more than this. To be
            tuned on held-out data; `None` always answers (SQuAD 1.1).

    Call arguments:
        x: a pair (tuple) of a question and a context, or of batches of them.
        y: per question a dict `text` and `start` (the character of the
            context, -1 for no answer), or a dict of two such columns.
        sample_weight: float, per question.

    Returns a dict of int32 `token_ids`, `segment_ids` and `padding_mask`,
    each `[windows, sequence_length]`. With `y` a tuple of it and a dict of
    int32 `start` and `end` `[windows]`, the columns of the answer, 0 in
    windows that do not hold it whole; with `sample_weight` also a dict of
    weights.

    Raises:
        ValueError: if a question leaves no room for its context, `doc_stride`
            would skip tokens, or an answer does not stand in its context. An
            answer that starts one character off is mended when only one of
            the two places fits; a warning tells how many were.

    Example:

    ```python
    preprocessor = keras_bert.BertQuestionAnswererPreprocessor(tokenizer)
    x, y = preprocessor(
        (["Who jumps?"], ["The quick fox jumps."]),
        [{"text": "quick fox", "start": 4}],
    )
    ```

    Source: https://github.com/google-research/bert/blob/master/run_squad.py
    """

    def __init__(
        self,
        tokenizer,
        sequence_length=384,
        doc_stride=None,
        max_query_length=None,
        n_best=20,
        max_answer_length=30,
        null_threshold=0.0,
    ):
        super().__init__(tokenizer, sequence_length)
        if doc_stride is None:
            doc_stride = min(128, max(1, sequence_length // 3))
        if max_query_length is None:
            max_query_length = min(64, max(1, sequence_length // 2))
        self.doc_stride = _positive("doc_stride", doc_stride)
        self.max_query_length = _positive("max_query_length", max_query_length)
        self.n_best = _positive("n_best", n_best)
        self.max_answer_length = _positive(
            "max_answer_length", max_answer_length
        )
        if null_threshold is not None and not math.isfinite(null_threshold):
            raise invalid(
                "null_threshold", "None or a finite number", null_threshold
            )
        self.null_threshold = null_threshold

    def __call__(self, x, y=None, sample_weight=None):
        if not isinstance(x, tuple) or len(x) != 2:
            raise invalid("x", "a pair (tuple) of questions and contexts", x)
        tf = tensorflow()
        inputs = [_flat(part, tf.string) for part in x]
        types = [tf.int32] * 3
        if y is not None:
            if not isinstance(y, dict) and tf.is_tensor(y):
                raise invalid("y", "a dict of `text` and `start`", y)
            if not isinstance(y, dict):
                texts, starts = zip(*answer_list(y), strict=True)
                y = {"text": texts, "start": starts}
            inputs += [_flat(y["text"], tf.string), _flat(y["start"], tf.int32)]
            types += [tf.int32] * 2
        if sample_weight is not None:
            inputs.append(_flat(sample_weight, tf.float32))
            types.append(tf.float32)
        questions = self.tokenizer(inputs[0])
        contexts = self.tokenizer.tokenize_with_offsets(inputs[1])
        inputs += [
            questions.values,
            questions.row_splits,
            contexts[0].row_splits,
            *(part.values for part in contexts),
        ]
        if tf.executing_eagerly():
            values = self._rows(*(value.numpy() for value in inputs))
            values = [tf.constant(value) for value in values]
        else:
            values = tf.numpy_function(self._rows, inputs, types)
        for index, value in enumerate(values):
            value.set_shape(
                [None, self.sequence_length] if index < 3 else [None]
            )
        names = ("token_ids", "segment_ids", "padding_mask")
        rows = dict(zip(names, values, strict=False))
        if y is None:
            return rows
        targets = {"start": values[3], "end": values[4]}
        if sample_weight is None:
            return rows, targets
        return rows, targets, {"start": values[5], "end": values[5]}

    def _rows(self, _, contexts, *values):
        """Numpy values in, flat as `__call__` collects them; rows out."""
        *given, question_ids, question_splits, splits, ids, starts, ends = (
            values
        )
        windows = self._windows(
            Pieces(question_ids, question_splits),
            Pieces(ids, splits, starts, ends),
            range(len(contexts)),
        )
        numbers = np.arange(len(windows.rows))
        rows = windows.rows.batch(numbers, self.sequence_length)
        found = list(rows.values())
        if given:
            contexts = [text.decode("utf-8", "ignore") for text in contexts]
            answers = answer_list({"text": given[0], "start": given[1]})
            found += self.labels(windows, contexts, answers)
        if len(given) > 2:
            found.append(given[2][windows.question])
        return tuple(found)

    def _windows(self, questions, contexts, context_of):
        return answer_windows(
            self.tokenizer,
            questions,
            contexts,
            context_of,
            self.sequence_length,
            self.doc_stride,
            self.max_query_length,
        )

    def windows(self, questions, contexts):
        """`AnswerWindows` of lists of strings; equal contexts are kept once."""
        unique, context_of = {}, []
        for context in contexts:
            context_of.append(unique.setdefault(context, len(unique)))
        return self._windows(
            self._pieces(list(questions), offsets=False),
            self._pieces(list(unique), offsets=True),
            context_of,
        )

    def _pieces(self, texts, offsets):
        tokenize = (
            self.tokenizer.tokenize_with_offsets
            if offsets
            else lambda part: (self.tokenizer(part),)
        )
        parts = [
            tokenize(texts[start : start + _CHUNK])
            for start in range(0, len(texts), _CHUNK)
        ]
        counts = [part[0].row_lengths().numpy() for part in parts]
        values = [
            np.concatenate([one.values.numpy() for one in column])
            for column in zip(*parts, strict=True)
        ]
        splits = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Pieces(values[0], splits, *values[1:])

    def labels(self, windows, contexts, answers):
        """Columns `start` and `end` of the answer in each row.

        Args:
            windows: `AnswerWindows`.
            contexts: list of strings, per question.
            answers: list of (text, start), per question.
        """
        return label_windows(windows, answer_pieces(answers, contexts, windows))

    def get_config(self):
        config = super().get_config()
        del config["truncate"]
        return {
            **config,
            "doc_stride": self.doc_stride,
            "max_query_length": self.max_query_length,
            "n_best": self.n_best,
            "max_answer_length": self.max_answer_length,
            "null_threshold": self.null_threshold,
        }


def _positive(argument, value):
    if not isinstance(value, int) or value < 1:
        raise invalid(argument, "an int of at least 1", value)
    return value


def _flat(values, dtype):
    """One value or several as a tensor of rank 1."""
    tf = tensorflow()
    if not tf.is_tensor(values):
        values = tf.constant(values, tf.string if dtype == tf.string else None)
    return tf.reshape(tf.cast(values, dtype), [-1])
