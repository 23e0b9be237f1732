"""What `pretraining_dataset` may be given, told apart."""

import os
import re
import tempfile
import weakref

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data.corpus import Corpus
from keras_bert.data.memory_shards import MemoryShards
from keras_bert.data.preparation import Preparation
from keras_bert.data.preparation import plan
from keras_bert.data.preparation import task_corpora
from keras_bert.data.shard_file import write_shard
from keras_bert.data.shard_folder import INDEX
from keras_bert.data.shard_folder import ShardFolder
from keras_bert.data.static_batches import google_files
from keras_bert.data.text_files import check_groups

# Tokens held in memory, 2 bytes each; more go to a temporary folder.
_MOST_TOKENS = 100_000_000
# What a preparation that is not finished has in its folder.
_SHARD = re.compile(r"shard-\d+(-\d+\.tfrecord|\.json)|preparation\.json")


def open_source(
    files_or_dir,
    tokenizer,
    sampling=None,
    file_format="auto",
    text_field="text",
    words=None,
):
    """Shards for `PretrainingBatches`, or a list of static record files."""
    of_text = {"file_format": file_format, "text_field": text_field}
    of_text |= {"words": words}

    def no_text():
        for name, value in of_text.items():
            if value not in ("auto", "text", None):
                raise invalid(
                    name, "nothing with what is tokenized already", value
                )

    if isinstance(files_or_dir, Corpus | MemoryShards | ShardFolder):
        no_text()
        source = files_or_dir
        if isinstance(source, Corpus):
            source = MemoryShards([source])
        elif isinstance(source, ShardFolder):
            source.check_tokenizer(tokenizer)
    elif shards := _shard_folder(files_or_dir):
        no_text()
        source = ShardFolder(shards)
        source.check_tokenizer(tokenizer)
        if source.index["format"] != "keras_bert":
            _no_sampling(sampling)
            return google_files(shards)
    else:
        records = google_files(files_or_dir)
        if records:
            no_text()
            _no_sampling(sampling)
            return records
        preparation = Preparation(
            _names(files_or_dir),
            file_format=file_format,
            text_field=text_field,
            words=words,
            sampling=sampling,
        )
        source = _tokenized(preparation, tokenizer)
    if sampling is not None:
        if not 0 <= sampling <= 1:
            raise invalid("sampling", "an exponent from 0 to 1", sampling)
        found = [len(entry["tokens_of_groups"]) for entry in source.entries]
        check_groups(max(found), sampling)
        source.sampling = sampling
    return source


def _no_sampling(sampling):
    if sampling is not None:
        raise invalid(
            "sampling",
            "None with records of the original, which are read as they are",
            sampling,
        )


def _names(files):
    if isinstance(files, str | os.PathLike):
        return (os.fspath(files),)
    if not isinstance(files, list | tuple):
        raise invalid("files", "paths or glob patterns (strings)", files)
    return tuple(files)


def _shard_folder(files_or_dir):
    names = _names(files_or_dir)
    if len(names) != 1 or not isinstance(names[0], str | os.PathLike):
        return None
    path = os.fspath(names[0])
    if not filesystem.is_dir(path):
        return None
    if filesystem.is_file(filesystem.join(path, INDEX)):
        return path
    if any(map(_SHARD.fullmatch, filesystem.names_in(path))):
        # Says that the preparation is not finished.
        return path
    return None


def _tokenized(preparation, tokenizer):
    """The shards of text, as `keras-bert prepare` makes them by default."""
    tasks, _ = plan(preparation)
    shards, tokens = [], 0
    spill = None
    for number, blocks in enumerate(tasks):
        for corpus in task_corpora(preparation, number, blocks, tokenizer):
            tokens += corpus.num_tokens
            if spill is None and tokens > _MOST_TOKENS:
                spill = _Spilled(tokenizer)
                for earlier in shards:
                    spill.append(earlier)
                shards = []
            (shards if spill is None else spill).append(corpus)
    if spill is not None:
        return spill
    if not shards:
        raise invalid(
            "files",
            "text with at least one token (it is empty)",
            preparation.files,
        )
    return MemoryShards(shards)


class _Spilled(ShardFolder):
    """Shards in a temporary folder, which goes when they are not needed."""

    def __init__(self, tokenizer):
        folder = tempfile.TemporaryDirectory(prefix="keras_bert_shards_")
        self.path = folder.name
        self._folder = folder
        self._close = weakref.finalize(self, folder.cleanup)
        self.entries = []
        self.sampling = None
        self.index = {"tokenizer": {"size": tokenizer.vocabulary_size()}}

    def append(self, corpus):
        path = filesystem.join(
            self.path, f"shard-{len(self.entries):05d}.tfrecord"
        )
        size = self.index["tokenizer"]["size"]
        self.entries.append(write_shard(path, corpus, size))
