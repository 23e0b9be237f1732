"""Lines -> documents: the formats of text files, and how they are told apart.

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
`jsonl`     A JSON object a line, a document each: its field "text" is
            passages, one a line.
`wiki`      WikiExtractor's output, `<doc ...>` to `</doc>` or its JSON
            lines. Text passages only, as the paper says: titles, headings,
            list items and table rows are dropped (`is_passage`).

A document of more than 100,000 sentences, or 16 million characters, goes on
as another one, and a sentence of more than a million characters is cut at
white space, so that nothing is larger than memory.
"""

import json
import re

from keras_bert._errors import invalid
from keras_bert.data import sentences
from keras_bert.data.sentences import split_sentences
from keras_bert.data.text_files import line_place

FORMATS = ("auto", "lines", "passages", "wikitext", "prose", "jsonl", "wiki")

MAX_SENTENCES = 100_000
MAX_CHARACTERS = 16_000_000
MAX_SENTENCE = 1_000_000

# Columns at which plain text is wrapped; a Chinese character is one.
_NARROWEST = 30
_WIDEST = 120

_TITLE = re.compile(r" ?= [^=].* = ?$")
_HEADING = re.compile(r" ?(= )+[^=].*( =)+ ?$")
_DOC = re.compile(r'<doc [^>]*id="[^>]*>\s*$')
_CLOSING = rf"[{sentences.CLOSING}]*$"
_MARKS = f"[{sentences.SPACED}{sentences.ALWAYS}]|{sentences.LOCAL}"
_ENDS_SENTENCE = re.compile(f"(?:{_MARKS}|[:;\uff1a\uff1b]){_CLOSING}")
_MARK = re.compile(rf"[{sentences.SPACED}](?!\w)|[{sentences.ALWAYS}]")
_ENDS_PASSAGE = re.compile(f"(?:{_MARKS}){_CLOSING}")
# Letters of scripts without spaces between words: syllables and words (Chinese
# and Japanese), and others: Thai to Tibetan, Burmese, Khmer.
_WIDE = re.compile("[\u2e80-\U0010ffff]")
_UNSPACED = re.compile("[\u0e00-\u109f\u1780-\u17ff]")
_THAI = re.compile("[\u0e00-\u0eff]")
_LIST_OR_TABLE = re.compile(
    r"[*#;|!\u2022\u00b7]|[-\u2013\u2014]\s|\{\||\|\}|BULLET::::|Section::::"
)
_WIKI_KEYS = {"id", "url", "title", "text"}


def guess_format(lines):
    """The format of a file, from its first lines (see the module)."""
    first = next((line for line in lines if line.strip()), "")
    if _DOC.match(first):
        return "wiki"
    if first.startswith("{"):
        record = _parsed(first)
        if isinstance(record, dict):
            return "wiki" if record.keys() >= _WIKI_KEYS else "jsonl"
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
    count = sum(len(split_sentences(text)) for text in texts)
    return "passages" if count >= 1.5 * len(texts) > 0 else "lines"


def documents_of(lines, kind, path, text_field="text", start=0):
    """Yield the documents of a file's lines, each a list of sentences.

    `start`: the byte of the file at which the lines begin, for messages.
    """
    if kind == "jsonl" or kind == "wiki":
        found = _records(lines, kind, path, text_field, start)
    else:
        reader = {"wikitext": _wikitext, "prose": _prose}.get(kind, _lines)
        found = reader(lines, kind)
    size = 0
    part = []
    for document, whole in found:
        lengths = [len(sentence) for sentence in document]
        if max(lengths, default=0) > MAX_SENTENCE:
            document = [part for one in document for part in _cut(one)]
        part += document
        size += sum(lengths)
        if whole or size > MAX_CHARACTERS or len(part) >= MAX_SENTENCES:
            if part:
                yield part
            part, size = [], 0
    if part:
        yield part


