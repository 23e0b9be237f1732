"""Turns what users hand to fit, evaluate and predict into tf.data.

A tuple is always a pair, a list or array always a batch; elements of a
tf.data dataset are (x, y) or (x, y, sample_weight) with x alike.
"""

import math

import numpy as np

from keras_bert._backend import compiles_per_shape
from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert._tensorflow import without_autotune
from keras_bert.models._token_rows import TokenRows
from keras_bert.models._token_rows import padded_width

# Rows are padded only to the next of these widths above the longest row of
# the batch: few enough that a compiled step is traced a handful of times.
BUCKETS = (16, 32, 64, 128, 256, 384, 512)
# Where nothing is compiled a further width costs nothing.
_FINE = tuple(range(1, 513))


def widths():
    """The widths that rows are padded to in training and prediction."""
    return BUCKETS if compiles_per_shape() else _FINE


def is_ids(x):
    """Whether x is a dict of ids, which bypasses the preprocessor."""
    return isinstance(x, dict) and "token_ids" in x


def check_dict(x):
    """Refuses a dict that is neither ids nor anything else we know."""
    if isinstance(x, dict) and not is_ids(x):
        expected = "a dict with `token_ids`"
        if type(x).__name__ == "DatasetDict":
            expected = "one of the data sets that a DatasetDict holds"
        raise invalid("x", expected, f"the keys {list(x)}")


def is_dataset(x):
    """Whether x is a tf.data dataset, without importing TensorFlow."""
    return any(
        cls.__name__ == "DatasetV2" and cls.__module__.startswith("tensorflow")
        for cls in type(x).__mro__
    )


def check_targets(model, x, y, argument=None):
    """Refuses data to train on or to measure in which no targets can be."""
    if y is not None or not model.needs_targets:
        return
    if isinstance(x, list | tuple):
        raise invalid(argument or "y", "a target for each text", None)
    if is_dataset(x) and not isinstance(x.element_spec, tuple):
        raise invalid(
            argument or "x",
            "a dataset whose elements are (x, y)",
            x.element_spec,
        )


def text_array(texts, argument="x"):
    """One batch of texts as an object array, each entry checked."""
    if isinstance(texts, str | bytes):
        texts = [texts]
    if hasattr(texts, "numpy") and not isinstance(texts, np.ndarray):
        texts = texts.numpy()
    if not hasattr(texts, "__len__"):
        raise invalid(argument, "a list or array of strings", texts)
    texts = list(texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str | bytes):
            raise invalid(argument, f"strings (see position {index})", text)
    # tf.constant refuses lone surrogates with a message about codecs; the
    # original drops what is not Unicode text, so do we.
    return np.array(
        [
            text.encode("utf-8", "ignore") if isinstance(text, str) else text
            for text in texts
        ],
        dtype=object,
    )


def text_arrays(x, argument="x"):
    """x as a tuple of one or two equally long arrays of texts."""
    parts = x if isinstance(x, tuple) else (x,)
    if len(parts) not in (1, 2):
        raise invalid(argument, "texts or a pair of lists of texts", x)
    arrays = tuple(text_array(part, argument) for part in parts)
    if len({len(array) for array in arrays}) > 1:
        raise invalid(
            argument,
            "both parts of the pair to hold the same number of texts",
            tuple(len(array) for array in arrays),
        )
    if len(arrays[0]) == 0:
        raise invalid(argument, "at least one text", x)
    return arrays


def check_lengths(count, **others):
    """Refuses y or sample_weight that do not match the number of rows."""
    for argument, values in others.items():
        if isinstance(values, dict) and values:
            values = next(iter(values.values()))
        if values is not None and len(values) != count:
            raise invalid(
                argument,
                f"as many entries as `x` has rows ({count})",
                f"{len(values)} entries",
            )


def weights_of(sample_weight):
    """A list of numbers as an array; weights per word stay lists."""
    if not isinstance(sample_weight, list | tuple | np.ndarray) or any(
        np.ndim(one) for one in sample_weight[:1]
    ):
        return sample_weight
    try:
        weights = np.asarray(sample_weight, "float32")
    except (TypeError, ValueError):
        weights = np.array(math.nan)
    if not np.isfinite(weights).all():
        raise invalid("sample_weight", "finite numbers", sample_weight)
    return weights


def trim(rows, to=BUCKETS):
    """Cuts the padding that no row of the batch needs."""
    tf = tensorflow()
    mask = rows["padding_mask"]
    longest = tf.reduce_max(tf.math.count_nonzero(mask, axis=-1))
    width = padded_width(longest, tf.shape(mask)[-1], to)
    per_token = ("token_ids", "segment_ids", "padding_mask")
    return {
        key: value[..., :width] if key in per_token else value
        for key, value in rows.items()
    }


# Batches among which rows are sorted by length; the number is that of
# transformers' group_by_length.
_GROUPED = 50


