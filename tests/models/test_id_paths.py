"""Ids and lengths out of range are refused on every path (decision 14)."""

import keras
import numpy as np
import pytest

import keras_bert

BAD = {
    "past_the_vocabulary": (np.full((4, 8), 99), "vocabulary_size"),
    "below_zero": (np.full((4, 8), -1), "at least 0"),
    "too_long": (np.full((4, 80), 5), "max_sequence_length"),
}
Y = np.array([0, 1, 0, 1])


@pytest.fixture(scope="module")
def model():
    backbone = keras_bert.BertBackbone(
        vocabulary_size=20,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=8,
        max_sequence_length=64,
    )
    return keras_bert.BertTextClassifier(backbone, num_classes=2)


def _dataset(x, y):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((x, y)).batch(2)


class _Batches(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.rows = x, y

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.rows


PATHS = {
    "call": lambda m, x: m(x),
    "fit": lambda m, x: m.fit(x, Y, verbose=0),
    "evaluate": lambda m, x: m.evaluate(x, Y, verbose=0),
    "predict": lambda m, x: m.predict(x, verbose=0),
    "train_on_batch": lambda m, x: m.train_on_batch(x, Y),
    "test_on_batch": lambda m, x: m.test_on_batch(x, Y),
    "predict_on_batch": lambda m, x: m.predict_on_batch(x),
    "fit_tf_data": lambda m, x: m.fit(_dataset(x, Y), verbose=0),
    "predict_tf_data": lambda m, x: m.predict(_dataset(x, Y), verbose=0),
    "fit_py_dataset": lambda m, x: m.fit(_Batches(x, Y), verbose=0),
    "fit_generator": lambda m, x: m.fit(
        iter([(x, Y)]), steps_per_epoch=1, verbose=0
    ),
    "validation": lambda m, x: m.fit(
        {"token_ids": np.ones((4, 8), "int32")},
        Y,
        validation_data=(x, Y),
        verbose=0,
    ),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("bad", BAD)
def test_out_of_range_is_a_value_error(model, path, bad):
    token_ids, expected = BAD[bad]
    with pytest.raises(ValueError, match=rf"`token_ids`.*{expected}"):
        PATHS[path](model, {"token_ids": token_ids.astype("int32")})


@pytest.mark.parametrize("path", PATHS)
def test_ids_in_range_pass(model, path):
    PATHS[path](model, {"token_ids": np.full((4, 8), 19, "int32")})


def test_compiled_by_xla_it_is_refused_as_well(model):
    compiled = keras_bert.BertTextClassifier.from_config(model.get_config())
    compiled.compile(jit_compile=keras.config.backend() != "torch")
    with pytest.raises(ValueError, match="vocabulary_size"):
        compiled.predict({"token_ids": np.full((4, 8), 99)}, verbose=0)


def test_segments_and_positions_are_checked(model):
    rows = {"token_ids": np.ones((2, 8), "int32")}
    for name, value in (("segment_ids", 2), ("cls_positions", 8)):
        bad = {**rows, name: np.full((2, 8), value, "int32")}
        with pytest.raises(ValueError, match=f"`{name}`"):
            model.predict(bad, verbose=0)


def test_labels_in_ids_batches_are_checked(model):
    with pytest.raises(ValueError, match="argument `y`"):
        model.fit({"token_ids": np.ones((2, 8))}, [0, 2], verbose=0)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "method", ["predict", "predict_on_batch", "dataset", "fit"]
)
def test_a_bare_backbone_refuses_them_too(model, method, bad):
    token_ids, expected = BAD[bad]
    x = {"token_ids": token_ids.astype("int32")}
    backbone = keras_bert.BertBackbone.from_config(model.backbone.get_config())
    with pytest.raises(ValueError, match=rf"`token_ids`.*{expected}"):
        if method == "dataset":
            backbone.predict(_dataset(x, Y), verbose=0)
        elif method == "fit":
            backbone.compile("sgd", {"sequence_output": "mse"})
            backbone.fit(x, {"sequence_output": np.zeros((4, 8, 8))}, verbose=0)
        else:
            getattr(backbone, method)(x)
