"""Guards round Keras' fit, evaluate and predict."""

import contextlib
import functools
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


def state_kept(model, function):
    """A step function of Keras that leaves the variables whole on an error.

    Under JAX, Keras takes the arrays out of the variables and hands them to
    the step as `state`. A batch that raises would lose them, and the model
    with them. Elsewhere the function is returned as it is.
    """
    if not hasattr(model, "jax_state_sync") or hasattr(function, "keeps_state"):
        return function

    @functools.wraps(function)
    def step(state, iterator):
        try:
            return function(state, iterator)
        except Exception:
            _restore(model, state)
            raise

    step.keeps_state = True
    return step


def _restore(model, state):
    """Puts the arrays of a step's state back into the variables."""
    groups = [model.trainable_variables, model.non_trainable_variables]
    if len(state) == 4:
        groups.append(model.optimizer.variables)
    if len(state) >= 3:
        groups.append(model.metrics_variables)
    for variables, values in zip(groups, state, strict=True):
        for variable, value in zip(variables, values, strict=True):
            # Arrays that a step has begun to overwrite are gone.
            if not value.is_deleted():
                variable.assign(value)
