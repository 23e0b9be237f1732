"""Preprocessor of the multiple-choice model."""

import keras

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.models.bert_preprocessor import BertPreprocessor
from keras_bert.tokenizers._strings import as_strings


@keras.saving.register_keras_serializable("keras_bert")
class BertMultipleChoicePreprocessor(BertPreprocessor):
    """A context and its endings to one row per ending.

    ```
    [CLS] context [SEP] ending 0 [SEP]
    [CLS] context [SEP] ending 1 [SEP]
    ```

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        truncate: `"longest_first"` or `"only_second"`.

    Call arguments:
        x: a pair (tuple) of a context and a list of its endings, or of
            contexts `[batch]` and endings `[batch, choices]`.
        y, sample_weight: passed through.

    Returns `x` as a dict of int32 `token_ids`, `segment_ids` and
    `padding_mask`, each `[batch, choices, sequence_length]` (without the
    first axis for one context); `(x, y)` or `(x, y, sample_weight)` when
    these were given.

    Raises:
        ValueError: if `x` is not such a pair.

    Example:

    ```python
    preprocessor = keras_bert.BertMultipleChoicePreprocessor(
        tokenizer, sequence_length=16
    )
    x = preprocessor((["the fox"], [["jumps", "is a dog"]]))
    x["token_ids"].shape  # (1, 2, 16)
    ```

    Source: Devlin et al. (2018), section 4.4.
    """

    def rows(self, x):
        tf = tensorflow()
        if not isinstance(x, tuple) or len(x) != 2:
            raise invalid("x", "a pair (tuple) of contexts and endings", x)
        context, endings = (as_strings(part) for part in x)
        if isinstance(endings, tf.RaggedTensor):
            counts = endings.row_lengths()
            endings = endings.to_tensor()
            if not tf.executing_eagerly() or tf.reduce_any(counts != counts[0]):
                raise invalid("x", "as many endings for each context", x)
        if endings.shape.rank != context.shape.rank + 1:
            raise invalid("x", "a list of endings for each context", x)
        choices = tf.shape(endings)[-1]
        texts = [tf.reshape(context, [-1]), tf.reshape(endings, [-1])]
        # One call: a second one would be a second tokenizer in the graph.
        ids = self.tokenizer(tf.concat(texts, axis=0))
        count = tf.size(context)
        numbers = tf.repeat(tf.range(count), choices)
        rows = self._joiner((tf.gather(ids, numbers), ids[count:]))
        shape = tf.concat([tf.shape(endings), [self.sequence_length]], axis=0)
        static = endings.shape + [self.sequence_length]
        return {
            key: tf.ensure_shape(tf.reshape(value, shape), static)
            for key, value in rows.items()
        }
