"""Sentences -> ids, and which pieces belong to one word.

WordPiece marks the later pieces of a word by ##, but ideographs stand alone:
the words of a Chinese text have to be told. They are given in the text,
separated by spaces, or found by a segmenter.

    text       使用 语言 模型           words="spaces"
    pieces     使 用 语 言 模 型
    continues  0  1  0  1  0  1
"""

import functools

import numpy as np

from keras_bert._errors import invalid


def tokenize_sentences(sentences, tokenizer, words=None):
    """The ids of sentences, flat.

    Args:
        sentences: list of str.
        tokenizer: a `BertTokenizer`.
        words: what a word is, for whole-word masking. `None`: pieces that
            begin with ## go on the word before them. "spaces": what stands
            between spaces. "jieba": what the segmenter jieba finds (extra
            `chinese`). Or a function from a str to the list of its words.

    Returns:
        ids (int array), their number per sentence (int64), and whether each
        continues a word (bool; `None` without `words`).
    """
    if words is None:
        ragged = tokenizer(sentences)
        return (
            np.asarray(ragged.flat_values),
            np.asarray(ragged.row_lengths(), dtype=np.int64),
            None,
        )
    segment = segmenter(words)
    ids, numbers, _ = tokenizer.tokenize_words(
        [segment(sentence) for sentence in sentences], return_missing=True
    )
    lengths = np.asarray(ids.row_lengths(), dtype=np.int64)
    numbers = np.asarray(numbers.flat_values)
    continues = np.zeros(len(numbers), dtype=bool)
    continues[1:] = numbers[1:] == numbers[:-1]
    continues[(np.cumsum(lengths) - lengths)[lengths > 0]] = False
    return np.asarray(ids.flat_values), lengths, continues


def segmenter(words):
    """The function from a text to its words that `words` names."""
    if callable(words):
        return words
    if words == "spaces":
        # The tokenizer deletes control characters and splits at spaces.
        return str.split
    if words == "jieba":
        return _jieba()
    raise invalid("words", 'None, "spaces", "jieba" or a function', words)


@functools.cache
def _jieba():
    try:
        import jieba
    except ImportError as error:
        raise ImportError(
            'words="jieba" needs the extra `chinese` '
            "(pip install 'keras3-bert[chinese]')"
        ) from error
    import logging

    jieba.setLogLevel(logging.WARNING)
    return lambda text: [word for word in jieba.cut(text) if word.strip()]
