"""Files with a word a line, in columns: CoNLL-2003, WNUT-2017 and others.

    -DOCSTART- -X- O O
                                a blank line ends a sentence, also one that
    EU NNP I-NP I-ORG           holds nothing but spaces or tabs
    rejects VBZ I-VP O

The first column is the word, the last one the tag. Columns of a line with a
tab stand between tabs, of other lines between spaces; other white space
(U+00A0, U+2028) is part of a word.

Where the lines of every sentence are numbered from 1, the second column is
the word and the third one the tag, as in GermEval 2014 (whose fourth column
holds the tags of entities inside of entities). Lines that begin with # before
the words of a sentence, and do not look like them, are comments.
"""

import re
from pathlib import Path
from typing import NamedTuple

from keras_bert._errors import invalid

DOCUMENT = "-DOCSTART-"
_TAG = re.compile("O|[BIESULM](-.*)?")


class Sentences(NamedTuple):
    """`words` and `tags` per sentence (`tags` None for files without).

    `documents`: per sentence the number of its document, all 0 in a file
    without marks. `comments`: how many lines were left out as such.
    """

    words: list
    tags: list | None
    documents: list
    comments: int


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
    blocks, documents, comments = _blocks(text)
    if not blocks:
        raise invalid("file", "at least one word", str(file))
    width = len(blocks[0][0][1])
    for number, cells in (line for block in blocks for line in block):
        if len(cells) != width:
            raise invalid(
                "file",
                f"{width} columns in line {number} of {path}, as in the lines "
                "before it",
                f"{len(cells)} columns: {' '.join(cells)[:80]!r}",
            )
    word, tag = (1, 2) if width > 2 and _numbered(blocks) else (0, -1)
    words, tags = (
        [[cells[place] for _, cells in block] for block in blocks]
        for place in (word, tag)
    )
    return Sentences(words, tags if width > 1 else None, documents, comments)


def _blocks(text):
    """Sentences as lists of (line number, cells); documents; comments."""
    found, document, block = [], 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        line = line.removesuffix("\r")
        cells = _cells(line) if line.strip(" \t\r") else None
        mark = cells is not None and cells[0].split(" ")[0] == DOCUMENT
        if cells is not None and not mark:
            block.append((number, cells))
            continue
        found.append((block, document))
        document += mark
        block = []
    words = [
        cells for block, _ in found for _, cells in block
        if not cells[0].startswith("#")
    ]  # fmt: skip
    # Without prefixes nothing tells a tag from the end of a comment.
    tagged = any("-" in cells[-1] for cells in words) and all(
        _TAG.fullmatch(cells[-1]) for cells in words
    )
    width = len(words[0]) if words else None
    blocks, documents, comments, begun = [], [], 0, 0
    for block, document in found:
        while block and _is_comment(block[0][1], width, tagged):
            # CoNLL-2012 marks its documents so.
            begun += block[0][1][0].startswith("#begin")
            comments += 1
            block = block[1:]
        if block:
            blocks.append(block)
            documents.append(document + begun)
    return blocks, documents, comments


def _is_comment(cells, width, tagged):
    """Whether the first line of a sentence is none of its words."""
    if not cells[0].startswith("#") or width is None:
        return False
    return len(cells) != width or (tagged and _TAG.fullmatch(cells[-1]) is None)


def _numbered(blocks):
    """Whether the first column counts the words of each sentence."""
    return all(
        cells[0] == str(place)
        for block in blocks
        for place, (_, cells) in enumerate(block, 1)
    )


def _cells(line):
    if "\t" in line:
        # A tab before the first column stays: the word is empty.
        cells = re.split("\t+", line.rstrip(" \t"))
        return [cell.strip(" ") for cell in cells]
    return re.split(" +", line.strip(" "))
