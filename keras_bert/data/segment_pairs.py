"""Documents -> sequences: which tokens of the corpus stand in which one.

A sequence is planned as five numbers, (a_start, a_end, b_start, b_end,
is_random): two ranges of `corpus.ids` and the next-sentence label (1: segment
B comes from another document). No token is copied before a batch is built,
so planning costs about a microsecond a sentence.

`segment_pairs` is the algorithm of the original BERT code: the same
instances in distribution, drawn in another order. It differs in one point on
purpose: the random next segment never comes from the document itself (the
original gives up after ten draws and then labels true neighbours random).

    target       one per document: the room, or, with probability
                 short_seq_prob, a shorter one
    chunk        sentences until the target is reached
    A            a random number of the chunk's first sentences
    B            half of the time, and always when the chunk has a single
                 sentence: sentences of another document, from a random one
                 on, and the chunk's unused sentences start the next chunk;
                 otherwise the rest of the chunk
    truncation   the longer segment loses tokens at a random end until both
                 fit
"""

import numpy as np


def segment_pairs(corpus, document, rng, sequence_length, short_seq_prob=0.1):
    """Sequences [CLS] A [SEP] B [SEP] of one document, for one pass.

    Args:
        corpus: a `Corpus` of at least two documents.
        document: index of the document.
        rng: a numpy Generator.
        sequence_length: integer from 5: tokens with the special ones.
        short_seq_prob: probability that the document gets a shorter target.

    Returns:
        int64 array `[sequences, 5]`, as the module says.
    """
    room = sequence_length - 3
    target = _target_length(rng, room, short_seq_prob)
    first, last = corpus.document_bounds[document : document + 2].tolist()
    bounds = corpus.sentence_bounds[first : last + 1].tolist()
    count = last - first
    # Every sequence uses up at least one sentence as segment A, so there are
    # at most `count` of them, and each takes four uniform numbers.
    uniform = iter(rng.random(4 * count).tolist())
    others = corpus.num_documents - 1
    plan = []
    start = 0
    for_end = 0
    while start < count:
        # The chunk is sentences start..for_end; at least one.
        for_end = start + 1
        while for_end < count and bounds[for_end] - bounds[start] < target:
            for_end += 1
        sentences = for_end - start
        a_end = start + 1
        if sentences > 1:
            a_end = start + 1 + int(next(uniform) * (sentences - 1))
        if sentences == 1 or next(uniform) < 0.5:
            other = int(next(uniform) * others)
            other += other >= document
            plan.append((bounds[start], bounds[a_end], other, next(uniform), 1))
            start = a_end
        else:
            plan.append(
                (
                    bounds[start],
                    bounds[a_end],
                    bounds[a_end],
                    bounds[for_end],
                    0,
                )
            )
            start = for_end
    return _truncated(_with_random_next(corpus, plan, target), room, rng)


def single_segments(corpus, document, rng, sequence_length, short_seq_prob=0.1):
    """Sequences [CLS] A [SEP] of one document, for one pass.

    The document is cut into pieces of the target length; a sentence may end
    in the next piece, so no token is dropped and long documents fill their
    rows. The first piece of a document that needs several has a random
    length, so that the borders differ from epoch to epoch. Segment B is
    empty: b_start == b_end.

    Args and returned array: as of `segment_pairs`; sequence_length from 3.
    """
    room = sequence_length - 2
    target = _target_length(rng, room, short_seq_prob)
    first, last = corpus.document_bounds[document : document + 2]
    start, end = corpus.sentence_bounds[[first, last]].tolist()
    begin = start
    if end - start > target:
        begin = start + int(rng.integers(1, target + 1))
    borders = np.arange(begin, end + target, target).clip(max=end)
    if begin > start:
        borders = np.append(start, borders)
    sequences = np.zeros((len(borders) - 1, 5), dtype=np.int64)
    sequences[:, 0] = borders[:-1]
    sequences[:, 1] = borders[1:]
    return sequences


def _target_length(rng, room, short_seq_prob):
    if rng.random() < short_seq_prob:
        return int(rng.integers(min(2, room), room + 1))
    return room


def _with_random_next(corpus, plan, target):
    """Turn (document, uniform number) of a random B into a token range."""
    fields = np.array(plan, dtype=np.float64)
    sequences = fields.astype(np.int64)
    rows = np.flatnonzero(sequences[:, 4])
    if not len(rows):
        return sequences
    other = sequences[rows, 2]
    first = corpus.document_bounds[other]
    last = corpus.document_bounds[other + 1]
    start = first + (fields[rows, 3] * (last - first)).astype(np.int64)
    b_start = corpus.sentence_bounds[start]
    wanted = target - (sequences[rows, 1] - sequences[rows, 0])
    end = np.searchsorted(corpus.sentence_bounds, b_start + wanted)
    end = np.minimum(np.maximum(end, start + 1), last)
    sequences[rows, 2] = b_start
    sequences[rows, 3] = corpus.sentence_bounds[end]
    return sequences


def _truncated(sequences, room, rng):
    """Cut both segments until they fit the room together.

    Taking single tokens from the longer segment (from B when they are
    equal) ends at lengths that depend only on the first lengths; every token
    taken is the first or the last one with equal probability.
    """
    length_a = sequences[:, 1] - sequences[:, 0]
    length_b = sequences[:, 3] - sequences[:, 2]
    half_b = room // 2
    half_a = room - half_b
    new_a = np.where(
        length_a <= half_a,
        length_a,
        np.where(length_b <= half_b, room - length_b, half_a),
    )
    new_b = np.minimum(length_b, room - new_a)
    new_a = np.minimum(length_a, new_a)
    for column, cut in ((0, length_a - new_a), (2, length_b - new_b)):
        rows = np.flatnonzero(cut)
        if len(rows):
            front = rng.binomial(cut[rows], 0.5)
            sequences[rows, column] += front
            sequences[rows, column + 1] -= cut[rows] - front
    return sequences
