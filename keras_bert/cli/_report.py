"""The figures of a task as one readable table."""

from keras_bert.cli import _common


def print_figures(task, figures):
    """One row per split: the first holds the others as dicts."""
    print()
    rows = []
    for name, one in splits(task, figures).items():
        if "accuracy" in one and isinstance(one["accuracy"], dict):
            rows.append(
                _common.accuracy_row(
                    "accuracy (chance: the largest class)", one["accuracy"]
                )
            )
        else:
            plain = {
                key: value
                for key, value in one.items()
                if isinstance(value, int | float)
            }
            rows.append((name, *plain.values()))
            header = ("held out", *plain)
    if isinstance(figures.get("accuracy"), dict):
        header = _common.ACCURACY_HEADER
    _common.print_table([header, *rows])


def splits(task, figures):
    """Name of a split -> its own figures."""
    others = {name: figures[name] for name in task.dev if name in figures}
    own = {key: value for key, value in figures.items() if key not in others}
    return {task.dev[0]: own, **others}
