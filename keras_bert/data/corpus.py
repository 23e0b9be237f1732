"""Tokenized documents in three flat arrays.

    ids               7 12 5 9 | 4 4 8 | 6 2 ...      uint16 or uint32
    sentence_bounds   0          4       7      ...   offsets into ids
    document_bounds   0                  2      ...   offsets into sentences

Two bytes a token for vocabularies up to 65,536 tokens: 100 million tokens
take 200 MB, and a document or a sentence is a slice.
"""

import itertools

import numpy as np

from keras_bert._errors import invalid
from keras_bert.data.documents import read_documents

# Sentences per call of the tokenizer: large enough that the call costs
# nothing against the work, small enough to bound memory.
_SENTENCES_PER_CALL = 1000


class Corpus:
    """Documents as token ids, held in memory.

    Args:
        ids: integer array of all token ids, without special tokens.
        sentence_bounds: integer array, length sentences + 1: where in `ids`
            each sentence starts, and the end of the last.
        document_bounds: integer array, length documents + 1: with which
            sentence each document starts, and the number of sentences.

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

    def __init__(self, ids, sentence_bounds, document_bounds):
        self.ids = np.asarray(ids)
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
    def from_files(cls, files, tokenizer, file_format="auto"):
        """Read, split and tokenize text files (see `read_documents`)."""
        return cls._tokenized(
            read_documents(files, file_format), tokenizer, "files", files
        )

    @classmethod
    def from_documents(cls, documents, tokenizer):
        """Tokenize documents given as lists of sentences."""
        return cls._tokenized(documents, tokenizer, "documents", documents)

    @classmethod
    def _tokenized(cls, documents, tokenizer, argument, value):
        ids, lengths, numbers = [], [], []
        numbered = (
            (number, sentence)
            for number, document in enumerate(documents)
            for sentence in document
        )
        largest = 0
        while batch := list(itertools.islice(numbered, _SENTENCES_PER_CALL)):
            ragged = tokenizer([sentence for _, sentence in batch])
            flat = np.asarray(ragged.flat_values)
            largest = max(largest, int(flat.max(initial=0)))
            ids.append(flat.astype("uint16" if largest < 2**16 else "uint32"))
            lengths.append(np.asarray(ragged.row_lengths(), dtype=np.int64))
            numbers.append(np.array([number for number, _ in batch]))
        lengths = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
        if not lengths.any():
            raise invalid(
                argument, "text with at least one token (it is empty)", value
            )
        # A line of control characters has no tokens: it is no sentence.
        numbers = np.concatenate(numbers)[lengths > 0]
        lengths = lengths[lengths > 0]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return cls(
            np.concatenate(ids),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.append(starts, len(lengths)),
        )

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
