"""Text files -> documents -> sentences, streaming.

A document is a list of sentences; a file boundary is a document boundary. The
formats are told apart by the first 256 kB of each file: see
`keras_bert.data.text_formats`.
"""

import functools
from typing import NamedTuple

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data.document_borders import next_border
from keras_bert.data.text_files import find_files
from keras_bert.data.text_files import read_lines
from keras_bert.data.text_formats import FORMATS
from keras_bert.data.text_formats import documents_of
from keras_bert.data.text_formats import guess_format

_HEAD_BYTES = 256 * 1024


class TextBlock(NamedTuple):
    """The documents that begin in some bytes of a file.

    `start` and `end`: bytes; `end` `None` is the end of the file. `group`:
    number of the group of the file.
    """

    path: str
    start: int = 0
    end: int | None = None
    group: int = 0


def read_documents(files, file_format="auto", text_field="text"):
    """Yield the documents of text files, each a list of sentences.

    Args:
        files: a path, glob pattern or folder, or a list of them.
        file_format: "auto" looks at each file; else one of "lines",
            "passages", "wikitext", "prose", "jsonl", "wiki" for all.
        text_field: the field of a JSON record that holds the text.

    Raises:
        ValueError: naming `files` and the path, for a missing file, a binary
            one or one that is not UTF-8.

    Example:

    ```python
    for document in read_documents("books/*.txt"):
        print(len(document), "sentences, the first:", document[0])
    ```
    """
    check_format(file_format)
    # Missing files are reported at the call, not at the first document.
    blocks = [TextBlock(path) for path in find_files(files)]
    return _documents(blocks, file_format, text_field)


def _documents(blocks, file_format, text_field):
    for block in blocks:
        yield from read_block(block, file_format, text_field)


def check_format(file_format):
    if file_format not in FORMATS:
        raise invalid("file_format", f"one of {FORMATS}", file_format)


def read_block(block, file_format="auto", text_field="text"):
    """Yield the documents of a `TextBlock`.

    The blocks of a file that follow each other give every document once.
    """
    kind = file_format
    if kind == "auto":
        kind = kind_of(block.path)
    start = next_border(block.path, block.start, kind)
    end = block.end and next_border(block.path, block.end, kind)
    if end is None or start < end:
        lines = read_lines(block.path, start, end)
        yield from documents_of(lines, kind, block.path, text_field, start)


def kind_of(path):
    """The format of a file, by its first lines."""
    return _kind_of(path, filesystem.state(path))


# A file is cut into many blocks, and all of one process ask the same.
@functools.lru_cache(maxsize=4096)
def _kind_of(path, state):
    lines = []
    size = 0
    for line in read_lines(path):
        lines.append(line)
        size += len(line)
        if size > _HEAD_BYTES:
            break
    return guess_format(lines)
