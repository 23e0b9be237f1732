"""Reading, checking and writing of vocabulary files.

A vocabulary file holds one token a line; the line number, from 0, is the id.
Lines end at "\\n" and nowhere else: the released Chinese vocabulary holds
U+2028, at which `str.splitlines` would break.
"""

import json
import os
from pathlib import Path

from keras_bert._errors import invalid

# Bytes; the limit of tf-text's WordPiece.
LONGEST_TOKEN = 256

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_vocabulary(path):
    """The list of tokens of a file."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise invalid("vocabulary", "a list or an existing file", path)
    data = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    # A token such as "[PAD]" is no JSON list.
    if data.lstrip()[:1] == b"{" or data.lstrip()[:2] == b'["':
        return _read_json(path, data)
    lines = data.split(b"\n")
    tokens = []
    for number, line in enumerate(lines, 1):
        try:
            token = line.decode("utf-8").strip(" \t\r")
        except UnicodeDecodeError:
            raise invalid(
                "vocabulary", f"UTF-8 in line {number} of {path}", line
            ) from None
        if "\t" in token:
            raise invalid(
                "vocabulary",
                "one token a line; a tab, as in SentencePiece files with "
                f"scores, stands in line {number} of {path}",
                token,
            )
        tokens.append(token)
    # The end of the last line and blank lines after it are no tokens.
    while tokens and not tokens[-1]:
        tokens.pop()
    check_vocabulary(tokens, path)
    return tokens


def _read_json(path, data):
    """A JSON list, object token -> id, or `tokenizer.json` that holds one."""
    try:
        table = json.loads(data)
    except ValueError as error:
        raise invalid(
            "vocabulary", f"JSON or one token a line in {path}", str(error)
        ) from None
    if isinstance(table, list):
        check_vocabulary(table, path)
        return table
    model = table.get("model", table)
    kind = type(model).__name__
    if isinstance(model, dict):
        kind = model.get("type", "WordPiece")
        table = model.get("vocab", model)
    if kind != "WordPiece" or not isinstance(table, dict):
        raise invalid("vocabulary", f"a WordPiece model in {path}", kind)
    tokens = [None] * len(table)
    for token, index in table.items():
        if (
            not isinstance(index, int)
            or not 0 <= index < len(tokens)
            or tokens[index] is not None
        ):
            raise invalid(
                "vocabulary",
                f"ids from 0 to {len(tokens) - 1}, each once, in {path}",
                {token: index},
            )
        tokens[index] = token
    check_vocabulary(tokens, path)
    return tokens


def check_vocabulary(tokens, path=None):
    """Refuses what cannot work, naming the line and the token."""

    def place(index):
        return f"line {index + 1} of {path}" if path else f"position {index}"

    seen = {}
    for index, token in enumerate(tokens):
        if not isinstance(token, str):
            raise invalid("vocabulary", f"a str at {place(index)}", token)
        try:
            size = len(token.encode("utf-8").removeprefix(b"##"))
        except UnicodeEncodeError:
            raise invalid(
                "vocabulary", f"no lone surrogate at {place(index)}", token
            ) from None
        if size > LONGEST_TOKEN:
            raise invalid(
                "vocabulary",
                f"tokens of at most {LONGEST_TOKEN} bytes, but "
                f"{place(index)} has {size}",
                token,
            )
        if token in seen:
            raise invalid(
                "vocabulary",
                f"each token once, but {place(index)} repeats "
                f"{place(seen[token])}",
                token,
            )
        seen[token] = index
    for special in SPECIAL_TOKENS:
        if special in seen:
            continue
        hint = f"the token {special}"
        if path:
            hint += f" in {path}"
        if special.lower() in seen:
            other = special.lower()
            hint += (
                f" (in capitals; {place(seen[other])} is {other}, which the "
                "original code does not accept either)"
            )
        elif "<s>" in seen or "</s>" in seen or "<unk>" in seen:
            hint += " (this looks like the vocabulary of another model)"
        raise invalid("vocabulary", hint, tokens[:5])


def write_vocabulary(tokens, path):
    """Writes the file whole or not at all."""
    for index, token in enumerate(tokens):
        if "\n" in token:
            raise invalid(
                "vocabulary", f"no line break in token {index}", token
            )
    write_text("".join(token + "\n" for token in tokens), path)


def write_text(text, path):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(text.encode("utf-8"))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
