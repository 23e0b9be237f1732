"""Tokenized documents in three flat arrays.

    ids               7 12 5 9 | 4 4 8 | 6 2 ...      uint16 or uint32
    sentence_bounds   0          4       7      ...   offsets into ids
    document_bounds   0                  2      ...   offsets into sentences

Two bytes a token for vocabularies up to 65,536 tokens: 100 million tokens
take 200 MB, and a document or a sentence is a slice.
"""

import numpy as np

from keras_bert._errors import invalid
from keras_bert.data.documents import read_documents
from keras_bert.data.words import tokenize_sentences

# Sentences and characters per call of the tokenizer: large enough that the
# call costs nothing against the work, small enough to bound memory.
_SENTENCES_PER_CALL = 1000
_CHARACTERS_PER_CALL = 1_000_000


class Corpus:
    """Documents as token ids, held in memory.

    Args:
        ids: integer array of all token ids, without special tokens.
        sentence_bounds: integer array, length sentences + 1: where in `ids`
            each sentence starts, and the end of the last.
        document_bounds: integer array, length documents + 1: with which
            sentence each document starts, and the number of sentences.
        continues: bool array as `ids`: whether a token goes on the word of
            the token before it, for whole-word masking. `None`: the pieces
            that begin with ## do.
        groups: integer array, the group (language) of each document. `None`:
            all are of one.

    Raises:
        ValueError: when the bounds do not cover the ids, or a sentence or a
            document is empty.

    Example:

    ```python
    corpus = keras_bert.data.Corpus.from_files(["texts/*.txt"], tokenizer)
    corpus = keras_bert.data.Corpus.from_documents(
        [["One sentence.", "Another one."], ["A second document."]],
        tokenizer,
    )
    dataset = keras_bert.pretraining_dataset(corpus, tokenizer)
    ```
    """

    def __init__(
        self,
        ids,
        sentence_bounds,
        document_bounds,
        continues=None,
        groups=None,
    ):
        self.ids = np.asarray(ids)
        self.continues = continues
        self.groups = groups
        self.sentence_bounds = np.asarray(sentence_bounds, dtype=np.int64)
        self.document_bounds = np.asarray(document_bounds, dtype=np.int64)
        for name, size in (
            ("sentence_bounds", len(self.ids)),
            ("document_bounds", len(self.sentence_bounds) - 1),
        ):
            bounds = getattr(self, name)
            if (
                len(bounds) < 2
                or bounds[0] != 0
                or bounds[-1] != size
                or (np.diff(bounds) < 1).any()
            ):
                raise invalid(
                    name, f"offsets that rise from 0 to {size}", bounds
                )

    @classmethod
    def from_files(
        cls, files, tokenizer, file_format="auto", text_field="text", words=None
    ):
        """Read, split and tokenize text files, in their order.

        See `read_documents` for the files and `tokenize_sentences` for
        `words`.
        """
        documents = read_documents(files, file_format, text_field)
        return cls.from_documents(documents, tokenizer, words, "files", files)

    @classmethod
    def from_documents(
        cls, documents, tokenizer, words=None, argument="documents", value=None
    ):
        """Tokenize documents given as lists of sentences."""
        corpus = cls.tokenized(((d, 0) for d in documents), tokenizer, words)
        if corpus is None:
            raise invalid(
                argument, "text with at least one token (it is empty)", value
            )
        corpus.groups = None
        return corpus

    @classmethod
    def tokenized(cls, documents, tokenizer, words=None):
        """A corpus of (document, group) pairs; `None` if it has no token."""
        ids, lengths, numbers, continues = [], [], [], []
        groups = []

        def sentences():
            for number, (document, group) in enumerate(documents):
                groups.append(group)
                for sentence in document:
                    yield number, sentence

        dtype = "uint16"
        for batch in _calls(sentences()):
            flat, counts, goes_on = tokenize_sentences(
                [sentence for _, sentence in batch], tokenizer, words
            )
            if flat.max(initial=0) >= 2**16:
                dtype = "uint32"
            ids.append(flat.astype(dtype))
            lengths.append(counts)
            continues.append(goes_on)
            numbers.append(np.array([number for number, _ in batch]))
        lengths = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
        if not lengths.any():
            return None
        # A line of control characters has no tokens: it is no sentence.
        numbers = np.concatenate(numbers)[lengths > 0]
        lengths = lengths[lengths > 0]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return cls(
            np.concatenate(ids),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.append(starts, len(lengths)),
            None if words is None else np.concatenate(continues),
            np.array(groups)[numbers[starts]],
        )

    def select(self, order):
        """A corpus of the documents with these numbers, in this order."""
        order = np.asarray(order)
        first, last = (
            self.document_bounds[order],
            self.document_bounds[order + 1],
        )
        sentences = _ranges(first, last)
        lengths = np.diff(self.sentence_bounds)[sentences]
        # Slices: an index of every token would take four times their memory.
        tokens = [
            slice(*self.sentence_bounds[[a, b]].tolist())
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
        return Corpus(
            np.concatenate([self.ids[part] for part in tokens]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([[0], np.cumsum(last - first)]),
            None
            if self.continues is None
            else np.concatenate([self.continues[part] for part in tokens]),
            None if self.groups is None else self.groups[order],
        )

    def joined(self, other):
        """A corpus of the documents of both; they have the same parts."""

        def both(name):
            pair = getattr(self, name), getattr(other, name)
            return None if pair[0] is None else np.concatenate(pair)

        return Corpus(
            both("ids"),
            _after(self.sentence_bounds, other.sentence_bounds),
            _after(self.document_bounds, other.document_bounds),
            both("continues"),
            both("groups"),
        )

    def with_sentences_of(self, most):
        """A corpus whose sentences are cut into at most so many tokens."""
        lengths = np.diff(self.sentence_bounds)
        pieces = -(-lengths // most)
        bounds = np.repeat(self.sentence_bounds[:-1], pieces)
        bounds += _ranges(np.zeros_like(pieces), pieces) * most
        before = np.concatenate([[0], np.cumsum(pieces)])
        return Corpus(
            self.ids,
            np.append(bounds, len(self.ids)),
            before[self.document_bounds],
            self.continues,
            self.groups,
        )

    @property
    def document_tokens(self):
        """How many tokens each document has."""
        return np.diff(self.sentence_bounds[self.document_bounds])

    @property
    def num_documents(self):
        return len(self.document_bounds) - 1

    @property
    def num_sentences(self):
        return len(self.sentence_bounds) - 1

    @property
    def num_tokens(self):
        return len(self.ids)

    def __repr__(self):
        return (
            f"<Corpus of {self.num_documents} documents, "
            f"{self.num_sentences} sentences, {self.num_tokens} tokens>"
        )


def _calls(numbered):
    """Lists of (number, sentence) for one call of the tokenizer each."""
    batch, size = [], 0
    for pair in numbered:
        batch.append(pair)
        size += len(pair[1])
        if len(batch) == _SENTENCES_PER_CALL or size > _CHARACTERS_PER_CALL:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _after(bounds, more):
    return np.concatenate([bounds, bounds[-1] + more[1:]])


def _ranges(starts, ends):
    """The numbers of all ranges, one after the other."""
    counts = ends - starts
    shift = np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return np.arange(counts.sum()) + shift
