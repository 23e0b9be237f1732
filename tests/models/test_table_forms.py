"""Tables of choices, questions and words; tables as validation data.

The columns are those of the data sets swag, squad_v2 and conll2003.
"""

import numpy as np
import pytest

import keras_bert
from keras_bert.models._tables import columns_of
from keras_bert.models._tables import inputs_of

SWAG = {
    "startphrase": ["the fox was", "a dog it"],
    "sent1": ["the fox", "a dog"],
    "sent2": ["was", None],
    "ending0": ["good", "dull"],
    "ending1": ["dull", "lazy"],
    "label": [1, 0],
}
# What keras_bert.tasks.swag makes of such rows.
CONTEXTS = ["the fox", "a dog"]
ENDINGS = [["was good", "was dull"], ["dull", "lazy"]]
SQUAD = {
    "question": ["who", "what"],
    "context": ["the fox jumps", "a dog"],
    "answers": [
        {"text": ["fox", "the fox"], "answer_start": [4, 0]},
        {"text": [], "answer_start": []},
    ],
}
ANSWERS = [[{"text": "fox", "start": 4}, {"text": "the fox", "start": 0}], []]
WORDS = [["the", "fox"], ["a", "lazy", "dog"]]
TAGS = ["O", "B-PER", "I-PER"]
CONLL = {"tokens": WORDS, "ner_tags": [[0, 1], [0, 0, 2]]}
NAMES = [["O", "B-PER"], ["O", "O", "I-PER"]]


def _tables(columns, **features):
    """The same rows as a data frame and as a data set."""
    import datasets
    import pandas

    frame = pandas.DataFrame(columns)
    frame.index = frame.index + 7  # Rows count, not their names.
    data = datasets.Dataset.from_dict(columns)
    for name, feature in features.items():
        data = data.cast_column(name, feature)
    return frame, data


def _classes(names):
    import datasets

    return datasets.Sequence(datasets.ClassLabel(names=names))


def _small(make_backbone):
    return make_backbone(num_layers=1, dropout=0.0, attention_dropout=0.0)


def test_multiple_choice_reads_the_columns_of_swag(make_backbone, tokenizer):
    model = keras_bert.BertMultipleChoice(
        _small(make_backbone), preprocessor=tokenizer, dropout=0.0
    )
    expected = model.predict((CONTEXTS, ENDINGS), verbose=0)
    loss = model.evaluate((CONTEXTS, ENDINGS), [1, 0], verbose=0)
    for table in _tables(SWAG):
        np.testing.assert_allclose(
            model.predict(table, verbose=0), expected, rtol=1e-5
        )
        assert model.evaluate(table, verbose=0) == pytest.approx(loss, rel=1e-5)
    frame = _tables(SWAG)[0]
    history = model.fit(frame, verbose=0, validation_data=frame).history
    assert np.isfinite(history["val_loss"][0])
    # Columns of one's own, whose rows have names other than 0, 1, ...
    frame["endings"] = ENDINGS
    own = (frame["sent1"], frame["endings"])
    assert model.evaluate(own, frame["label"], verbose=0) == pytest.approx(
        model.evaluate(frame, verbose=0), rel=1e-5
    )
    own = (frame["sent1"], frame[["ending0", "ending1"]])
    assert model.predict(own, verbose=0).shape == (2, 2)
    for x, y, message in (
        (own, [2, 0], "`y`.*0 to 1"),
        ((["a"], [3]), [0], "`x`.*position 0"),
        ((["a"], 3), [0], "`x`.*a list of endings"),
        (frame[["sent1", "ending0", "label"]], None, "`x`.*ending1"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(x, y, verbose=0)


def test_the_forms_of_choices():
    for table in _tables(SWAG):
        (contexts, endings), y = columns_of(table, choices=True)
        assert (contexts, endings) == (CONTEXTS, ENDINGS)
        assert list(y) == [1, 0]
    frame = _tables(SWAG)[0].drop(columns="sent1")
    # A start phrase ends with what every ending begins with.
    contexts, endings = inputs_of(frame, choices=True)
    assert contexts == SWAG["startphrase"]
    assert endings == [["good", "dull"], ["dull", "lazy"]]


def test_questions_are_read_from_the_columns_of_squad(make_backbone, tokenizer):
    for table in _tables(SQUAD):
        x, y = columns_of(table)
        assert x == (SQUAD["question"], SQUAD["context"]) and y == ANSWERS
    model = keras_bert.BertQuestionAnswerer(
        _small(make_backbone), preprocessor=tokenizer
    )
    loss = model.evaluate(x, ANSWERS, verbose=0)
    for table in _tables(SQUAD):
        assert model.evaluate(table, verbose=0) == pytest.approx(loss, rel=1e-5)
        assert model.predict(table, verbose=0) == model.predict(x, verbose=0)
    model.fit(table, verbose=0)


def test_words_are_read_from_the_columns_of_conll(make_backbone, tokenizer):
    frame, data = _tables(CONLL, ner_tags=_classes(TAGS))
    other = ["I-PER", "B-PER", "O"]
    model = keras_bert.BertTokenClassifier(
        _small(make_backbone), preprocessor=tokenizer, labels=other, dropout=0.0
    )
    loss = model.evaluate(WORDS, NAMES, verbose=0)
    # Numbers of a data set that knows their names are names.
    assert model.evaluate(data, verbose=0) == pytest.approx(loss, rel=1e-5)
    assert model.evaluate(frame, verbose=0) != pytest.approx(loss, rel=1e-5)
    found, wanted = (model.predict(one, verbose=0) for one in (frame, WORDS))
    assert all(map(np.array_equal, found, wanted))
    frame["tags"] = NAMES
    assert model.evaluate(frame, "tags", verbose=0) == pytest.approx(
        loss, rel=1e-5
    )
    model.fit(data, verbose=0)
    assert columns_of(data)[1] == CONLL["ner_tags"]


def test_tables_in_validation_data_stand_for_their_columns(
    make_backbone, tokenizer
):
    frame, _ = _tables({"text": ["the fox", "a dog"], "same": ["x", "y"]})
    model = keras_bert.BertTextClassifier(
        _small(make_backbone), preprocessor=tokenizer, labels=["x", "y"],
        dropout=0.0,
    )  # fmt: skip
    texts = (list(frame["text"]), list(frame["same"]))
    for held in ((frame, "same"), (frame, frame["same"])):
        history = model.fit(frame, "same", verbose=0, validation_data=held)
        # Measured after the epoch, so with the weights of now.
        assert history.history["val_loss"][0] == pytest.approx(
            model.evaluate(*texts, verbose=0)[0], rel=1e-4
        )
    frame = frame.rename(columns={"same": "label"})
    history = model.fit(frame, verbose=0, validation_data=(frame, None))
    assert history.history["val_loss"][0] == pytest.approx(
        model.evaluate(*texts, verbose=0)[0], rel=1e-4
    )
    with pytest.raises(ValueError, match="`y`.*a column out of"):
        model.fit(frame, verbose=0, validation_data=(frame, "kind"))
    # Predictions do not ask for labels.
    frame["label"] = [None, None]
    assert model.predict(frame, verbose=0).shape == (2, 2)