def _cut(sentence):
    """A sentence in parts of at most `MAX_SENTENCE` characters."""
    while len(sentence) > MAX_SENTENCE:
        end = sentence.rfind(" ", 1, MAX_SENTENCE)
        end = MAX_SENTENCE if end < 0 else end
        yield sentence[:end]
        sentence = sentence[end:].lstrip()
    if sentence:
        yield sentence


def starts_document(line, kind, blank_lines):
    """Whether a line begins a document, whatever came before.

    Args:
        line: the line.
        kind: format of the file.
        blank_lines: how many blank lines precede it at least.
    """
    if kind == "jsonl":
        return True
    if kind == "wiki":
        return line.startswith(("<doc ", '{"'))
    if kind == "wikitext":
        return bool(_TITLE.match(line))
    needed = 2 if kind == "prose" else 1
    return blank_lines >= needed and bool(line.strip())


# The readers yield (sentences, whether the document ends with them), so that
# a document without end is handed on in pieces.
_PIECE = 1000


def _lines(lines, kind):
    document = []
    for line in lines:
        text = line.strip()
        if not text:
            yield document, True
            document = []
        elif kind == "passages":
            document += split_sentences(text)
        else:
            document.append(text)
        if len(document) >= _PIECE:
            yield document, False
            document = []
    yield document, True


def _wikitext(lines, kind):
    for line in lines:
        if _TITLE.match(line):
            yield [], True
        elif not _HEADING.match(line):
            yield split_sentences(line), False
    yield [], True


def _prose(lines, kind):
    paragraph = []
    blanks = 0
    for line in lines:
        text = line.strip()
        if text:
            if blanks >= 2:
                yield [], True
            blanks = 0
            paragraph.append(text)
            if len(paragraph) >= _PIECE:
                yield _paragraph_sentences(paragraph), False
                paragraph = []
        else:
            yield _paragraph_sentences(paragraph), False
            paragraph = []
            blanks += 1
    yield _paragraph_sentences(paragraph), True


def _paragraph_sentences(lines):
    text = ""
    for line in lines:
        # Chinese and Japanese have no space where a line was wrapped.
        wide = text and text[-1] >= "\u2e80" and line[0] >= "\u2e80"
        text += line if wide or not text else " " + line
    return split_sentences(text)


def _records(lines, kind, path, text_field, start):
    title = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = None
        if kind == "jsonl" or line.startswith("{"):
            record = _parsed(line)
        # Tables that were left over begin with a brace as well.
        begins = line.startswith('{"') or isinstance(record, dict)
        if kind == "wiki" and not begins:
            if _DOC.match(line):
                title = ""
            elif line.startswith("</doc>"):
                yield [], True
            elif title == "":
                # The first line repeats the title.
                title = line
            elif is_passage(line):
                yield split_sentences(line), False
            continue
        if not isinstance(record, dict):
            raise invalid(
                "files",
                f"a JSON object a line ({line_place(number, start)} is none)",
                path,
            )
        text = record.get(text_field)
        if not isinstance(text, str):
            raise invalid(
                "text_field",
                f"a field of every record of {path} that holds a string "
                f"({line_place(number, start)} has the fields "
                f"{sorted(record)})",
                text_field,
            )
        document = []
        for passage in text.split("\n"):
            if kind != "wiki" or is_passage(passage):
                document += split_sentences(passage)
        yield document, True


def _parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def is_passage(line):
    """Whether a line of an encyclopedia is running text.

    No list item or table row (by its first characters), and no title or
    heading: it ends as a sentence ends and has at least five words, eight
    Chinese or Japanese characters, or 30 letters of another script without
    spaces. Thai and Lao, which have no mark at the end of a sentence, need 60.
    ("Early life." is a heading of WikiExtractor, which closes them with a
    full stop.)

    >>> is_passage("Early life.")
    False
    """
    text = line.strip()
    if not text or _LIST_OR_TABLE.match(text):
        return False
    if not _ENDS_PASSAGE.search(text):
        return not text.isascii() and len(_THAI.findall(text)) >= 60
    if len(text.split(None, 5)) >= 5:
        return True
    return len(_WIDE.findall(text)) >= 8 or len(_UNSPACED.findall(text)) >= 30
