"""The text of a pretraining run: files, shards or static records."""

import functools
import hashlib
import json

from keras_bert.cli import _common


class Text:
    """What `pretraining_dataset` reads, with its counts and identity.

    Args:
        files: names, as on the command line.
        tokenizer: `BertTokenizer`.
        sampling: exponent of the sampling of languages, or None.
    """

    def __init__(self, files, tokenizer, sampling=None):
        from keras_bert.data.google_records import record_file_entry
        from keras_bert.data.sources import open_source

        self.tokenizer = tokenizer
        self.source = open_source(files, tokenizer, sampling)
        if isinstance(self.source, list):
            # Records of pairs that are made already: read by their names.
            self.num_documents = self.num_tokens = None
            entries = [record_file_entry(name) for name in self.source]
            self.source = files
        else:
            entries = self.source.entries
            self.num_documents = _total(entries, "documents")
            self.num_tokens = _total(entries, "tokens")
        self._entries = entries

    @functools.cached_property
    def fingerprint(self):
        """What a resumed run compares its text with."""
        from keras_bert.data.shard_folder import fingerprint

        identity = [fingerprint(self.tokenizer), self._entries]
        digest = hashlib.sha256(json.dumps(identity).encode())
        # Shards and records have a checksum each in their entries.
        if hasattr(self.source, "load") and not hasattr(self.source, "index"):
            for number in range(len(self.source)):
                corpus = self.source.load(number)
                for part in (
                    corpus.ids,
                    corpus.sentence_bounds,
                    corpus.document_bounds,
                ):
                    digest.update(part.tobytes())
        return digest.hexdigest()

    def __str__(self):
        if self.num_documents is None:
            return "static records"
        documents = _common.counted(self.num_documents, "document")
        return f"{documents}, {self.num_tokens:,} tokens"


def _total(entries, key):
    return sum(entry[key] for entry in entries)


def tokenizer_of_shards(files):
    """The tokenizer of the one folder of shards, or None."""
    from keras_bert.data.filesystem import is_file
    from keras_bert.data.filesystem import join
    from keras_bert.data.shard_folder import INDEX
    from keras_bert.data.shard_folder import ShardFolder

    if len(files) != 1 or not is_file(join(str(files[0]), INDEX)):
        return None
    return ShardFolder(files[0]).tokenizer()
