"""Several languages of unequal size: exponent sampling.

A group with the share q of the text is drawn with a probability proportional
to q ** exponent, as for multilingual BERT (exponent 0.7): 1 leaves the shares
as they are, 0 makes all groups equal. The factor of a group says how often
each of its documents is seen in an epoch on average; the tokens of an epoch
stay as many as there are.

    shares    en 0.90  is 0.10       exponent 0.7
    drawn     en 0.82  is 0.18
    factors   en 0.92  is 1.76

Source: multilingual.md of https://github.com/google-research/bert
"""

import numpy as np


def group_factors(sizes, exponent):
    """How often an epoch sees the documents of each group.

    Args:
        sizes: tokens (or words) of each group.
        exponent: from 0 to 1, or `None` for 1.

    >>> group_factors([900, 100], 0).tolist()
    [0.5555555555555556, 5.0]
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    factors = np.zeros(len(sizes))
    shares = sizes / max(sizes.sum(), 1)
    some = shares > 0
    wanted = shares[some] ** (1.0 if exponent is None else exponent)
    factors[some] = wanted / wanted.sum() / shares[some]
    return factors
