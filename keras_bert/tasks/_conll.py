"""Files with a word a line, in columns: CoNLL-2003, WNUT-2017 and others.

    -DOCSTART- -X- O O
                                a blank line ends a sentence, also one that
    EU NNP I-NP I-ORG           holds nothing but spaces or tabs
    rejects VBZ I-VP O

The first column is the word, the last one the tag. Columns of a line with a
tab stand between tabs, of other lines between spaces; other white space
(U+00A0, U+2028) is part of a word.
"""

import re
from pathlib import Path
from typing import NamedTuple

from keras_bert._errors import invalid

DOCUMENT = "-DOCSTART-"


class Sentences(NamedTuple):
    """`words` and `tags` per sentence (`tags` None for files without).

    `documents`: per sentence the number of its document, all 0 in a file
    without marks.
    """

    words: list
    tags: list | None
    documents: list


def read(file):
    """The sentences of a file."""
    path = Path(file)
    if not path.is_file():
        raise invalid("file", "an existing file of columns", str(file))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid("file", f"UTF-8 text ({error})", str(file)) from error
    if "\0" in text:
        raise invalid("file", "a text file (it holds NUL bytes)", str(file))
    words, tags, documents = [], [], []
    width, document, fresh = None, 0, True
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip(" \t\r"):
            fresh = True
            continue
        cells = _cells(line)
        if cells[0].split(" ")[0] == DOCUMENT:
            document += 1
            fresh = True
            continue
        if width is None:
            width = len(cells)
        if len(cells) != width:
            raise invalid(
                "file",
                f"{width} columns in line {number} of {path}, as in the lines "
                "before it",
                f"{len(cells)} columns: {line[:80]!r}",
            )
        if fresh:
            words.append([])
            tags.append([])
            documents.append(document)
            fresh = False
        words[-1].append(cells[0])
        tags[-1].append(cells[-1])
    if not words:
        raise invalid("file", "at least one word", str(file))
    return Sentences(words, tags if width > 1 else None, documents)


def _cells(line):
    if "\t" in line:
        # A tab before the first column stays: the word is empty.
        cells = re.split("\t+", line.rstrip(" \t"))
        return [cell.strip(" ") for cell in cells]
    return re.split(" +", line.strip(" "))
