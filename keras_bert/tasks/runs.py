"""Several fine-tuning runs: seeds, grids, and what came of them."""

import dataclasses
import gc
import statistics

import keras

from keras_bert.tasks.fine_tune import ALL_LAYERS
from keras_bert.tasks.fine_tune import fine_tune
from keras_bert.tasks.fine_tune import new_model


def run_all(
    task,
    source,
    train,
    dev,
    plan,
    *,
    options=None,
    sequence_length=None,
    layers=ALL_LAYERS,
    patience=None,
    callbacks=lambda: (),
):
    """Fine-tunes once for each entry of a plan.

    Args:
        task: a `Task`.
        source: as for `from_preset`.
        train: rows. dev: dict, name of a split -> rows.
        plan: list of `(recipe, head_seed, data_seed)`: what draws the new
            head is kept apart from what draws the order of the data.
        options, sequence_length, layers, patience: as for `fine_tune`.
        callbacks: callable that gives those of one run.

    Yields `(record, model, predictions)`: the figures of a run beside its
    recipe and seeds, and its model, which the next run replaces.
    """
    model, found = None, []
    for number, (recipe, head_seed, data_seed) in enumerate(plan):
        if number:
            del model
            keras.utils.clear_session()
            gc.collect()
        model = new_model(
            task, source, train, options or {}, sequence_length, head_seed,
            layers,
        )  # fmt: skip
        if number == 0:
            # Else a text that does not fit is met when the training is over.
            for rows in dev.values() if task.windows is not None else ():
                task.windows(model, rows)
            # Reads all training rows, and says the same of every run.
            if task.check is not None:
                found = task.check(model, train)
        figures, predictions = fine_tune(
            task,
            model,
            train,
            dev,
            recipe,
            options=options,
            seed=data_seed,
            callbacks=callbacks(),
            layers=layers,
            patience=patience,
        )
        record = {
            "recipe": dataclasses.asdict(recipe),
            "head_seed": head_seed,
            "data_seed": data_seed,
            "failed": figures["diverged"] is not None
            or figures["score"] <= chance_of(figures["dev"]),
            **figures,
            "notes": [*figures["notes"], *found],
        }
        yield record, model, predictions


def chance_of(figures):
    """The score of the commonest label; 0 where there is no such thing."""
    if isinstance(figures.get("accuracy"), dict):
        return figures["accuracy"]["chance"]
    return figures.get("chance", 0.0)


def summary(records):
    """Mean, deviation, best and failures of the runs of each recipe.

    A run has failed when it scores no better than the commonest label does
    (Mosbach et al., 2021). The deviation is that of a sample (n - 1).
    """
    groups = {}
    for record in records:
        key = tuple(sorted(record["recipe"].items()))
        groups.setdefault(key, []).append(record)
    found = []
    for runs in groups.values():
        scores = [run["score"] for run in runs]
        found.append(
            {
                "recipe": runs[0]["recipe"],
                "runs": len(runs),
                "mean": statistics.fmean(scores),
                "std": statistics.stdev(scores) if len(scores) > 1 else None,
                "best": max(scores),
                "failed": sum(run["failed"] for run in runs),
                "scores": scores,
            }
        )
    return found
