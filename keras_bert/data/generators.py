"""Random generators that are looked up, not passed along.

Every random choice of the pretraining data is made by a generator that
depends on nothing but (seed, epoch, repeat, stream, document). There is no
state to store: whoever knows the five numbers draws the same values, in any
order, in any process, on any backend. That is what makes epochs differ,
seeds reproducible and resumed runs exact.
"""

import numpy as np

from keras_bert._errors import invalid

# One number per purpose, so that no two purposes share random values.
ORDER_OF_DOCUMENTS = 0
SEGMENTS = 1
MASKS = 2
ORDER_OF_SEQUENCES = 3
ORDER_OF_ROWS = 4
ORDER_OF_SHARDS = 5
ORDER_OF_BLOCKS = 6
ORDER_OF_SHARD = 7
COPIES = 8
RECORDS = 9


def generator(seed, epoch, stream, document=0, repeat=0):
    """A numpy Generator for one purpose, at one place of the data.

    Philox is a counter-based generator: its key and its counter are the
    coordinates themselves, so making one costs about 10 microseconds. It
    counts upwards in the first word; the coordinates are in the others.

    Args:
        seed: integer from 0 to 2**64 - 1.
        epoch: number of the pass over the data, from 0.
        stream: one of the constants of this module.
        document: index of the document.
        repeat: number of the additional pass within the epoch.
    """
    key = np.array([seed, epoch], dtype=np.uint64)
    counter = np.array([0, stream, document, repeat], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def check_seed(seed):
    """Refuse what cannot be a key of the generator."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise invalid("seed", "an integer from 0 to 2**64 - 1", seed)
    if not 0 <= seed < 2**64:
        raise invalid("seed", "an integer from 0 to 2**64 - 1", seed)
