"""Documents in memory, read as a folder of shards is."""

import numpy as np


class MemoryShards:
    """Corpora in memory, read as a folder of shards is.

    Args:
        corpora: list of `Corpus`.
        sampling: exponent of the sampling of groups, or `None`.
    """

    def __init__(self, corpora, sampling=None):
        self._corpora = list(corpora)
        self.sampling = sampling
        self.entries = [
            {
                "documents": corpus.num_documents,
                "sentences": corpus.num_sentences,
                "tokens": corpus.num_tokens,
                "tokens_of_groups": tokens_of_groups(corpus),
            }
            for corpus in self._corpora
        ]

    def __len__(self):
        return len(self._corpora)

    def load(self, number):
        return self._corpora[number]


def tokens_of_groups(corpus):
    """How many tokens each group has."""
    groups = corpus.groups
    if groups is None:
        return [corpus.num_tokens]
    return np.bincount(groups, corpus.document_tokens).astype(int).tolist()
