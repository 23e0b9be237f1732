"""What the verbs of the command line have to know about a task."""

import dataclasses
from collections.abc import Callable


def _nothing(*arguments, **options):
    return {}


@dataclasses.dataclass(frozen=True)
class Task:
    """One entry of the table of tasks.

    Every function takes the options of the task as keywords and ignores those
    that it has no use for (`**_`).

    Attributes:
        name: the word on the command line.
        model: name of the class in `keras_bert.models`.
        read: `(data, split, **options)` -> rows, a dict with `x` and `y` as
            the model's `fit` takes them (`y` is None without labels), `ids`,
            `notes`, sentences on what was skipped or mended, and optionally
            `groups`, for each row the number of those that belong together:
            where one file is parted into train and dev, they stay together.
            `data` is a file, or a folder in which the file of the split
            ("train", "dev", "test" or a name in `dev` and `test`) is found.
        predict: `(model, rows, batch_size=32, callbacks=None, **options)` ->
            predictions, of whatever form the three functions below
            understand.
        score: `(rows, predictions, **options)` -> dict of figures.
        metric: the figure that stands for the result. Greater is better.
        write: `(rows, predictions, path, **options)` -> list of the paths
            written, in the official form.
        combine: `(list of predictions)` -> the predictions of the ensemble.
        report: `(rows, predictions, folder, **options)`: files for people,
            such as misread examples, into the run folder.
        windows: `(model, rows)` -> an object with `rows`, what the model reads
            of texts that may be several rows each; it raises for a text that
            cannot be read. None where a text is one row.
        check: `(model, rows)` -> sentences on training rows that the model
            cannot represent as they are.
        tune: `(model, predictions, figures, **options)` -> predictions: sets
            what the dev rows decide, such as a threshold.
        model_arguments: `(rows, **options)` -> arguments of the model class
            that the training rows decide, such as `labels`.
        preprocessor_arguments: `(**options)` -> arguments of the model's
            preprocessor besides `sequence_length`.
        options: name -> arguments of `add_argument` for the options that only
            this task has, `default` among them.
        kept: names of options for which evaluate and predict take what the
            run was trained with, unless they are given.
        sequence_length, batch_size, learning_rate, epochs: of the recipe.
        dev, test: names of the splits to measure and to predict. The first
            of `dev` decides.
        files: split -> official name of its file of predictions.
        writes_folder: whether `write` makes a folder of several files, and
            `path` is that folder.
    """

    name: str
    model: str
    read: Callable
    predict: Callable
    score: Callable
    metric: str
    write: Callable
    combine: Callable | None = None
    report: Callable | None = None
    windows: Callable | None = None
    check: Callable | None = None
    tune: Callable | None = None
    model_arguments: Callable = _nothing
    preprocessor_arguments: Callable = _nothing
    options: dict = dataclasses.field(default_factory=dict)
    kept: tuple = ()
    sequence_length: int = 128
    batch_size: int = 32
    learning_rate: float = 2e-5
    epochs: int = 3
    dev: tuple = ("dev",)
    test: tuple = ("test",)
    files: dict = dataclasses.field(default_factory=dict)
    writes_folder: bool = False

    def headline(self, figures):
        """The number that stands for the result."""
        value = figures[self.metric]
        return float(value["value"] if isinstance(value, dict) else value)

    def evaluate(self, model, rows, **options):
        """Predicts the rows and scores them."""
        return self.score(rows, self.predict(model, rows, **options), **options)
