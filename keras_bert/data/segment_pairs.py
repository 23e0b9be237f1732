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


def segment_pairs(
    corpus,
    document,
    rng,
    sequence_length,
    short_seq_prob=0.1,
    random_next_rate=None,
):
    """Sequences [CLS] A [SEP] B [SEP] of one document, for one pass.

    Args:
        corpus: a `Corpus` of at least two documents.
        document: index of the document.
        rng: a numpy Generator.
        sequence_length: integer from 5: tokens with the special ones.
        short_seq_prob: probability that the document gets a shorter target.
        random_next_rate: `None`: the original's rule, which labels more than
            half of the pairs random, since a chunk of one sentence has no
            next one. A rate, 0.5 in the paper: each pair is random with this
            probability; a chunk of one sentence is cut in two at a random
            token when B has to follow it.

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
    rate = 0.5 if random_next_rate is None else random_next_rate
    while start < count:
        # The chunk is sentences start..for_end; at least one.
        for_end = start + 1
        while for_end < count and bounds[for_end] - bounds[start] < target:
            for_end += 1
        sentences = for_end - start
        a_end = start + 1
        if sentences > 1:
            a_end = start + 1 + int(next(uniform) * (sentences - 1))
        cut = bounds[a_end]
        size = bounds[for_end] - bounds[start]
        is_random = (
            # Nothing follows a single sentence, and a token has no parts.
            sentences == 1 and (random_next_rate is None or size == 1)
        ) or next(uniform) < rate
        if sentences == 1 and not is_random:
            cut = bounds[start] + 1 + int(next(uniform) * (size - 1))
        if is_random:
            other = int(next(uniform) * others)
            other += other >= document
            plan.append((bounds[start], bounds[a_end], other, next(uniform), 1))
            start = a_end
        else:
            plan.append((bounds[start], cut, cut, bounds[for_end], 0))
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


def full_sentences(corpus, document, rng, sequence_length, short_seq_prob=0.1):
    """Sequences [CLS] A [SEP] of whole sentences, for one pass.

    As many sentences as fit; none is cut but one that is longer than a
    sequence, which gives several. Segment B is empty.

    Args and returned array: as of `single_segments`.
    """
    room = sequence_length - 2
    target = _target_length(rng, room, short_seq_prob)
    first, last = corpus.document_bounds[document : document + 2].tolist()
    bounds = corpus.sentence_bounds[first : last + 1].tolist()
    plan = []
    start = bounds[0]
    for begin, end in zip(bounds, bounds[1:], strict=False):
        if end - start > target:
            if begin > start:
                plan.append((start, begin, 0, 0, 0))
            start = begin
        while end - start > target:
            plan.append((start, start + target, 0, 0, 0))
            start += target
    if bounds[-1] > start:
        plan.append((start, bounds[-1], 0, 0, 0))
    return np.array(plan, dtype=np.int64)


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


SEGMENTS = {
    "pairs": segment_pairs,
    "single": single_segments,
    "full_sentences": full_sentences,
}
