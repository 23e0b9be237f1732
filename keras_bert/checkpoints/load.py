"""Assigning a checkpoint to a model, one variable at a time."""

import numpy as np

from keras_bert.checkpoints import names
from keras_bert.checkpoints.checkpoint import TASK_PARTS
from keras_bert.checkpoints.report import LoadReport

POSITIONS = "embeddings/position_embedding/embeddings"


def model_variables(model):
    """{our name: variable} of a backbone or task model.

    Our name is the variable's path without the name of the model (or, for a
    backbone inside a task model, of the backbone).
    """
    found = {}
    for variable in model.weights:
        parts = variable.path.split("/")
        # A layer built outside its model's `build` lacks the model's name;
        # a wrapper may put one more name before the backbone's.
        ends = ["/".join(parts[i:]) for i in range(len(parts) - 1)]
        known = [end for end in ends if names.part_of(end) is not None]
        found[(known or ends[1:] or [parts[-1]])[0]] = variable
    return found


def task_of(model):
    """The task model's name in the class's ancestry, or None."""
    for ancestor in type(model).__mro__:
        if ancestor.__name__ in TASK_PARTS:
            return ancestor.__name__
    return None


def load_weights(model, checkpoint, strict=True, new_logits=False):
    """Copies what `checkpoint` holds into `model`.

    All names and shapes are compared before the first variable changes.
    Arrays are read and assigned one by one, so memory rises by about two
    arrays above the model.

    Args:
        model: a built backbone or task model.
        checkpoint: a `Checkpoint`.
        strict: whether a backbone variable that is missing, or a shape that
            differs, raises. `False` leaves such variables as they are and
            reports them.
        new_logits: whether the layer `logits` stays new whatever the source
            holds, since its classes are others.

    Returns a `LoadReport`, which is logged once (a warning when a name was
    left over on either side).

    Raises:
        ValueError: as `strict` says; a file that turns out to be damaged.
    """
    variables = model_variables(model)
    task = task_of(model)
    fits = task is None or (checkpoint.fits(task) and not new_logits)
    report = LoadReport(
        checkpoint.source, checkpoint.format, notes=list(checkpoint.notes)
    )
    for name, variable in variables.items():
        if name in checkpoint and (fits or _shared(name)):
            problem = _shape_problem(name, variable, checkpoint)
            if problem is None:
                report.used.append(name)
            else:
                report.mismatched.append(problem)
        elif names.part_of(name) in names.BACKBONE_PARTS:
            report.missing.append(name)
        else:
            report.newly_initialised.append(name)
    wanted = set(variables) - set(report.newly_initialised)
    report.unused = list(checkpoint.unused) + [
        raw
        for name in checkpoint.names()
        if name not in wanted
        for raw in checkpoint.foreign_names(name)
    ]
    if strict:
        _raise_problems(report, checkpoint)
    for name in report.used:
        _assign(variables[name], checkpoint.read(name))
    report.show()
    return report


def _shared(name):
    """Names that mean the same in every task model; `logits` does not."""
    return names.part_of(name) != "logits"


def _shape_problem(name, variable, checkpoint):
    try:
        found = checkpoint.shape(name)
    except ValueError as error:
        return str(error)
    wanted = tuple(variable.shape)
    if found == wanted:
        return None
    raw = " ".join(checkpoint.foreign_names(name))
    text = f"`{name}` has shape {wanted} in the model, {found} in the source"
    if raw != name:
        text += f" (there `{raw}`)"
    if name == POSITIONS and wanted[1:] == found[1:]:
        text += (
            f". The source knows {found[0]} positions: build the model with "
            f"max_sequence_length={found[0]}"
        )
    return text


def _raise_problems(report, checkpoint):
    if report.mismatched:
        raise ValueError(
            f"{checkpoint.path} does not fit the model: "
            + "; ".join(_first(report.mismatched))
            + ". strict=False leaves these variables as they are"
        )
    if report.missing:
        hint = ""
        if all(names.part_of(name) == "pooler" for name in report.missing):
            hint = " (build the backbone with pooler=False)"
        elif not report.used:
            hint = f"; none of its names is known: {report.unused[:3]}"
        raise ValueError(
            f"{checkpoint.path} lacks {len(report.missing)} variables that "
            f"the model needs: {', '.join(_first(report.missing))}{hint}. "
            "strict=False leaves them as they are"
        )


def _first(items, count=5):
    if len(items) <= count:
        return items
    return [*items[:count], f"and {len(items) - count} more"]


def _assign(variable, array):
    # Half types are exact in float32, and torch takes no bfloat16 array.
    if array.dtype not in (np.float32, np.float64):
        array = array.astype("float32")
    variable.assign(np.ascontiguousarray(array))
