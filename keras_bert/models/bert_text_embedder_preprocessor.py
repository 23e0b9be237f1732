"""Preprocessor of the text embedder."""

import keras

from keras_bert.models.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable("keras_bert")
class BertTextEmbedderPreprocessor(BertPreprocessor):
    """Texts to the rows that `BertTextEmbedder` reads.

    The rows are `[CLS] A [SEP]`, padded to `sequence_length`; longer texts
    are cut at their end.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int. Length of every row.
        truncate: `"longest_first"` or `"only_second"`.

    Call arguments:
        x: a string, a batch of strings, or a pair (tuple) of these, which
            gives `[CLS] A [SEP] B [SEP]`.
        y, sample_weight: passed through.

    Raises:
        ValueError: if `x` is a tuple of more than two parts or
            `sequence_length` leaves no room for a token.

    Example:

    ```python
    preprocessor = keras_bert.BertTextEmbedderPreprocessor(
        tokenizer, sequence_length=16
    )
    preprocessor(["a fox", "a dog"])["token_ids"].shape  # (2, 16)
    ```

    Source: Devlin et al. (2018), figure 2.
    """
