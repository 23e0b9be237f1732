"""The published definition of BERT's tokenization, one character at a time.

Written from the description of google-research/bert's `tokenization.py`, as
slow and plain as possible; the golden files, which that code itself wrote,
check this file as well (`test_golden.py`).
"""

import unicodedata

CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def is_whitespace(c):
    return c in " \t\n\r" or unicodedata.category(c) == "Zs"


def is_dropped(c):
    if c in "\t\n\r":
        return False
    return c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf")


def is_punctuation(c):
    ascii_sign = "!" <= c <= "~" and not c.isalnum()
    return ascii_sign or unicodedata.category(c).startswith("P")


def is_cjk(c):
    return any(first <= ord(c) <= last for first, last in CJK)


def split_words(text, lowercase):
    """The words, normalised, before they are cut into pieces."""
    text = "".join(
        " " if is_whitespace(c) else c for c in text if not is_dropped(c)
    )
    text = "".join(f" {c} " if is_cjk(c) else c for c in text)
    words = []
    for word in text.split():
        if lowercase:
            word = "".join(
                c
                for c in unicodedata.normalize("NFD", word.lower())
                if unicodedata.category(c) != "Mn"
            )
        words.append(
            "".join(f" {c} " if is_punctuation(c) else c for c in word)
        )
    return " ".join(words).split()


def cut_word(word, ids):
    """The longest piece first; one piece missing makes the word unknown."""
    if len(word) > 200:
        return ["[UNK]"]
    pieces = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = len(word)
        while end > start and prefix + word[start:end] not in ids:
            end -= 1
        if end == start:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def tokenize(text, ids, lowercase):
    """Ids of a text; `ids` maps token to id."""
    return [
        ids[piece]
        for word in split_words(text, lowercase)
        for piece in cut_word(word, ids)
    ]
