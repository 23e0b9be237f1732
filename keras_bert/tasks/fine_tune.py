"""One fine-tuning run of any task of the table."""

import time

import keras

from keras_bert import models
from keras_bert.tokenizers import BertTokenizer
from keras_bert.training import AdamW
from keras_bert.training import WarmupDecay


def new_model(task, source, rows, options, sequence_length=None, seed=1):
    """The task's model on the encoder of a checkpoint.

    Args:
        task: a `Task`.
        source: as for `from_preset`.
        rows: the training rows, which decide the labels.
        options: the options of the task.
        sequence_length: int or None (the task's).
        seed: int. Draws the new head (and later the dropout).
    """
    keras.utils.set_random_seed(seed)
    model_class = getattr(models, task.model)
    arguments = task.model_arguments(rows, **options)
    preprocessor = model_class.preprocessor_class(
        BertTokenizer.from_preset(source),
        sequence_length=sequence_length or task.sequence_length,
        **task.preprocessor_arguments(**options),
    )
    return model_class.from_preset(
        source, preprocessor=preprocessor, **arguments
    )


def fine_tune(
    task, model, train, dev, recipe, *, options=None, seed=1, callbacks=()
):
    """Trains a model of `new_model` and measures it.

    Args:
        task: a `Task`.
        model: the model.
        train: rows.
        dev: dict, name of a split -> rows.
        recipe: a `Recipe`.
        options: the options of the task.
        seed: int. Draws the order of the data.
        callbacks: for `fit`.

    Returns `(figures, predictions)`: a dict for result.json, and what the
    model predicts for each dev split.
    """
    options = options or {}
    model.compile(
        optimizer=AdamW(
            WarmupDecay(
                recipe.learning_rate,
                recipe.warmup,
                original=recipe.original_schedule,
            ),
            bias_correction=recipe.bias_correction,
        )
    )
    notes = list(train.get("notes", ()))
    if task.check is not None:
        notes += task.check(model, train)
    epochs, _ = recipe.epochs_for(len(train["ids"]))
    keras.utils.set_random_seed(seed)
    started = time.monotonic()
    history = model.fit(
        train["x"],
        train["y"],
        batch_size=recipe.batch_size,
        epochs=epochs,
        verbose=0,
        callbacks=list(callbacks),
    ).history
    seconds = time.monotonic() - started
    figures, predictions = None, {}
    for name, rows in dev.items():
        found = task.predict(model, rows, **options)
        scores = task.score(rows, found, **options)
        if task.tune is not None and figures is None:
            found = task.tune(model, found, scores)
            scores = task.score(rows, found, **options)
        predictions[name] = found
        figures = scores if figures is None else {**figures, name: scores}
    return {
        "epochs": epochs,
        # Long texts are several rows, so fit alone knows the steps.
        "steps": int(keras.ops.convert_to_numpy(model.optimizer.iterations)),
        "seconds": seconds,
        "train_loss": history["loss"][-1],
        "notes": notes,
        "dev": figures,
    }, predictions
