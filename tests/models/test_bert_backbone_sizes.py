"""The 25 sizes and the exact parameter counts of the released models.

Counts: spec/bert.md A.8 and A.9, taken from the released checkpoints.
"""

import keras
import pytest

import keras_bert
from keras_bert.layers import MaskedLMHead
from keras_bert.models.sizes import SIZES

# Size, vocabulary, without pooler, with pooler, with pooler, masked-LM and
# next-sentence head.
FULL = """
bert_base   30522 108891648 109482240 110106428
bert_base   28996 107719680 108310272 108932934
bert_large  30522 334092288 335141888 336226108
bert_large  28996 332529664 333579264 334661958
bert_base  105879 166765824 167356416 168055961
bert_base  119547 177262848 177853440 178566653
bert_base   21128 101677056 102267648 102882442
"""
SMALL = """
bert_tiny      30522 4369408 4385920 4433468
bert_l4_h128   30522 4765952 4782464 4830012
bert_l6_h128   30522 5162496 5179008 5226556
bert_l8_h128   30522 5559040 5575552 5623100
bert_l10_h128  30522 5955584 5972096 6019644
bert_l12_h128  30522 6352128 6368640 6416188
bert_l2_h256   30522 9525248 9591040 9688380
bert_mini      30522 11104768 11170560 11267900
bert_l6_h256   30522 12684288 12750080 12847420
bert_l8_h256   30522 14263808 14329600 14426940
bert_l10_h256  30522 15843328 15909120 16006460
bert_l12_h256  30522 17422848 17488640 17585980
bert_l2_h512   30522 22196224 22458880 22754108
bert_small     30522 28500992 28763648 29058876
bert_l6_h512   30522 34805760 35068416 35363644
bert_medium    30522 41110528 41373184 41668412
bert_l10_h512  30522 47415296 47677952 47973180
bert_l12_h512  30522 53720064 53982720 54277948
bert_l2_h768   30522 38012928 38603520 39227708
bert_l4_h768   30522 52188672 52779264 53403452
bert_l6_h768   30522 66364416 66955008 67579196
bert_l8_h768   30522 80540160 81130752 81754940
bert_l10_h768  30522 94715904 95306496 95930684
"""
ROWS = [line.split() for line in (FULL + SMALL).split("\n") if line]


@pytest.fixture
def unallocated():
    """Variables made inside have a shape and no values."""
    with keras.StatelessScope(initialize_variables=False):
        yield
    # Else the next scope would fill in what was left without values here.
    keras.utils.clear_session(free_memory=False)


def test_all_thirty_released_configurations_are_listed():
    assert len({(name, size) for name, size, *_ in ROWS}) == 30
    assert {name for name, *_ in ROWS} == set(SIZES)
    assert len(SIZES) == 25


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:2]))
def test_parameter_counts(row, unallocated):
    name, *numbers = row
    vocabulary_size, bare, pooled, pretraining = (int(n) for n in numbers)
    model = keras_bert.BertBackbone.from_config_name(
        name, vocabulary_size=vocabulary_size
    )
    assert model.count_params() == pooled
    assert pooled - model.pooled_dense.count_params() == bare
    head = MaskedLMHead(model.token_embedding)
    head.build()
    next_sentence = keras.layers.Dense(2)
    next_sentence.build((None, model.hidden_dim))
    heads = head.count_params() + next_sentence.count_params()
    assert pooled + heads == pretraining


def test_without_a_pooler_its_parameters_are_gone(unallocated):
    model = keras_bert.BertBackbone.from_config_name("bert_base", pooler=False)
    assert model.count_params() == 108891648


def test_a_name_with_other_arguments():
    model = keras_bert.BertBackbone.from_config_name(
        "bert_tiny", vocabulary_size=11, num_layers=1, dropout=0.2
    )
    config = model.get_config()
    assert config["num_layers"] == 1 and config["num_heads"] == 2
    assert config["intermediate_dim"] == 512 and config["dropout"] == 0.2


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="`name`.*bert_l6_h256"):
        keras_bert.BertBackbone.from_config_name("bert_huge")
