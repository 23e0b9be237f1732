"""A folder of prepared shards, and documents in memory, read alike."""

import hashlib
import json

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data.shard_file import check_shard
from keras_bert.data.shard_file import read_shard

INDEX = "index.json"


class ShardFolder:
    """What `keras-bert prepare` has written: one `Corpus` per shard.

    Args:
        path: the folder; anything that `tf.io.gfile` reads.

    Raises:
        ValueError: naming the folder, when it has no index (the preparation
            has not been finished), or a shard is missing or cut off.

    Example:

    ```python
    shards = keras_bert.data.ShardFolder("shards")
    print(shards.index["documents"], len(shards))
    tokenizer = shards.tokenizer()
    dataset = keras_bert.pretraining_dataset("shards", tokenizer)
    ```
    """

    def __init__(self, path):
        self.path = str(path)
        file = filesystem.join(self.path, INDEX)
        if not filesystem.is_file(file):
            raise invalid(
                "files_or_dir",
                f"a folder with {INDEX}, which `keras-bert prepare` writes "
                "when all shards are there",
                self.path,
            )
        self.index = json.loads(filesystem.read_bytes(file))
        self.entries = self.index["shards"]
        # Exponent of the sampling of groups; may be set.
        self.sampling = self.index["settings"]["sampling"]
        for entry in self.entries:
            check_shard(filesystem.join(self.path, entry["file"]), entry)

    def __len__(self):
        return len(self.entries)

    def load(self, number):
        """The `Corpus` of a shard."""
        entry = self.entries[number]
        path = filesystem.join(self.path, entry["file"])
        return read_shard(path, entry, self.index["tokenizer"]["size"])

    def tokenizer(self):
        """The tokenizer that the shards were made with."""
        from keras_bert.tokenizers import BertTokenizer

        settings = self.index["tokenizer"]
        data = filesystem.read_bytes(filesystem.join(self.path, "vocab.txt"))
        return BertTokenizer(
            data.decode("utf-8").removesuffix("\n").split("\n"),
            lowercase=settings["lowercase"],
            strip_accents=settings["strip_accents"],
            special_tokens_in_strings=settings["special_tokens_in_strings"],
        )

    def check_tokenizer(self, tokenizer):
        """Refuse another tokenizer than that of the shards."""
        found = fingerprint(tokenizer)
        wanted = self.index["tokenizer"]["fingerprint"]
        if found != wanted:
            raise invalid(
                "tokenizer",
                f"the tokenizer that wrote {self.path} (fingerprint "
                f"{wanted[:12]}): its ids would mean other words",
                f"a tokenizer with fingerprint {found[:12]}",
            )


def fingerprint(tokenizer):
    """A SHA-256 of all that decides which ids a text has."""
    settings = [
        tokenizer.vocabulary,
        tokenizer.lowercase,
        tokenizer.lowercase
        if tokenizer.strip_accents is None
        else tokenizer.strip_accents,
        tokenizer.special_tokens_in_strings,
    ]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()
