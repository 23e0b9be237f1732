"""Context managers round Keras' fit, evaluate and predict."""

import contextlib
import re
import warnings


@contextlib.contextmanager
def argument_errors():
    """Turns our ValueError, wrapped by tf.data, back into a ValueError."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        found = re.search(
            r"Invalid value received for argument [^\n]*", str(error)
        )
        if not found:
            raise
        raise ValueError(found.group()) from error


@contextlib.contextmanager
def unused_pooler():
    """Silences Keras about the pooler in models that do not read it.

    Checkpoints carry a pooler and it is kept, so that a masked language model
    can be written back whole.
    """
    pooler = r"'[^']*pooled_dense/(kernel|bias)'"
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore",
            message=r"Gradients do not exist for variables "
            rf"\[{pooler}, {pooler}\]",
        )
        yield
