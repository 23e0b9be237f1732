"""Shapes and exact parameter counts of the 30 released configurations."""

import pytest

import keras_bert.models as models
from keras_bert.checkpoints.load import model_variables
from keras_bert.checkpoints.shapes import count
from keras_bert.checkpoints.shapes import expected_shapes
from keras_bert.models.sizes import size_arguments

DEFAULTS = {
    "max_sequence_length": 512,
    "num_segments": 2,
    "pooler": True,
}
PRETRAINING = ("embeddings", "encoder", "pooler", "mlm", "next_sentence")

# spec/bert.md A.8: (size, vocabulary) -> with pooler, pretraining total.
FULL = {
    ("bert_base", 30522): (109_482_240, 110_106_428),
    ("bert_base", 28996): (108_310_272, 108_932_934),
    ("bert_large", 30522): (335_141_888, 336_226_108),
    ("bert_large", 28996): (333_579_264, 334_661_958),
    ("bert_base", 105879): (167_356_416, 168_055_961),
    ("bert_base", 119547): (177_853_440, 178_566_653),
    ("bert_base", 21128): (102_267_648, 102_882_442),
}
# spec/bert.md A.9, vocabulary 30,522: (layers, width) -> the same two.
SMALL = {
    (2, 128): (4_385_920, 4_433_468),
    (4, 128): (4_782_464, 4_830_012),
    (6, 128): (5_179_008, 5_226_556),
    (8, 128): (5_575_552, 5_623_100),
    (10, 128): (5_972_096, 6_019_644),
    (12, 128): (6_368_640, 6_416_188),
    (2, 256): (9_591_040, 9_688_380),
    (4, 256): (11_170_560, 11_267_900),
    (6, 256): (12_750_080, 12_847_420),
    (8, 256): (14_329_600, 14_426_940),
    (10, 256): (15_909_120, 16_006_460),
    (12, 256): (17_488_640, 17_585_980),
    (2, 512): (22_458_880, 22_754_108),
    (4, 512): (28_763_648, 29_058_876),
    (6, 512): (35_068_416, 35_363_644),
    (8, 512): (41_373_184, 41_668_412),
    (10, 512): (47_677_952, 47_973_180),
    (12, 512): (53_982_720, 54_277_948),
    (2, 768): (38_603_520, 39_227_708),
    (4, 768): (52_779_264, 53_403_452),
    (6, 768): (66_955_008, 67_579_196),
    (8, 768): (81_130_752, 81_754_940),
    (10, 768): (95_306_496, 95_930_684),
}
NAMES = {(2, 128): "tiny", (4, 256): "mini", (4, 512): "small",
         (8, 512): "medium"}  # fmt: skip
CASES = dict(FULL)
for (layers, width), counts in SMALL.items():
    short = NAMES.get((layers, width), f"l{layers}_h{width}")
    CASES[f"bert_{short}", 30522] = counts


def test_there_are_thirty_configurations():
    assert len(CASES) == 30


@pytest.mark.parametrize("size, vocabulary", CASES)
def test_counts_are_exact(size, vocabulary):
    config = {
        **DEFAULTS,
        **size_arguments(size),
        "vocabulary_size": vocabulary,
    }
    backbone, pretraining = CASES[size, vocabulary]
    assert count(expected_shapes(config)) == backbone
    assert count(expected_shapes(config, PRETRAINING)) == pretraining


def test_the_shapes_are_those_of_the_built_model():
    backbone = models.BertBackbone(
        vocabulary_size=11,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        max_sequence_length=16,
        num_segments=3,
    )
    model = models.BertPretrainer(backbone)
    assert expected_shapes(backbone.get_config(), PRETRAINING) == {
        name: tuple(variable.shape)
        for name, variable in model_variables(model).items()
    }
