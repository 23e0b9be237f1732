"""Text files -> documents -> sentences, streaming.

A document is a list of sentences. Every file (`.gz` and `.bz2` too) is read
line by line, split at "\\n" only, and a file boundary is a document boundary.
Four formats, told apart by the first 256 kB of each file:

`lines`     The original's format: a sentence a line, a blank line between
            documents.
`passages`  As `lines`, but a line holds several sentences (1.5 on average
            or more): each line is split by the rule of `split_sentences`.
`wikitext`  A line ` = Title = ` starts a document, ` = = Section = = ` is
            dropped, blank lines mean nothing, each line is split.
`prose`     Hard-wrapped text, like a plain-text book: lines of about equal
            length (30 to 120 characters), most of which end inside a
            sentence, with punctuation. The lines of a paragraph are joined
            and split; a blank line ends the paragraph, two or more blank
            lines end the document (a chapter).
"""

import bz2
import glob
import gzip
import os
import re

from keras_bert._errors import invalid
from keras_bert.data.sentences import split_sentences

FORMATS = ("auto", "lines", "passages", "wikitext", "prose")

_HEAD_BYTES = 256 * 1024
# No text has such lines; without a bound a file without line breaks would be
# read into memory whole.
_MAX_LINE_BYTES = 64 * 1024 * 1024

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open}

# Columns at which plain text is wrapped; a Chinese character is one.
_NARROWEST = 30
_WIDEST = 120

_TITLE = re.compile(r" ?= [^=].* = ?$")
_HEADING = re.compile(r" ?(= )+[^=].*( =)+ ?$")
_ENDS_SENTENCE = re.compile(
    "[.!?\u2026:;\u3002\uff01\uff1f\uff1a\uff1b][\"'\u2019\u201d\u00bb)\\]\u300d"
    "\u300f\uff09\u3011]*$"
)
_MARK = re.compile("[.!?](?!\\w)|[\u3002\uff01\uff1f]")


def find_files(files):
    """The paths that `files` names, in order, patterns expanded and sorted.

    Args:
        files: a path or glob pattern, or a list of them. `**` matches
            folders at any depth.

    Raises:
        ValueError: naming `files`, when a path does not exist, is a folder,
            or a pattern matches nothing.
    """
    if isinstance(files, str | os.PathLike):
        files = [files]
    paths = []
    for name in files:
        if not isinstance(name, str | os.PathLike):
            raise invalid("files", "paths or glob patterns (strings)", name)
        name = os.fspath(name)
        if os.path.exists(name):
            matches = [name]
        else:
            matches = sorted(glob.glob(name, recursive=True))
            matches = [path for path in matches if os.path.isfile(path)]
        if not matches:
            raise invalid("files", "existing text files", name)
        for path in matches:
            if os.path.isdir(path):
                raise invalid(
                    "files",
                    "text files, or a pattern such as "
                    f"{os.path.join(path, '*.txt')!r} (this is a folder)",
                    path,
                )
        paths.extend(matches)
    if not paths:
        raise invalid("files", "at least one text file", files)
    return paths


def read_documents(files, file_format="auto"):
    """Yield the documents of text files, each a list of sentences.

    Args:
        files: a path or glob pattern, or a list of them.
        file_format: "auto" looks at each file; else one of "lines",
            "passages", "wikitext", "prose" for all.

    Raises:
        ValueError: naming `files` and the path, for a missing file, a binary
            one or one that is not UTF-8.

    Example:

    ```python
    for document in read_documents("books/*.txt"):
        print(len(document), "sentences, the first:", document[0])
    ```
    """
    if file_format not in FORMATS:
        raise invalid("file_format", f"one of {FORMATS}", file_format)
    # Missing files are reported at the call, not at the first document.
    return _documents(find_files(files), file_format)


def _documents(paths, file_format):
    for path in paths:
        kind = file_format
        if kind == "auto":
            kind = guess_format(_head(path))
        reader = {"wikitext": _wikitext, "prose": _prose}.get(kind, _lines)
        for document in reader(read_lines(path), kind):
            if document:
                yield document


def read_lines(path):
    """Yield the lines of a UTF-8 file, without line end, BOM removed.

    `.gz` and `.bz2` files are unpacked while they are read.
    """
    opener = _OPENERS.get(os.path.splitext(path)[1].lower(), open)
    with opener(path, "rb") as file:
        number = 0
        while raw := file.readline(_MAX_LINE_BYTES):
            number += 1
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if len(raw) == _MAX_LINE_BYTES:
                raise invalid(
                    "files",
                    f"lines shorter than {_MAX_LINE_BYTES} bytes "
                    f"(line {number} is longer)",
                    path,
                )
            if b"\0" in raw or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise invalid(
                    "files",
                    f"UTF-8 text (line {number} has NUL bytes or a UTF-16 "
                    "mark: a binary or a UTF-16 file)",
                    path,
                )
            try:
                yield raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise invalid(
                    "files",
                    f"UTF-8 text (line {number} has the byte "
                    f"0x{raw[error.start]:02x} that UTF-8 does not allow "
                    "there)",
                    path,
                ) from None


def guess_format(lines):
    """The format of a file, from its first lines (see the module)."""
    if any(_TITLE.match(line) for line in lines):
        return "wikitext"
    texts = [line.strip() for line in lines]
    # Lines followed by another one: those that wrapping would have cut.
    inner = [
        text
        for text, following in zip(texts, texts[1:], strict=False)
        if text and following
    ]
    if len(inner) >= 4:
        widths = sorted(len(text) for text in inner)
        width = widths[int(0.95 * (len(widths) - 1))]
        even = sum(len(text) >= 0.75 * width for text in inner)
        unfinished = sum(not _ENDS_SENTENCE.search(text) for text in inner)
        marks = sum(bool(_MARK.search(text)) for text in texts)
        if (
            _NARROWEST <= width <= _WIDEST
            and even >= 0.6 * len(inner)
            and unfinished >= 0.6 * len(inner)
            # Without punctuation joined lines could not be split again.
            and marks >= 0.1 * len(inner)
        ):
            return "prose"
    texts = [text for text in texts if text]
    sentences = sum(len(split_sentences(text)) for text in texts)
    return "passages" if sentences >= 1.5 * len(texts) > 0 else "lines"


def _head(path):
    lines = []
    size = 0
    for line in read_lines(path):
        lines.append(line)
        size += len(line)
        if size > _HEAD_BYTES:
            break
    return lines


def _lines(lines, kind):
    document = []
    for line in lines:
        text = line.strip()
        if not text:
            yield document
            document = []
        elif kind == "passages":
            document.extend(split_sentences(text))
        else:
            document.append(text)
    yield document


def _wikitext(lines, kind):
    document = []
    for line in lines:
        if _TITLE.match(line):
            yield document
            document = []
        elif not _HEADING.match(line):
            document.extend(split_sentences(line))
    yield document


def _prose(lines, kind):
    document = []
    paragraph = []
    blanks = 0
    for line in lines:
        text = line.strip()
        if text:
            if blanks >= 2:
                yield document
                document = []
            blanks = 0
            paragraph.append(text)
        else:
            document.extend(_paragraph_sentences(paragraph))
            paragraph = []
            blanks += 1
    document.extend(_paragraph_sentences(paragraph))
    yield document


def _paragraph_sentences(lines):
    text = ""
    for line in lines:
        # Chinese and Japanese have no space where a line was wrapped.
        wide = text and text[-1] >= "\u2e80" and line[0] >= "\u2e80"
        text += line if wide or not text else " " + line
    return split_sentences(text)