def row_batches(lengths, batch_size, shuffle):
    """A dataset of int64 row numbers, one vector per batch.

    Without `shuffle` the rows keep their order. With it the order is drawn
    in two steps, anew in each epoch:

    1. All rows are shuffled at once. A buffer of some of them would not do:
       a file that is sorted by label has to train as well.
    2. Rows of similar length come together. The shuffled rows are taken in
       groups of up to 50 batches; a group is sorted by length and cut into
       batches, which come in random order.

    Only the last group can have a batch that is short.
    """
    tf = tensorflow()
    count = len(lengths)
    rows = tf.data.Dataset.range(count)
    if not shuffle:
        return rows.batch(batch_size)
    rows = rows.shuffle(count, seed=np.random.randint(2**31 - 1))
    lengths = tf.constant(lengths, tf.int64)

    def batches(numbers):
        numbers = tf.gather(numbers, tf.argsort(tf.gather(lengths, numbers)))
        # Cut from the longest rows on, so that a short batch is a cheap one.
        found = tf.data.Dataset.from_tensor_slices(numbers[::-1])
        return found.batch(batch_size).shuffle(
            _GROUPED, seed=seed, reshuffle_each_iteration=True
        )

    seed = np.random.randint(2**31 - 1)
    batches = tf.autograph.experimental.do_not_convert(batches)
    grouped = max(1, min(_GROUPED, count // (4 * batch_size)))
    rows = rows.batch(grouped * batch_size).flat_map(batches)
    return rows.apply(
        tf.data.experimental.assert_cardinality(-(-count // batch_size))
    )


def example_batches(dataset, batch_size, group, prepare):
    """Batches of prepared rows from a tf.data dataset of single examples.

    With `group` rows of similar length come together as in `row_batches`;
    the dataset is read in its order, so shuffling it is the caller's part.
    """
    tf = tensorflow()
    if not group:
        return dataset.batch(batch_size).map(prepare, num_parallel_calls=2)

    def batches(x, *targets):
        lengths = tf.math.count_nonzero(x["padding_mask"], axis=-1)
        # The longest of the choices, where an example has several.
        lengths = tf.reduce_max(
            tf.reshape(lengths, [tf.shape(lengths)[0], -1]), axis=1
        )
        order = tf.argsort(lengths, direction="DESCENDING")
        rows = tf.nest.map_structure(
            lambda a: tf.gather(a, order), (x, *targets)
        )
        found = tf.data.Dataset.from_tensor_slices(rows).batch(batch_size)
        return found.shuffle(_GROUPED, reshuffle_each_iteration=True)

    def trimmed(x, *targets):
        return (trim(x, widths()), *targets)

    keep = tf.autograph.experimental.do_not_convert
    count = int(dataset.cardinality())
    dataset = dataset.batch(_GROUPED * batch_size)
    dataset = dataset.map(prepare, num_parallel_calls=2)
    dataset = dataset.flat_map(keep(batches)).map(keep(trimmed))
    if count >= 0:
        dataset = dataset.apply(
            tf.data.experimental.assert_cardinality(-(-count // batch_size))
        )
    return dataset


def text_dataset(
    arrays, y, sample_weight, batch_size, shuffle, preprocessor, prepare
):
    """Batches of prepared rows from arrays of texts, order kept or not."""
    tf = tensorflow()
    x = arrays[0] if len(arrays) == 1 else arrays
    if y is None and sample_weight is not None:
        raise invalid("sample_weight", "None when `y` is None", sample_weight)
    targets = tuple(part for part in (y, sample_weight) if part is not None)
    x, targets = tf.nest.map_structure(tf.constant, (x, targets))

    def at(numbers, structure):
        return tf.nest.map_structure(lambda a: tf.gather(a, numbers), structure)

    def batch(numbers):
        if tokenized is not None and tokenized.kept:
            rows = tokenized.gather(numbers, widths())
            return (rows, *at(numbers, targets))
        return prepare(at(numbers, x), *at(numbers, targets))

    # Sorted by bytes instead, batches of SST-2 are 26% padding, not 5%.
    tokenized = TokenRows(arrays, preprocessor) if shuffle else None
    lengths = tokenized.lengths if shuffle else np.zeros(len(arrays[0]))
    batch = tf.autograph.experimental.do_not_convert(batch)
    dataset = row_batches(lengths, batch_size, shuffle)
    dataset = dataset.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    return without_autotune(dataset.prefetch(2))


def split(share, x, y, sample_weight):
    """Keras' validation_split: the last share of the rows is held out."""
    if is_ids(x):
        count = len(x["token_ids"])
    elif isinstance(x, tuple):
        count = len(x[0])
    else:
        count = len(x)
    border = int(count * (1 - share))
    if not 0 < border < count:
        raise invalid("validation_split", "a share that leaves rows on both "
                      f"sides of {count}", share)  # fmt: skip

    def cut(values, rows):
        if values is None:
            return None
        if isinstance(values, dict):
            return {key: value[rows] for key, value in values.items()}
        if isinstance(values, tuple):
            return tuple(value[rows] for value in values)
        return values[rows]

    first, last = slice(None, border), slice(border, None)
    training = [cut(values, first) for values in (x, y, sample_weight)]
    held_out = tuple(cut(values, last) for values in (x, y, sample_weight))
    return (*training, held_out)
