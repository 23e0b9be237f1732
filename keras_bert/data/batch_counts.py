"""How many batches an epoch has, known before it is read."""

import weakref

import numpy as np

from keras_bert.data.length_buckets import LengthBuckets

# Windows that are planned to count the batches of an epoch, about 0.02 s
# each, and the shards (up to twice as many) that are read for it, about 0.2 s
# each. With more, what these give is taken for the rest.
_PLANNED_WINDOWS = 128
_PLANNED_SHARDS = 32
# {documents: {settings: what was counted}}, as long as the documents live. A
# run makes several datasets of the same ones.
_KNOWN = weakref.WeakKeyDictionary()


def count_batches(batches, factors):
    """Batches of each shard in an epoch; planned rows and their tokens.

    All from epoch 0, and once for the same documents and settings.

    Args:
        batches: `PretrainingBatches`.
        factors: how often an epoch sees each group, or `None`.
    """
    known = _KNOWN.setdefault(batches.shards, {})
    settings = (
        batches.sequence_length,
        batches.batch_size,
        batches.seed,
        batches.segments,
        batches.masking,
        batches.short_seq_prob,
        batches.random_next_rate,
        batches.max_sequences_per_row,
        tuple(batches.widths or ()),
        getattr(batches.shards, "sampling", None),
        # With fewer tokens the corpus is refused.
        len(batches.tokenizer.vocabulary),
    )
    if settings not in known:
        known[settings] = _count(batches, factors)
    return known[settings]


def _count(batches, factors):
    count = len(batches.shards)
    length = batches.sequence_length
    sizes = [_size(entry, length, factors) for entry in batches.shards.entries]
    step = max(1, count // _PLANNED_SHARDS)
    wanted = max(1, _PLANNED_WINDOWS // -(-count // step))
    found, shares = {}, {}
    all_rows = tokens = 0
    for number in range(0, count, step):
        rows = np.zeros(length + 1, np.int64)
        seen = 0
        shares[number] = 1.0
        for index, window in enumerate(batches.windows(number, 0)):
            if index == wanted:
                shares[number] = min(1.0, seen / sizes[number])
                break
            lengths = window.layout.row_lengths()
            rows += np.bincount(lengths, minlength=len(rows))
            tokens += int(window.layout.lengths.sum())
            seen += (
                window.shard.corpus.document_tokens[window.documents] + length
            ).sum()
        all_rows += int(rows.sum())
        found[number] = LengthBuckets.count(
            rows, batches.widths, batches.batch_size
        )
    planned = sum(sizes[number] * shares[number] for number in found)
    pace = sum(found.values()) / planned
    quotas = [
        max(
            1,
            int(found[number] / shares[number])
            if number in found
            else int(pace * sizes[number]),
        )
        for number in range(count)
    ]
    return quotas, all_rows, tokens


def _size(entry, sequence_length, factors):
    """Tokens that an epoch sees of a shard, and a row a document."""
    tokens = entry["tokens"]
    documents = entry["documents"]
    if factors is not None:
        groups = np.array(entry["tokens_of_groups"])
        seen = float(groups @ factors[: len(groups)])
        documents *= seen / tokens
        tokens = seen
    return tokens + documents * sequence_length
