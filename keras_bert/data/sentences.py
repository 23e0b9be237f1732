"""Prose -> sentences.

The rule, for every language at once:

- A sentence ends after `.`, `!`, `?` or an ellipsis, with the quotes and
  brackets that close it, when white space follows and the next word does not
  start with a lower-case letter.
- A full stop does not end a sentence after a known abbreviation ("Mr.",
  "e.g.", "No." before a digit), after a single capital letter ("J. S.
  Bach") or after a number at the very start of a line ("3. Method").
- A sentence ends after the full-width marks of Chinese and Japanese, with
  closing quotes, white space or not.

Nothing is lost: the sentences joined by spaces hold every word of the text.
"""

import re

_CLOSING = "\"'\u2019\u201d\u00bb\u203a\u300d\u300f\uff09\u3011\u300b)\\]"

# Either full-width punctuation, or ASCII punctuation before white space.
_END = re.compile(
    rf"[\u3002\uff01\uff1f\uff61]+[{_CLOSING}]*\s*"
    rf"|[.!?\u2026]+[{_CLOSING}]*\s+"
)

_ABBREVIATION = re.compile(
    r"mrs?|ms|dr|prof|st|sr|jr|gen|col|capt|lt|sgt|rev|hon|messrs"
    r"|vs|etc|al|cf|ca|figs?|eqs?|sec|vols?|pp|eds?|inc|ltd|co|corp|dept"
    r"|e\.g|i\.e|a\.m|p\.m|u\.s|u\.k"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec",
    re.IGNORECASE,
)


def split_sentences(text):
    """The sentences of a paragraph, each stripped, none empty.

    >>> split_sentences("Dr. Who came. He left! (Why?) Nobody knows.")
    ['Dr. Who came.', 'He left!', '(Why?)', 'Nobody knows.']
    """
    sentences = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end < len(text) and not _is_border(text, start, match):
            continue
        sentence = text[start:end].strip()
        if sentence:
            sentences.append(sentence)
        start = end
    rest = text[start:].strip()
    if rest:
        sentences.append(rest)
    return sentences


def _is_border(text, start, match):
    mark = match.group()
    if mark[0] in "\u3002\uff01\uff1f\uff61":
        return True
    following = text[match.end()]
    if following.islower():
        return False
    if mark.rstrip() != ".":
        return True
    words = text[start : match.start()].split()
    if not words:
        return False
    word = words[-1].lstrip("([{\"'\u2018\u201c")
    if _ABBREVIATION.fullmatch(word):
        return False
    # "No. 5", but not the answer.
    if word.lower() in ("no", "nos") and following.isdigit():
        return False
    if len(word) == 1 and word.isalpha() and word.isupper():
        return False
    return not (len(words) == 1 and word.isdigit())
