import math

import numpy as np
import pytest

from keras_bert.data import dataset_level
from keras_bert.data import pretraining_dataset
from keras_bert.data import unigram_level
from keras_bert.data.corpus import Corpus


def test_chance_is_the_share_of_the_most_frequent_label():
    level = unigram_level([[7, 7, 8], [9, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    assert level.accuracy == 0.5
    # By hand: shares 1/2, 1/4, 1/4.
    assert math.isclose(level.entropy, 1.5 * math.log(2))
    assert level.num_labels == 4


def test_no_label_is_an_error():
    with pytest.raises(ValueError, match="argument `labels`"):
        unigram_level([1, 2], [0, 0])


@pytest.mark.parametrize("next_sentence", [True, False])
def test_the_level_of_a_dataset_does_not_use_up_an_epoch(
    tokenizer, next_sentence
):
    corpus = Corpus.from_documents([["w0 w0 w0 w0 w0"] * 9] * 2, tokenizer)
    dataset = pretraining_dataset(
        corpus, tokenizer, 16, 2, next_sentence=next_sentence
    )
    level = dataset_level(dataset)
    assert (level.accuracy, level.entropy) == (1, 0)
    assert level.num_labels > 0
    assert dataset.keras_bert_epoch.value == 0
    labels = np.concatenate(
        [np.ravel(w["mask_ids"] if next_sentence else w) for _, _, w in dataset]
    )
    assert level.num_labels == labels.sum()
