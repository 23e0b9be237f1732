"""Training of a WordPiece vocabulary on text files of any size.

    files -> blocks of text -> raw words, counted -> normalised, split and
    counted again by the tokenizer's own graph -> the trainer of `tokenizers`

Only distinct words pass the graph and only counts are kept, so memory
follows the number of distinct words and not the size of the files. The
trainer sees words that are final: its own normalisation, its limit of the
alphabet and its order of equal pairs are all switched off.
"""

import numbers
import os
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.tokenizers._group_factors import group_factors
from keras_bert.tokenizers._normalize import LONGEST_WORD
from keras_bert.tokenizers._normalize import normalize
from keras_bert.tokenizers._normalize import words_of
from keras_bert.tokenizers._vocabulary_file import LONGEST_TOKEN
from keras_bert.tokenizers._vocabulary_file import SPECIAL_TOKENS

BLOCK = 1 << 20  # characters read at once
RAW_WORDS = 500_000  # distinct raw words held before they are normalised
RAW_BLOCKS = 64  # blocks read before that
WORDS = 8_000_000  # distinct words held before the rarest are dropped
FED_WORDS = 50_000_000  # words fed to the trainer; beyond, counts are scaled

# `str.split` takes these for whitespace, the tokenizer deletes them.
NOT_WHITESPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85]")

LAYOUTS = ("specials_first", "released")


def reserved_tokens(layout, lowercase):
    """The tokens that open the vocabulary, in order.

    "released" gives the special tokens the ids that they have in the
    published vocabularies (0 and 100 to 103), with unused tokens round them.
    """
    if layout == "specials_first":
        return list(SPECIAL_TOKENS)
    if layout != "released":
        raise invalid("layout", f"one of {LAYOUTS}", layout)
    # 994 unused tokens in the lower-case vocabularies, 101 in the others.
    first, count = (0, 994) if lowercase else (1, 101)
    unused = [f"[unused{first + i}]" for i in range(count)]
    return ["[PAD]", *unused[:99], *SPECIAL_TOKENS[1:], *unused[99:]]


def train_vocabulary(
    files,
    vocabulary_size,
    lowercase,
    strip_accents,
    minimum_frequency=2,
    layout="specials_first",
    progress=None,
    sampling=None,
):
    """The tokens of a vocabulary, reserved ones first."""
    for name, value in (
        ("vocabulary_size", vocabulary_size),
        ("minimum_frequency", minimum_frequency),
    ):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise invalid(name, "an int", value)
    groups = _groups(files, progress)
    reserved = reserved_tokens(layout, lowercase)
    words, alphabet = count_groups(groups, lowercase, strip_accents, sampling)
    if not words:
        raise invalid("files", "text with at least one word", files)
    least = len(reserved) + len(alphabet)
    if vocabulary_size < least:
        raise invalid(
            "vocabulary_size",
            f"at least {least}, because the text has an alphabet of "
            f"{len(alphabet)} pieces (each character alone and, where it "
            f"occurs inside a word, with ##) besides {len(reserved)} "
            "reserved tokens",
            vocabulary_size,
        )
    return _merge(
        words, reserved + alphabet, vocabulary_size, minimum_frequency
    )


def _groups(files, progress):
    """Blocks of text: those of all files, or those of each language."""
    if not isinstance(files, Mapping):
        return [_blocks(_existing(files), progress)]
    for language, blocks in files.items():
        # The blocks of a string would be its characters.
        if isinstance(blocks, (str, bytes)) or not isinstance(blocks, Iterable):
            raise invalid(
                "files",
                f"a list (or another iterable) of texts for {language!r}",
                blocks,
            )
    return list(files.values())


def _existing(files):
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    files = [os.fspath(file) for file in files]
    for file in files:
        if not os.path.isfile(file):
            raise invalid("files", "existing text files", file)
    if not files:
        raise invalid("files", "at least one text file", files)
    return files


def count_groups(groups, lowercase, strip_accents, sampling=None):
    """`count_words` over several languages, each with its factor."""
    counts, alphabet = [], set()
    for blocks in groups:
        words, pieces = count_words(blocks, lowercase, strip_accents)
        counts.append(words)
        alphabet.update(pieces)
    if len(counts) == 1:
        return counts[0], pieces
    totals = [sum(words.values()) for words in counts]
    total = Counter()
    for words, factor in zip(
        counts, group_factors(totals, sampling), strict=True
    ):
        for word, count in words.items():
            total[word] += count * factor
    total = Counter(
        {word: max(1, round(count)) for word, count in total.items()}
    )
    return total, sorted(alphabet, key=lambda c: (c.startswith("##"), c))


