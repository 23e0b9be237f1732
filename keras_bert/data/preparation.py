"""What a preparation is: settings, plan, and the work of one shard.

    files -> blocks of about a megabyte, in random order -> tasks of about 64 MB
    task  -> documents -> ids -> random order -> shard-00003-000.tfrecord

A task is a pure function of (files, settings, number of the task): whoever
runs it, where and when, writes the same bytes. Local processes, `--shard` and
Apache Beam all call `run_task`; nothing else happens between the text and the
shards. A packed file cannot be entered in the middle: it is one block, and
the task of a large one writes several shards, one after the other.
"""

import dataclasses
import hashlib
import json

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data import generators
from keras_bert.data.corpus import Corpus
from keras_bert.data.documents import TextBlock
from keras_bert.data.documents import check_format
from keras_bert.data.documents import read_block
from keras_bert.data.generators import generator
from keras_bert.data.google_records import GoogleSettings
from keras_bert.data.google_records import write_google_records
from keras_bert.data.shard_file import write_shard
from keras_bert.data.text_files import check_groups
from keras_bert.data.text_files import find_text_files
from keras_bert.data.text_files import is_packed
from keras_bert.data.words import segmenter

# How many times larger a packed text file gets, about.
_UNPACKED = 4
# Bytes that are read to tell the text of a run from another text.
_DIGEST_BYTES = 2**28


@dataclasses.dataclass(frozen=True)
class Preparation:
    """All that decides what the shards of some files hold.

    Args:
        files: paths, glob patterns or folders (see `find_text_files`).
        seed: integer, for the order of the documents.
        shard_bytes: integer: text in a shard, about. The random next segment
            of a document comes from its own shard, so a shard should hold a
            thousand documents.
        sampling: exponent of the sampling of groups, or `None`: each group
            as often as it is (see `group_factors`).
        file_format, text_field: see `read_documents`.
        words: see `tokenize_sentences`; a name, not a function.
        max_length: integer: longer sentences are cut into several of at most
            so many tokens. `None`: none is cut (segments are, when they are
            drawn).
        google: `GoogleSettings` for the static records of the original, or
            `None` for documents.
    """

    files: tuple
    seed: int = 1
    shard_bytes: int = 64_000_000
    sampling: float | None = None
    file_format: str = "auto"
    text_field: str = "text"
    words: str | None = None
    max_length: int | None = None
    google: GoogleSettings | None = None

    def check(self):
        generators.check_seed(self.seed)
        check_format(self.file_format)
        if self.shard_bytes < 1:
            raise invalid("shard_bytes", "an integer from 1", self.shard_bytes)
        if self.max_length is not None and self.max_length < 1:
            raise invalid("max_length", "an integer from 1", self.max_length)
        if self.words is not None:
            segmenter(self.words)
        if self.sampling is not None and not 0 <= self.sampling <= 1:
            raise invalid("sampling", "an exponent from 0 to 1", self.sampling)
        if self.google is not None:
            if self.sampling is not None:
                raise invalid(
                    "sampling",
                    "None for the records of the original, which hold every "
                    "document alike",
                    self.sampling,
                )
            self.google.check()

    def settings(self):
        """What has to be equal for a run to go on, as plain values."""
        settings = dataclasses.asdict(self)
        del settings["files"]
        return settings

    @classmethod
    def from_settings(cls, settings):
        """The other way, where no files are named (in a worker)."""
        google = settings["google"] and GoogleSettings(**settings["google"])
        return cls(**{**settings, "files": (), "google": google})


