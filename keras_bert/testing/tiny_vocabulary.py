"""A vocabulary small enough to read."""

_WORDS = """
    [PAD] [UNK] [CLS] [SEP] [MASK]
    the quick brown fox jumps over lazy dog cat sat on mat
    good bad film book is was a not very
    run ##ning ##s un ##want ##ed , . ! ? ' 1 2
"""


def tiny_vocabulary():
    """A list of 39 tokens: the five special ones, then words and pieces.

    Example:

    ```python
    tokenizer = keras_bert.BertTokenizer(
        keras_bert.testing.tiny_vocabulary(), lowercase=True
    )
    tokenizer("the quick fox")  # ids 5, 6, 8
    ```
    """
    return _WORDS.split()
