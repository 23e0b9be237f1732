"""One fine-tuning run of any task of the table."""

import dataclasses
import math
import time

import keras

from keras_bert import checkpoints
from keras_bert import models
from keras_bert._errors import invalid
from keras_bert.tasks._run_folder import in_json
from keras_bert.tasks._run_folder import result_of
from keras_bert.tokenizers import BertTokenizer
from keras_bert.training import AdamW
from keras_bert.training import BestWeights
from keras_bert.training import NanGuard
from keras_bert.training import WarmupDecay
from keras_bert.training import layer_choice


@dataclasses.dataclass(frozen=True)
class Layers:
    """Which layers of the encoder learn, how fast, and from what start.

    Attributes:
        reinitialise: so many of the highest blocks, and the pooler, are drawn
            anew; None keeps all.
        decay: each block has so much of the learning rate of the next higher.
        freeze: the embeddings and so many of the lowest blocks stay as they
            are; None trains all.
    """

    reinitialise: int | None = None
    decay: float | None = None
    freeze: int | None = None


ALL_LAYERS = Layers()


def new_model(
    task, source, rows, options, sequence_length=None, seed=1, layers=ALL_LAYERS
):
    """The task's model on the encoder of a checkpoint.

    Args:
        task: a `Task`.
        source: as for `from_preset`.
        rows: the training rows, which decide the labels.
        options: the options of the task.
        sequence_length: int or None (the task's).
        seed: int. Draws the new head (and later the dropout).
        layers: `Layers`.
    """
    preprocessor = preprocessor_of(task, source, options, sequence_length)
    keras.utils.set_random_seed(seed)
    model_class = getattr(models, task.model)
    model = model_class.from_preset(
        source,
        preprocessor=preprocessor,
        # A head for another task means something else, whatever its labels.
        new_head=result_of(source).get("task", task.name) != task.name,
        **task.model_arguments(rows, **options),
    )
    if layers.reinitialise is not None:
        layer_choice.reinitialise_top(model.backbone, layers.reinitialise)
    if (layers.freeze or 0) + (layers.reinitialise or 0) > (
        model.backbone.num_layers
    ):
        raise invalid(
            "freeze_layers",
            "layers that are not drawn anew, which would never learn "
            f"(reinitialise_layers={layers.reinitialise} of "
            f"{model.backbone.num_layers} blocks)",
            layers.freeze,
        )
    if layers.freeze is not None:
        layer_choice.freeze_bottom(model.backbone, layers.freeze)
    return model


def preprocessor_of(task, source, options, sequence_length=None):
    """The preprocessor of the task's model, with the source's vocabulary.

    Args:
        task, source, options, sequence_length: as for `new_model`.
    """
    config = checkpoints.open_source(source).backbone_config
    longest = config["max_sequence_length"]
    if sequence_length is not None and sequence_length > longest:
        raise invalid(
            "sequence_length",
            f"at most {longest}, the position table of {source}",
            sequence_length,
        )
    return getattr(models, task.model).preprocessor_class(
        BertTokenizer.from_preset(source),
        sequence_length=sequence_length or min(task.sequence_length, longest),
        **task.preprocessor_arguments(**options),
    )


def optimizer_of(recipe, model, layers=ALL_LAYERS):
    """The optimizer of a recipe for a model."""
    factors = None
    if layers.decay is not None:
        factors = layer_choice.layer_wise_factors(model.backbone, layers.decay)
    return AdamW(
        WarmupDecay(
            recipe.learning_rate,
            recipe.warmup,
            original=recipe.original_schedule,
        ),
        bias_correction=recipe.bias_correction,
        rate_factors=factors,
    )


def fine_tune(
    task,
    model,
    train,
    dev,
    recipe,
    *,
    options=None,
    seed=1,
    callbacks=(),
    layers=ALL_LAYERS,
    patience=None,
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
        layers: `Layers`, the same as for `new_model`.
        patience: int or None. Stop after so many epochs without a better
            score on the first dev split, and keep the best weights. With
            None the last weights are kept, as in the paper.

    Returns `(figures, predictions)`: a dict for result.json, and what the
    model predicts for each dev split.
    """
    options = options or {}
    model.compile(optimizer=optimizer_of(recipe, model, layers))
    notes = [note for rows in (train, *dev.values()) for note in rows["notes"]]
    epochs, _ = recipe.epochs_for(len(train["ids"]))
    if epochs > recipe.epochs and task.windows is not None:
        # Long texts are several rows: fewer epochs give the least of steps.
        rows = len(task.windows(model, train).rows)
        epochs, _ = recipe.epochs_for(max(1, rows))
    callbacks, best = list(callbacks), None
    if patience is not None:
        rows = next(iter(dev.values()))
        best = BestWeights(
            lambda: task.headline(task.evaluate(model, rows, **options)),
            patience,
        )
        callbacks.insert(0, best)
    keras.utils.set_random_seed(seed)
    started = time.monotonic()
    diverged = None
    try:
        model.fit(
            train["x"],
            train["y"],
            batch_size=recipe.batch_size,
            epochs=epochs,
            verbose=0,
            callbacks=[*callbacks, NanGuard()],
        )
    except FloatingPointError as error:
        # One of several runs may diverge; it has failed, the others go on.
        diverged = str(error)
    losses = model.history.history.get("loss", [])
    seconds = time.monotonic() - started
    figures, predictions = None, {}
    for name, rows in dev.items():
        found = task.predict(model, rows, **options)
        scores = task.score(rows, found, **options)
        if task.tune is not None and figures is None:
            found = task.tune(model, found, scores, **options)
            scores = task.score(rows, found, **options)
        predictions[name] = found
        figures = scores if figures is None else {**figures, name: scores}
    result = {
        "score": task.headline(figures),
        "diverged": diverged,
        "epochs": len(losses),
        # Long texts are several rows, so fit alone knows the steps.
        "steps": int(keras.ops.convert_to_numpy(model.optimizer.iterations)),
        "seconds": seconds,
        "train_loss": losses[-1] if losses else None,
        "notes": notes,
        "dev": figures,
    }
    if diverged is not None:
        score = result["score"] if math.isfinite(result["score"]) else 0.0
        result = in_json({**result, "score": score})
    if best is not None:
        result["dev_scores"] = best.scores
        result["best_epoch"] = best.best_epoch + 1
    return result, predictions
