"""One shard: a TFRecord file of tokenized documents.

Each record is a `tf.train.Example` with bytes features, little-endian:

    ids               uint16, or uint32 for more than 65,536 tokens
    sentence_lengths  uint32
    group             one int64: the number of its group (language)
    continues         bits, only with given words: `Corpus.continues`
"""

import hashlib

import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.data import filesystem
from keras_bert.data.corpus import Corpus
from keras_bert.data.memory_shards import tokens_of_groups

_RECORDS_PER_CALL = 4096


def write_shard(path, corpus, vocabulary_size):
    """Write a corpus as one file; it appears whole or not at all.

    Returns its entry in the index: file, bytes, sha256 and counts.
    """
    dtype = "<u2" if vocabulary_size <= 2**16 else "<u4"
    write_records(path, (_record(*part) for part in _documents(corpus, dtype)))
    return {
        **checksum(path),
        "documents": corpus.num_documents,
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "documents_of_groups": [corpus.num_documents]
        if corpus.groups is None
        else np.bincount(corpus.groups).tolist(),
        "tokens_of_groups": tokens_of_groups(corpus),
        "document_lengths": _histogram(corpus.document_tokens),
        "sentence_lengths": _histogram(np.diff(corpus.sentence_bounds)),
    }


def write_records(path, records):
    """Write byte strings as a TFRecord file, whole or not at all."""
    tf = tensorflow()
    size = 0
    with filesystem.whole_file(path) as staging:
        try:
            with tf.io.TFRecordWriter(staging) as writer:
                for record in records:
                    writer.write(record)
                    # Length, two checksums: the frame of a record.
                    size += len(record) + 16
        except tf.errors.OpError as error:
            raise OSError(
                f"{path} could not be written: {error.message}"
            ) from None
        written = filesystem.size(staging)
        if written != size:
            raise OSError(
                f"{path} could not be written: only {written} of {size} "
                "bytes arrived (is the disk full?)"
            )


def checksum(path):
    """Name, size and SHA-256 of a file."""
    sha = hashlib.sha256()
    size = 0
    with filesystem.open_bytes(path) as file:
        while block := file.read(1 << 20):
            sha.update(block)
            size += len(block)
    name = str(path).replace("\\", "/").rsplit("/", 1)[-1]
    return {"file": name, "bytes": size, "sha256": sha.hexdigest()}


def read_shard(path, entry, vocabulary_size):
    """The `Corpus` of a shard.

    Args:
        path: the file.
        entry: its entry in the index.
        vocabulary_size: of the tokenizer that wrote it.

    Raises:
        ValueError: when the file is missing or not what the index says.
    """
    check_shard(path, entry)
    found = checksum(path)
    if found["sha256"] != entry["sha256"]:
        raise _broken(path, "its SHA-256 is not that of the index")
    tf = tensorflow()
    features = {
        "ids": tf.io.FixedLenFeature([], tf.string),
        "sentence_lengths": tf.io.FixedLenFeature([], tf.string),
        "group": tf.io.FixedLenFeature([], tf.int64),
        "continues": tf.io.FixedLenFeature([], tf.string, ""),
    }
    parts = {name: [] for name in features}
    try:
        for records in tf.data.TFRecordDataset(path).batch(_RECORDS_PER_CALL):
            for name, value in tf.io.parse_example(records, features).items():
                parts[name] += value.numpy().tolist()
    except tf.errors.OpError as error:
        raise _broken(path, error.message) from None
    size = 2 if vocabulary_size <= 2**16 else 4
    lengths = np.frombuffer(b"".join(parts["sentence_lengths"]), "<u4")
    sentences = np.array([len(x) // 4 for x in parts["sentence_lengths"]])
    continues = None
    if any(parts["continues"]):
        continues = np.concatenate(
            [
                np.unpackbits(np.frombuffer(bits, "u1"), count=len(ids) // size)
                for bits, ids in zip(
                    parts["continues"], parts["ids"], strict=True
                )
            ]
        ).astype(bool)
    return Corpus(
        np.frombuffer(b"".join(parts["ids"]), f"<u{size}"),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate([[0], np.cumsum(sentences, dtype=np.int64)]),
        continues,
        np.array(parts["group"]),
    )


def check_shard(path, entry):
    """Refuse a file that is missing or has not the size of its entry."""
    if not filesystem.is_file(path):
        raise _broken(path, "it is missing")
    size = filesystem.size(path)
    if size != entry["bytes"]:
        raise _broken(path, f"it has {size} of {entry['bytes']} bytes")


def _broken(path, why):
    return invalid(
        "files_or_dir",
        f"whole shards: {why}. Delete what is left of the file and run the "
        "same `keras-bert prepare` again, which makes it anew",
        str(path),
    )


def _documents(corpus, dtype):
    """Per document its ids, sentence lengths, group and bits, as bytes."""
    lengths = np.diff(corpus.sentence_bounds).astype("<u4")
    bounds = corpus.document_bounds
    tokens = corpus.sentence_bounds[bounds]
    for document in range(corpus.num_documents):
        first, last = tokens[document : document + 2]
        bits = b""
        if corpus.continues is not None:
            bits = np.packbits(corpus.continues[first:last]).tobytes()
        yield (
            corpus.ids[first:last].astype(dtype).tobytes(),
            lengths[bounds[document] : bounds[document + 1]].tobytes(),
            0 if corpus.groups is None else int(corpus.groups[document]),
            bits,
        )


def _record(ids, lengths, group, bits):
    train = tensorflow().train
    feature = {
        "ids": train.Feature(bytes_list=train.BytesList(value=[ids])),
        "sentence_lengths": train.Feature(
            bytes_list=train.BytesList(value=[lengths])
        ),
        "group": train.Feature(int64_list=train.Int64List(value=[group])),
    }
    if bits:
        feature["continues"] = train.Feature(
            bytes_list=train.BytesList(value=[bits])
        )
    example = train.Example(features=train.Features(feature=feature))
    # The order of a map is otherwise not fixed: equal input, equal bytes.
    return example.SerializeToString(deterministic=True)


def _histogram(lengths):
    """How many lengths lie from 2**i to 2**(i+1) - 1."""
    return np.bincount(np.log2(np.maximum(lengths, 1)).astype(int)).tolist()
