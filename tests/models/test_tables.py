"""pandas data frames and Hugging Face data sets in fit, evaluate, predict."""

import numpy as np
import pytest

import keras_bert

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film"]
TEXTS = ["good film", "bad film", "good", "bad"]


@pytest.fixture
def model():
    backbone = keras_bert.BertBackbone(
        vocabulary_size=8, num_layers=1, num_heads=2, hidden_dim=4,
        intermediate_dim=8, max_sequence_length=16,
    )  # fmt: skip
    tokenizer = keras_bert.BertTokenizer(WORDS, lowercase=True)
    return keras_bert.BertTextClassifier(
        backbone, preprocessor=tokenizer, labels=["neg", "pos"]
    )


def test_a_data_frame_and_its_columns(model):
    import pandas

    names = ["pos", "neg", "pos", "neg"]
    frame = pandas.DataFrame({"text": TEXTS, "label": names})
    frame.index = [7, 3, 9, 1]  # Rows count, not their names.
    model.fit(frame, epochs=1, verbose=0, validation_data=frame)
    model.fit(frame["text"], frame["label"], verbose=0)
    expected = model.predict(TEXTS, verbose=0)
    for x in (frame, frame["text"]):
        np.testing.assert_allclose(
            model.predict(x, verbose=0), expected, rtol=1e-5
        )
    assert model.evaluate(frame, verbose=0) == pytest.approx(
        model.evaluate(TEXTS, names, verbose=0), rel=1e-5
    )
    # A number is text, a gap is the empty text.
    frame["text"] = ["good", 7, None, float("nan")]
    np.testing.assert_allclose(
        model.predict(frame, verbose=0),
        model.predict(["good", "7", "", ""], verbose=0),
        rtol=1e-5,
    )
    with pytest.raises(ValueError, match="`x`.*columns text"):
        model.fit(frame.rename(columns={"text": "body"}))
    with pytest.raises(ValueError, match="`y`"):
        model.fit(frame, "kind")
    frame["label"] = ["pos", None, "pos", "neg"]
    with pytest.raises(ValueError, match="`y`.*label in every row"):
        model.fit(frame)


def test_a_data_set_keeps_the_names_of_its_classes(model):
    import datasets

    # The other order than the model's: 0 is pos here and neg there.
    features = datasets.Features(
        {
            "sentence": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["pos", "neg"]),
        }
    )
    data = datasets.Dataset.from_dict(
        {"sentence": TEXTS, "label": [0, 1, 0, 1]}, features=features
    )
    model.fit(data, epochs=1, verbose=0)
    found = model.evaluate(data, verbose=0, return_dict=True)
    expected = model.evaluate(
        TEXTS, ["pos", "neg", "pos", "neg"], verbose=0, return_dict=True
    )
    assert found == pytest.approx(expected, rel=1e-5)
    as_arrays = model.evaluate(
        data.with_format("numpy"), verbose=0, return_dict=True
    )
    assert as_arrays == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ValueError, match="`x`.*one of the data sets"):
        model.fit(datasets.DatasetDict({"train": data}))
    test = datasets.Dataset.from_dict(
        {"sentence": TEXTS, "label": [-1] * 4}, features=features
    )
    with pytest.raises(ValueError, match="`y`.*-1 marks a test set"):
        model.evaluate(test)
    assert model.predict(test, verbose=0).shape == (4, 2)