def count_words(blocks, lowercase, strip_accents):
    """Counter of normalised words, and the sorted alphabet of pieces."""
    words = Counter()
    single = set()
    inner = set()

    def collect_alphabet():
        for word in words:
            single.update(word)
            inner.update(word[1:])

    raw = Counter()
    split = _word_function(lowercase, strip_accents)
    for number, text in enumerate(blocks, 1):
        raw.update(NOT_WHITESPACE.sub("", text).split())
        if len(raw) > RAW_WORDS or number % RAW_BLOCKS == 0:
            split(raw, words)
            raw.clear()
        if len(words) > WORDS:
            collect_alphabet()
            _drop_rarest(words)
    split(raw, words)
    collect_alphabet()
    return words, sorted(single) + ["##" + c for c in sorted(inner)]


def _drop_rarest(words):
    kept = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    warnings.warn(
        f"More than {WORDS} distinct words: the rarer half, down to "
        f"{kept[len(kept) // 2][1]} occurrences, is dropped. Their "
        "characters stay in the alphabet.",
        stacklevel=4,
    )
    words.clear()
    words.update(dict(kept[: len(kept) // 2]))


def _blocks(files, progress):
    """Blocks of text that end between words."""
    total = sum(os.path.getsize(file) for file in files)
    before = 0
    for file in files:
        with open(file, encoding="utf-8", newline="") as stream:
            rest = ""
            while text := _checked_text(stream, file):
                text = rest + text
                cut = max(text.rfind("\n"), text.rfind(" ")) + 1
                if not cut and len(text) >= BLOCK:
                    cut = _last_boundary(text)
                rest = text[cut:]
                yield text[:cut]
                if progress is not None:
                    progress(before + stream.buffer.tell(), total)
            yield rest
        before += os.path.getsize(file)


def _checked_text(stream, file):
    """The next block of a file; a file that is no UTF-8 text is refused."""
    try:
        text = stream.read(BLOCK)
    except UnicodeDecodeError as error:
        raise invalid("files", f"UTF-8 text ({error})", str(file)) from None
    if "\0" in text:
        raise invalid(
            "files", "text (it holds NUL bytes: a binary file)", str(file)
        )
    return text


def _last_boundary(text):
    """Where a text without spaces can be cut: after a sign or ideograph."""
    for end in range(len(text), len(text) - 10 * LONGEST_WORD, -1):
        c = text[end - 1]
        if unicodedata.category(c)[0] == "P" or "\u4e00" <= c <= "\u9fff":
            return end
    return len(text)


def _word_function(lowercase, strip_accents):
    """A function that adds the normalised words of a Counter to another."""
    tf = tensorflow()

    def graph(rows):
        rows = normalize(rows, lowercase, strip_accents)
        starts, ends = words_of(rows)
        return rows, starts, ends.values

    split = tf.function(
        graph,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    ).get_concrete_function()

    def add(raw, words):
        keys = list(raw)
        for start in range(0, len(keys), 20_000):
            part = keys[start : start + 20_000]
            rows, starts, ends = split(tf.constant(part, tf.string))
            splits = starts.row_splits.numpy().tolist()
            starts = starts.values.numpy().tolist()
            ends = ends.numpy().tolist()
            for i, (key, row) in enumerate(
                zip(part, rows.numpy().tolist(), strict=True)
            ):
                count = raw[key]
                for k in range(splits[i], splits[i + 1]):
                    word = row[starts[k] : ends[k]].decode("utf-8")
                    # Longer words are unknown whatever the vocabulary.
                    if len(word) <= LONGEST_WORD:
                        words[word] += count

    return add


def _merge(words, opening, vocabulary_size, minimum_frequency):
    from tokenizers import Tokenizer
    from tokenizers import models
    from tokenizers import pre_tokenizers
    from tokenizers import trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=minimum_frequency,
        # The alphabet is given as special tokens too: this fixes the number
        # of every piece. The trainer would number those with ## in the order
        # of a hash map, on which the choice between equal pairs depends.
        special_tokens=opening,
        # Its default of 1,000 characters makes most ideographs unknown.
        limit_alphabet=0x110000,
        show_progress=False,
    )
    scale = max(1, -(-sum(words.values()) // FED_WORDS))

    def repeated():
        for word in sorted(words):
            if len(word.encode("utf-8")) > LONGEST_TOKEN:
                continue
            count = -(-words[word] // scale)
            while count > 0:
                yield " ".join([word] * min(count, 10_000))
                count -= 10_000

    tokenizer.train_from_iterator(repeated(), trainer)
    ids = tokenizer.get_vocab()
    pieces = sorted(ids.keys() - set(opening), key=ids.get)
    return opening + pieces
