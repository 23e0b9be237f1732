import itertools

import numpy as np
import pytest

from keras_bert.data import generators
from keras_bert.data.generators import check_seed
from keras_bert.data.generators import generator


def test_the_same_place_gives_the_same_numbers():
    first = generator(7, 3, generators.MASKS, document=5, repeat=1)
    other = generator(7, 3, generators.MASKS, document=6, repeat=1)
    other.random(100)
    again = generator(7, 3, generators.MASKS, document=5, repeat=1)
    assert (first.random(50) == again.random(50)).all()


def test_every_coordinate_changes_the_numbers():
    places = itertools.product((1, 2), (0, 1), (0, 1), (0, 1), (0, 1))
    values = [generator(*place).random(4).tolist() for place in places]
    assert len({tuple(value) for value in values}) == 32


def test_neighbouring_documents_are_uncorrelated():
    values = np.array(
        [generator(1, 0, 1, document).random(8) for document in range(4000)]
    )
    correlation = np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(4000)
    assert abs(values.mean() - 0.5) < 5 * np.sqrt(1 / 12 / values.size)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", None, True])
def test_seeds_that_are_no_keys_are_refused(seed):
    with pytest.raises(ValueError, match="argument `seed`"):
        check_seed(seed)
