"""pandas data frames and Hugging Face data sets as raw inputs of `fit`.

A table is read by its column names. It holds one of these, under the names
that the published data sets have:

    texts      text or sentence, or a pair of columns (text and text_pair,
               sentence1 and sentence2, ...); label or labels
    questions  question, context; answers
    words      tokens or words; ner_tags or tags
    choices    sent1 or context (or startphrase), ending0, ending1, ..., where
               each ending may begin with sent2; label

Other columns are handed over one by one, as in
`fit((table["q1"], table["q2"]), table["same"])`.
"""

import re

import numpy as np

from keras_bert._errors import invalid

_TEXTS = (
    ("text", "text_pair"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("text",),
    ("sentence",),
)
_LABELS = ("label", "labels")
_QUESTIONS = ("question", "context")
_ANSWERS = ("answers",)
_WORDS = ("tokens", "words")
_TAGS = ("ner_tags", "tags")


def is_table(x):
    """Whether x is a data frame or a data set, without importing either."""
    return any(
        (cls.__name__, cls.__module__.partition(".")[0])
        in (("DataFrame", "pandas"), ("Dataset", "datasets"))
        for cls in type(x).__mro__
    )


def columns_of(x, y=None, labels=None, choices=False):
    """Raw inputs and targets of a table; anything else as it is.

    Args:
        x: what the user gave as `x`.
        y: what the user gave as `y`; a name of a column is looked up.
        labels: the model's, or None. Class numbers of a data set that knows
            their names become names, for the order may differ.
        choices: whether the model reads contexts with several endings.
    """
    if not is_table(x):
        return x, y
    x = _plain(x)
    names = _names(x)
    read, columns, targets = _reader_of(names, choices)
    if y is None:
        y = next((name for name in targets if name in names), None)
    if isinstance(y, str):
        if y not in names:
            raise invalid("y", f"a column out of {', '.join(names)}", y)
        y = _targets(x, y, labels)
    return read(x, columns), y


def inputs_of(x, choices=False):
    """Raw inputs of a table, whatever its targets are."""
    if not is_table(x):
        return x
    x = _plain(x)
    read, columns, _ = _reader_of(_names(x), choices)
    return read(x, columns)


def _is_data_set(table):
    # By class: the columns of a data frame are attributes of it.
    return hasattr(type(table), "column_names")


def _plain(table):
    # Numbers and strings, whatever `with_format` makes of them.
    return table.with_format(None) if _is_data_set(table) else table


def _names(table):
    names = table.column_names if _is_data_set(table) else table.columns
    return [str(name) for name in names]


def _reader_of(names, choices):
    """How to read a table: a function, its columns, names of targets."""
    if choices:
        return _choices, names, _LABELS
    for columns in _TEXTS:
        if set(columns) <= set(names):
            return _parts, columns, _LABELS
    if set(_QUESTIONS) <= set(names):
        return _parts, _QUESTIONS, _ANSWERS
    for column in _WORDS:
        if column in names:
            return _word_lists, column, _TAGS
    raise invalid(
        "x",
        "a table with the columns text (and text_pair), or its columns "
        'one by one, as in fit(table["question"], table["kind"])',
        names,
    )


def _parts(table, columns):
    parts = tuple(_texts(table, name) for name in columns)
    return parts[0] if len(parts) == 1 else parts


def _word_lists(table, column):
    return [list(words) for words in table[column]]


def _choices(table, names):
    """Contexts, and for each the list of its endings."""
    context = next(
        (n for n in ("sent1", "context", "startphrase") if n in names), None
    )
    endings = sorted(
        (name for name in names if re.fullmatch(r"ending\d+", name)),
        key=lambda name: int(name[len("ending") :]),
    )
    if context is None or len(endings) < 2:
        raise invalid(
            "x",
            "a table with the columns sent1 (or context), ending0, ending1, "
            'and so on, or fit((table["story"], table["endings"]), y)',
            names,
        )
    columns = [_texts(table, name) for name in endings]
    # A start phrase is sent1 with sent2 behind it.
    if "sent2" in names and context != "startphrase":
        begins = [f"{text} " if text else "" for text in _texts(table, "sent2")]
        columns = [
            [b + text for b, text in zip(begins, column, strict=True)]
            for column in columns
        ]
    return _texts(table, context), [
        list(row) for row in zip(*columns, strict=True)
    ]


def _texts(table, name):
    """Texts as strings: numbers are written out, gaps are empty."""
    return ["" if _is_gap(v) else str(v) for v in table[name]]


def _is_gap(value):
    if is_list(value):
        return False
    return value is None or type(value).__name__ == "NAType" or value != value


def is_list(value):
    """Whether a value holds several, and is no text."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _targets(table, name, labels):
    values = list(table[name])
    if any(map(_is_gap, values)):
        raise invalid("y", f"a label in every row of `{name}`", None)
    if values and isinstance(values[0], dict):
        return [_answers(value) for value in values]
    feature = table.features.get(name) if _is_data_set(table) else None
    if values and is_list(values[0]):
        # A tag for each word: the feature is that of a list of classes.
        feature = getattr(feature, "feature", None)
        return [_class_names(tags, feature, labels, name) for tags in values]
    return np.asarray(_class_names(values, feature, labels, name))


def _class_names(values, feature, labels, name):
    """Class numbers of a data set as the names that it has for them."""
    values = list(values)
    if labels is None or not hasattr(feature, "int2str") or not values:
        return values
    if min(values) < 0:
        raise invalid(
            "y", f"labels in `{name}` (-1 marks a test set)", min(values)
        )
    return [feature.int2str(int(value)) for value in values]


def _answers(value):
    """One question's answers as a list of dicts `text` and `start`.

    Data sets hold them as a dict of lists, `text` and `answer_start`.
    """
    if "answer_start" not in value:
        return value
    texts, starts = value["text"], value["answer_start"]
    if not is_list(starts):
        texts, starts = [texts], [starts]
    return [
        {"text": str(text), "start": int(start)}
        for text, start in zip(texts, starts, strict=True)
    ]
