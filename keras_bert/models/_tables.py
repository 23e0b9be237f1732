"""pandas data frames and Hugging Face data sets as raw inputs of `fit`.

A table is read by its column names, those of the task `text`: `text` or
`sentence`; `text` and `text_pair`, or the names that GLUE's data sets have;
`label` or `labels`. Other columns are handed over one by one, as in
`fit((table["q1"], table["q2"]), table["same"])`.
"""

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


def is_table(x):
    """Whether x is a data frame or a data set, without importing either."""
    return any(
        (cls.__name__, cls.__module__.partition(".")[0])
        in (("DataFrame", "pandas"), ("Dataset", "datasets"))
        for cls in type(x).__mro__
    )


def columns_of(x, y, labels):
    """Texts and targets of a table; anything else comes back as it is.

    Args:
        x: what the user gave as `x`.
        y: what the user gave as `y`; a name of a column is looked up.
        labels: the model's, or None. Class numbers of a data set that knows
            their names become names, for the order may differ.
    """
    if not is_table(x):
        return x, y
    names = list(getattr(x, "column_names", None) or x.columns)
    found = next((t for t in _TEXTS if set(t) <= set(names)), None)
    if found is None:
        raise invalid(
            "x",
            "a table with the columns text (and text_pair), or its columns "
            'one by one, as in fit(table["question"], table["kind"])',
            names,
        )
    texts = tuple(_texts(x, name) for name in found)
    if y is None:
        y = next((name for name in _LABELS if name in names), None)
    if isinstance(y, str):
        if y not in names:
            raise invalid("y", f"a column out of {', '.join(names)}", y)
        y = _targets(x, y, labels)
    return texts[0] if len(texts) == 1 else texts, y


def _texts(table, name):
    """Texts as strings: numbers are written out, gaps are empty."""
    return ["" if _is_gap(v) else str(v) for v in table[name]]


def _is_gap(value):
    return value is None or type(value).__name__ == "NAType" or value != value


def _targets(table, name, labels):
    values = list(table[name])
    if any(map(_is_gap, values)):
        raise invalid("y", f"a label in every row of `{name}`", None)
    feature = getattr(table, "features", {}).get(name)
    if labels is not None and hasattr(feature, "int2str"):
        if min(values) < 0:
            raise invalid(
                "y", f"labels in `{name}` (-1 marks a test set)", min(values)
            )
        return [feature.int2str(int(value)) for value in values]
    return np.asarray(values)
