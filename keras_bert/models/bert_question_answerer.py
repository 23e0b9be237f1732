"""Answers to questions, cut out of a context."""

import keras
import numpy as np
from keras import ops

from keras_bert._errors import invalid
from keras_bert.data.answer_spans import best_answer
from keras_bert.data.answer_spans import n_best_answers
from keras_bert.data.answer_spans import question_spans
from keras_bert.export import answer_signature
from keras_bert.models._answers import answer_list
from keras_bert.models.bert_question_answerer_preprocessor import (
    BertQuestionAnswererPreprocessor,
)
from keras_bert.models.bert_window_task import BertWindowTask


@keras.saving.register_keras_serializable("keras_bert")
class BertQuestionAnswerer(BertWindowTask):
    """BERT that marks where in a context the answer starts and ends.

    Long contexts are read in overlapping windows; see
    `BertQuestionAnswererPreprocessor` for them and for how answers are chosen
    (`n_best`, `max_answer_length`, `null_threshold`).

    Args:
        backbone: a `BertBackbone`.
        preprocessor: `None` (ids in), a `BertTokenizer`, or a
            `BertQuestionAnswererPreprocessor`.

    Call arguments:
        inputs: dict of int32 `token_ids` `[batch, length]`, `segment_ids` (1
            for the context) and `padding_mask` (0 is padding).

    Returns a dict of float32 logits `start` and `end`, each
    `[batch, length]`. `fit` and `evaluate` take a pair of lists, questions
    and contexts; `y` holds per question a dict `text` and `start` (the
    character where it starts, -1 for no answer), or a list of such dicts, of
    which the first is used. The loss is the mean of the cross-entropies of
    start and end over all columns; a window without the answer has both in
    column 0. `predict` gives per question a dict:

        text: the answer, or "" for none.
        start, end: its characters in the context, -1 for none.
        score: start logit plus end logit of the best span, whether or not it
            was given; the null score where there is no span.
        null_score: start logit plus end logit of column 0, in the window
            where that is least. "" is given when it exceeds `score` by more
            than `null_threshold`.

    Raises:
        ValueError: if a question leaves no room for its context, `doc_stride`
            would skip tokens, or an answer does not stand in its context.

    Example:

    ```python
    m = keras_bert.BertQuestionAnswerer(backbone, preprocessor=tokenizer)
    m.fit(
        (["Who jumps?", "Who sings?"], ["The fox jumps."] * 2),
        [{"text": "fox", "start": 4}, {"text": "", "start": -1}],
        epochs=3,
    )
    m.answer("Who jumps?", "The fox jumps.")["text"]
    ```

    Source: Devlin et al. (2018), sections 4.2 and 4.3.
    """

    preprocessor_class = BertQuestionAnswererPreprocessor
    default_sequence_length = 384

    def __init__(self, backbone, preprocessor=None, **kwargs):
        super().__init__(backbone, preprocessor, **kwargs)
        self.logits = keras.layers.Dense(
            2,
            kernel_initializer=keras.initializers.TruncatedNormal(
                stddev=backbone.initializer_range
            ),
            dtype=self.dtype_policy,
            name="logits",
        )
        self._finish()

    def build(self, input_shape=None):
        if not self.logits.built:
            self.logits.build((None, None, self.backbone.hidden_dim))

    def call(self, inputs, training=None):
        x = self.backbone(inputs, training=training)["sequence_output"]
        x = ops.cast(self.logits(x), "float32")
        return {"start": x[..., 0], "end": x[..., 1]}

    def _serving_signature(self):
        if self.preprocessor is None:
            return None
        return answer_signature(
            self.preprocessor, lambda rows: self(rows, training=False)
        )

    def compile(self, optimizer="auto", loss="auto", **keywords):
        """As for the other models; the loss "auto" is a mean of two."""
        auto = isinstance(loss, str) and loss == "auto"
        if auto and keywords.get("loss_weights") is None:
            keywords["loss_weights"] = {"start": 0.5, "end": 0.5}
        super().compile(optimizer, loss, **keywords)

    def _auto_loss(self):
        return {
            key: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            for key in ("start", "end")
        }

    def _auto_metrics(self):
        return {
            key: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
            for key in ("start", "end")
        }

    def _examples(self, x):
        if not isinstance(x, tuple) or len(x) != 2:
            raise invalid("x", "a pair (tuple) of questions and contexts", x)
        questions, contexts = (_strings(part) for part in x)
        if len(questions) != len(contexts):
            raise invalid(
                "x",
                "as many contexts as questions",
                f"{len(questions)} questions and {len(contexts)} contexts",
            )
        return questions, contexts

    def _make_rows(self, x, y, sample_weight):
        if y is not None:
            y = answer_list(y)
        return super()._make_rows(x, y, sample_weight)

    def _featurise(self, examples):
        return self.preprocessor.windows(*examples)

    def _row_targets(self, features, examples, y, sample_weight):
        start, end = self.preprocessor.labels(features, examples[1], y)
        weights = None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, "float32")[features.question]

        def targets(numbers, width):
            y = {"start": start[numbers], "end": end[numbers]}
            if weights is None:
                return (y,)
            return y, {"start": weights[numbers], "end": weights[numbers]}

        return targets

    def _results(self, features, examples, batches):
        return [
            best_answer(answers, null, self.preprocessor.null_threshold)
            for answers, null in self._ranked(features, examples, batches)
        ]

    def _ranked(self, features, examples, batches):
        """Per question the n_best answers and the null span."""
        settings = self.preprocessor
        logits = [None] * len(features.rows)
        for numbers, outputs in batches:
            for place, number in enumerate(numbers):
                # Padding is cut off, so that the answer does not depend on
                # the rows of the same batch.
                length = features.rows.lengths[number]
                logits[number] = tuple(
                    outputs[key][place, :length].copy()
                    for key in ("start", "end")
                )
        pieces = features.pieces
        for question, context in enumerate(examples[1]):
            rows = slice(*features.splits[question : question + 2])
            spans, null = question_spans(
                features,
                question,
                logits[rows],
                settings.n_best,
                settings.max_answer_length,
            )
            first, last = pieces.splits[features.context[question] :][:2]
            yield (
                n_best_answers(
                    context,
                    pieces.starts[first:last],
                    pieces.ends[first:last],
                    spans,
                    settings.n_best,
                ),
                null,
            )

    def answer(self, question, context, top_k=None, batch_size=32):
        """The answer to a question, or to each of several.

        Args:
            question: a string, or a list of strings.
            context: a string, or a list of strings, one per question; one
                string serves all questions.
            top_k: `None` for the one answer that `predict` gives; an int for
                at most that many spans, best first, `""` not among them.
            batch_size: int.

        Returns a dict as `predict` gives it, or with `top_k` a list of dicts
        `text`, `start`, `end`, `start_logit`, `end_logit`; a list of these
        for a list of questions.
        """
        single = isinstance(question, str)
        questions = _strings(question)
        if isinstance(context, str):
            context = [context] * len(questions)
        if top_k is None:
            results = self.predict(
                (questions, context), batch_size=batch_size, verbose=0
            )
        else:
            if not isinstance(top_k, int) or top_k < 1:
                raise invalid("top_k", "None or a positive int", top_k)
            results = [
                answers[:top_k]
                for answers, _ in self.predict_n_best(
                    (questions, context), batch_size=batch_size, verbose=0
                )
            ]
        return results[0] if single else results

    def predict_n_best(
        self, x, batch_size=None, verbose="auto", callbacks=None
    ):
        """The n_best answers and the null span of each question.

        Args:
            x: a pair (tuple) of questions and contexts.
            batch_size, verbose, callbacks: as in `predict`.

        Returns per question a pair: a list of dicts `text`, `start`, `end`,
        `start_logit`, `end_logit`, best first; and the null span, with the
        attributes `start_logit`, `end_logit` and `score`.
        """
        if self.preprocessor is None:
            raise invalid("preprocessor", "one, to read texts", None)
        examples = self._checked(x)
        features = self._featurise(examples)
        batches = self._batches(features, batch_size, verbose, callbacks)
        return list(self._ranked(features, examples, batches))


def _strings(texts):
    if isinstance(texts, str | bytes):
        texts = [texts]
    if hasattr(texts, "numpy"):
        texts = texts.numpy()
    if not hasattr(texts, "__len__"):
        raise invalid("x", "lists of strings", texts)
    found = []
    for index, text in enumerate(texts):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "ignore")
        if not isinstance(text, str):
            raise invalid("x", f"strings (see position {index})", text)
        found.append(str(text))
    return found
