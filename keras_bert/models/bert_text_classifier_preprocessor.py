"""Preprocessor of the text classifier."""

import keras

from keras_bert.models.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable("keras_bert")
class BertTextClassifierPreprocessor(BertPreprocessor):
    """Texts or pairs of texts to the rows that `BertTextClassifier` reads.

    The rows are `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, padded to
    `sequence_length`, with segment 1 for `B [SEP]`.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        truncate: `"longest_first"` or `"only_second"`.

    Call arguments:
        x: a string, a batch of strings, or a pair (tuple) of these.
        y, sample_weight: passed through.

    Raises:
        ValueError: if `x` is a tuple of more than two parts or
            `sequence_length` leaves no room for a token.

    Example:

    ```python
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fox"]
    tokenizer = keras_bert.BertTokenizer(vocabulary)
    preprocessor = keras_bert.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=8
    )
    preprocessor("a fox")["token_ids"]  # [2, 5, 6, 3, 0, 0, 0, 0]
    preprocessor((["a fox"], ["a"]))["segment_ids"]
    ```

    Source: Devlin et al. (2018), figure 2.
    """