def plan(preparation):
    """The tasks: a list of lists of `TextBlock`, and the names of the groups.

    The same files of the same sizes give the same plan.
    """
    preparation.check()
    files = find_text_files(list(preparation.files))
    groups = list(dict.fromkeys(file.group for file in files))
    if preparation.sampling is not None:
        check_groups(len(groups), preparation.sampling)
    most = preparation.shard_bytes
    block_bytes = min(1 << 20, max(1, most // 8))
    blocks, sizes, large = [], [], []
    for file in files:
        size = filesystem.size(file.path)
        group = groups.index(file.group)
        if is_packed(file.path):
            whole = TextBlock(file.path, 0, None, group)
            if size * _UNPACKED > most:
                large.append([whole])
            else:
                blocks.append(whole)
                sizes.append(size * _UNPACKED)
            continue
        count = max(1, round(size / block_bytes))
        borders = [size * i // count for i in range(count)]
        ends = [*borders[1:], None]
        for start, end in zip(borders, ends, strict=True):
            blocks.append(TextBlock(file.path, start, end, group))
            sizes.append(size // count)
    order = generator(
        preparation.seed, 0, generators.ORDER_OF_BLOCKS
    ).permutation(len(blocks))
    total = sum(sizes)
    count = max(1, round(total / most)) if blocks else 0
    tasks = [[] for _ in range(count)]
    before = 0
    for index in order.tolist():
        tasks[before * count // max(1, total)].append(blocks[index])
        before += sizes[index]
    return [task for task in tasks if task] + large, groups


def plan_digest(tasks):
    """A number for the text of the files, wherever they lie.

    Small corpora are read whole, of others pieces all over each file: a
    rerun has to be quick.
    """
    names = [[block._replace(path="") for block in task] for task in tasks]
    digest = hashlib.sha256(json.dumps(names).encode())
    # In the order of the plan, in which their names play no part.
    paths = list(dict.fromkeys(block.path for task in tasks for block in task))
    for path in paths:
        for piece in filesystem.pieces(path, _DIGEST_BYTES // len(paths)):
            digest.update(piece)
    return digest.hexdigest()


def task_corpora(preparation, number, blocks, tokenizer):
    """Yield the `Corpus` of each shard of a task, its documents in order."""
    documents = (
        (document, block.group)
        for block in blocks
        for document in read_block(
            block, preparation.file_format, preparation.text_field
        )
    )
    found = _parts(documents, preparation, tokenizer)
    for part, corpus in enumerate(found):
        if preparation.max_length is not None:
            corpus = corpus.with_sentences_of(preparation.max_length)
        order = generator(
            preparation.seed,
            number,
            generators.ORDER_OF_SHARD,
            part,
        ).permutation(corpus.num_documents)
        yield corpus.select(order)


def _parts(documents, preparation, tokenizer):
    """The corpora of a task, each of about the size of a shard."""
    most = preparation.shard_bytes * 3 // 2
    pending = None
    while True:
        taken = _UpTo(documents, most)
        corpus = Corpus.tokenized(taken, tokenizer, preparation.words)
        if corpus is not None:
            # The random next segment of a lone document has no source.
            if pending is not None and corpus.num_documents < 2:
                pending, corpus = None, pending.joined(corpus)
            if pending is not None:
                yield pending
            pending = corpus
        if taken.is_exhausted:
            break
    if pending is not None:
        yield pending


class _UpTo:
    """The documents of an iterator until they hold so many characters."""

    def __init__(self, documents, most):
        self._documents = documents
        self._left = most
        self.is_exhausted = False

    def __iter__(self):
        while self._left > 0:
            found = next(self._documents, None)
            if found is None:
                self.is_exhausted = True
                return
            self._left -= sum(map(len, found[0]))
            yield found


def run_task(preparation, number, blocks, tokenizer, folder):
    """Make the shards of one task, unless they are there.

    Returns the entries of its shards for the index.
    """
    entries = entries_of(number, folder)
    if entries is not None:
        return entries
    entries = []
    for part, corpus in enumerate(
        task_corpora(preparation, number, blocks, tokenizer)
    ):
        path = filesystem.join(
            folder, f"shard-{number:05d}-{part:03d}.tfrecord"
        )
        if preparation.google is None:
            size = tokenizer.vocabulary_size()
            entries.append(write_shard(path, corpus, size))
        else:
            entries.append(
                write_google_records(
                    path, corpus, tokenizer, preparation.google,
                    preparation.seed + number,
                )
            )  # fmt: skip
    filesystem.write_text(_done(number, folder), json.dumps(entries))
    return entries


def entries_of(number, folder):
    """The entries of a task that is done; `None` if a shard is missing."""
    done = _done(number, folder)
    if not filesystem.is_file(done):
        return None
    entries = json.loads(filesystem.read_bytes(done))
    for entry in entries:
        path = filesystem.join(folder, entry["file"])
        if not filesystem.is_file(path):
            return None
        if filesystem.size(path) != entry["bytes"]:
            return None
    return entries


def _done(number, folder):
    return filesystem.join(folder, f"shard-{number:05d}.json")
