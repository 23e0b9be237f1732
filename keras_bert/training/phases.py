"""A long run in phases: first short rows, then long ones.

    steps      0        900  1000            1300
    phases     |- 128 ----|-512-|  more steps  |
    rate       up, then down to 0  up and down

The paper trains 90% of its steps on rows of 128 tokens and 10% on rows of 512
(attention costs the square of the length), under one warm-up and one decay.
A run that is later asked for more steps ends its line first, as it was laid;
the steps added are a second stage with phases and a line of their own. So the
result never depends on when more steps were asked for.
"""

import dataclasses

from keras_bert._errors import invalid


@dataclasses.dataclass(frozen=True)
class Segment:
    """Steps `first` to `end` of a run, all of one length.

    `line` is (start, steps) of the warm-up and decay that they belong to.
    """

    first: int
    end: int
    sequence_length: int
    line: tuple


def parse_phases(text, argument="phases"):
    """Shares of the steps: "128:0.9,512:0.1" to [(128, 0.9), (512, 0.1)]."""
    phases = []
    for part in str(text).split(","):
        length, _, share = part.partition(":")
        try:
            phases.append((int(length), float(share)))
        except ValueError:
            phases.append((0, 0.0))
    if (
        any(length < 3 or not 0 < share <= 1 for length, share in phases)
        or abs(sum(share for _, share in phases) - 1) > 1e-6
    ):
        raise invalid(
            argument,
            "LENGTH:SHARE,LENGTH:SHARE with shares that add up to 1, such as "
            "128:0.9,512:0.1",
            text,
        )
    return phases


def segments(phases, stages):
    """The segments of a run.

    Args:
        phases: list of (sequence length, share of the steps).
        stages: list of (first step, last step), each with its own line.
    """
    found = []
    for start, end in stages:
        total = end - start
        first, share = start, 0.0
        for length, part in phases:
            share += part
            border = start + round(total * min(share, 1.0))
            if border > first:
                found.append(Segment(first, border, length, (start, total)))
            first = max(first, border)
    return found


def positions(parts, batches_per_epoch):
    """For each segment the epoch of the data with which it begins.

    Args:
        parts: the `Segment`s.
        batches_per_epoch: {sequence length: number of batches}.

    Each segment starts a new epoch, whose pairs and masks no segment before
    it has seen.
    """
    starts, epoch = [], 0
    for part in parts:
        starts.append(epoch)
        steps = part.end - part.first
        epoch += -(-steps // batches_per_epoch[part.sequence_length])
    return starts
