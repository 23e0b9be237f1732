"""Where the blocks of a text file begin: at documents.

    bytes   0        1,000,000       2,000,000
    block   |--------->              |
                      '-- looks on for the first document that begins here,
                          which is the end of the block before as well

Whether a document begins at a line is a matter of that line and the few bytes
before it alone, so it is the same from wherever the search has begun.
"""

import bisect

from keras_bert.data import filesystem
from keras_bert.data.text_files import is_packed
from keras_bert.data.text_formats import starts_document

_LOOK_BACK = 64
_MOST_FILES = 4096

# {(path, state, kind): [(from, border)]}, sorted: from the first position to
# the border no document begins. Without it every block of a file that is one
# document would read the rest of the file.
_KNOWN = {}


def next_border(path, position, kind):
    """The first byte from `position` on at which a document begins.

    The end of the file, if none does.

    Args:
        path: text file, not packed.
        position: integer, a byte.
        kind: format of the file.
    """
    if position == 0:
        return 0
    assert not is_packed(path)
    key = path, filesystem.state(path), kind
    spans = _KNOWN.get(key, [])
    # The last span that begins at the position or before.
    index = bisect.bisect_right(spans, (position, float("inf")))
    if index and position <= spans[index - 1][1]:
        return spans[index - 1][1]
    following = spans[index] if index < len(spans) else None
    border = _search(path, position, kind, following)
    rest = spans[index + (following is not None and border == following[1]) :]
    if len(_KNOWN) >= _MOST_FILES:
        _KNOWN.clear()
    # A new list: threads of a Beam worker may search at the same time.
    _KNOWN[key] = [*spans[:index], (position, border), *rest]
    return border


def _search(path, position, kind, known):
    with filesystem.open_bytes(path) as file:
        here = max(0, position - _LOOK_BACK)
        file.seek(here)
        before = file.read(position - here)
        # What precedes the first line break is a part of a line.
        is_start = before.endswith(b"\n")
        here = position
        while raw := file.readline(1 << 20):
            if known and known[0] <= here:
                return known[1]
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if is_start and starts_document(line, kind, _blanks(before)):
                return here
            here += len(raw)
            is_start = raw.endswith(b"\n")
            before = (before + raw[-_LOOK_BACK:])[-_LOOK_BACK:]
        return here


def _blanks(before):
    """Blank lines at the end of some bytes that end with a line."""
    rest = before.rstrip()
    # The first line break ends a line that is not blank.
    return before.count(b"\n", len(rest)) - 1
