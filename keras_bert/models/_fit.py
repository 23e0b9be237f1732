"""Keras' `fit` behind that of the task models: once, or in parts."""

import keras

from keras_bert.models._guards import argument_errors
from keras_bert.models._guards import unused_pooler
from keras_bert.training import NanGuard
from keras_bert.training import Resume
from keras_bert.training._memory import memory_kept
from keras_bert.training.resume import FitPart


def fit_in_parts(model, fit, data, callbacks, **arguments):
    """Calls `fit` of Keras, several times where a run was resumed.

    Args:
        model: a task model.
        fit: the method of Keras.
        data: its arguments `x`, `y`, `sample_weight` and `batch_size`.
        callbacks: the user's.
        **arguments: the others.

    Returns the History of all calls.
    """
    resume = next(filter(_is_resume, _as_list(callbacks)), None)
    span = {
        name: arguments.pop(name)
        for name in ("epochs", "initial_epoch", "steps_per_epoch")
    }
    if resume is None:
        parts = [FitPart(data["x"], line=span["epochs"], **span)]
    else:
        parts = resume.parts(model, data["x"], **span)
    history = keras.callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    for part in parts:
        resumed_line = resume is not None and part.line != span["epochs"]
        ours = model._prepare_fit(
            part.x,
            batch_size=data.get("batch_size"),
            steps_per_epoch=part.steps_per_epoch,
            epochs=part.line or part.epochs,
            # Epochs added to a resumed run have a learning rate of their own.
            initial_epoch=0 if resumed_line else part.initial_epoch,
            lay_schedule=part.line is not None,
        )
        place = resume.place if resume is not None else None
        guards = [
            one for one in _as_list(callbacks) if isinstance(one, NanGuard)
        ]
        for guard in guards:
            guard.place = place or guard.place
        if model._recipe == "pretraining" and not guards:
            ours = [*ours, NanGuard(place)]
        with argument_errors(), unused_pooler(), memory_kept() as more:
            found = fit(
                **{**data, "x": part.x},
                callbacks=_joined([*ours, *more], callbacks),
                epochs=part.epochs,
                initial_epoch=part.initial_epoch,
                steps_per_epoch=part.steps_per_epoch,
                **arguments,
            )
        if len(parts) == 1:
            return found
        history.epoch += found.epoch
        for name, values in found.history.items():
            history.history.setdefault(name, []).extend(values)
        if model.stop_training:
            break
    model.history = history
    return history


def _is_resume(callback):
    return isinstance(callback, Resume)


def _as_list(callbacks):
    if callbacks is None:
        return []
    if isinstance(callbacks, keras.callbacks.CallbackList):
        return list(callbacks.callbacks)
    if isinstance(callbacks, keras.callbacks.Callback):
        return [callbacks]
    return list(callbacks)


def _joined(ours, callbacks):
    if isinstance(callbacks, keras.callbacks.CallbackList):
        for callback in ours:
            callbacks.append(callback)
        return callbacks
    return [*ours, *_as_list(callbacks)]
