"""WNUT-17 and SQuAD 2.0 for finetuning.py, which holds the regime.

    wnut-17   whole: 3,394 sentences, dev 1,009; entity F1 as conlleval has it
    squad-v2  the first 500 questions of train-v2.0-part.json at length 256;
              dev-v2.0-small.json (626); F1 at the best threshold, as the
              official script finds it (`tuned_f1`; always silent gives 53.2)

Both sides read the same rows: words with a label on each first piece, and
our windows with their answer columns. Answers of both are decoded by one
function, so that only model and training differ.
"""

import time

import numpy as np

KINDS = {"wnut-17": "TokenClassification", "squad-v2": "QuestionAnswering"}
LENGTHS = {"wnut-17": 128, "squad-v2": 256}
BATCH, RATE = 32, 2e-5


def task_of(name):
    from keras_bert.tasks.table import TASKS

    return TASKS["ner" if name == "wnut-17" else "squad-v2"]


def rows_of(name, data, limit):
    task = task_of(name)
    if name == "wnut-17":
        folder = data / "wnut17"
        files = folder / "wnut17train.conll", folder / "emerging.dev.conll"
    else:
        folder = data / "squad"
        files = folder / "train-v2.0-part.json", folder / "dev-v2.0-small.json"
        limit = min(limit or 500, 500)
    options = {"context": "sentence"} if name == "wnut-17" else {}
    train, dev = (
        task.read(file, split, **options)
        for file, split in zip(files, ("train", "dev"), strict=True)
    )
    if limit:
        x = train["x"]
        x = (
            tuple(part[:limit] for part in x)
            if isinstance(x, tuple)
            else x[:limit]
        )
        train = {
            **train, "x": x, "y": train["y"][:limit],
            "ids": train["ids"][:limit],
        }  # fmt: skip
    return train, dev


def _model(name, train, folder):
    import keras_bert
    from keras_bert import models

    task = task_of(name)
    model_class = getattr(models, task.model)
    preprocessor = model_class.preprocessor_class(
        keras_bert.BertTokenizer.from_preset(folder),
        sequence_length=LENGTHS[name],
        **task.preprocessor_arguments(),
    )
    return model_class.from_preset(
        folder, preprocessor=preprocessor, **task.model_arguments(train)
    )


def ours(name, train, dev, folder, epochs, start):
    """Seconds of training and the dev score; `start(model, kind)` before."""
    task = task_of(name)
    model = _model(name, train, folder)
    start(model, KINDS[name])
    model.compile(learning_rate=RATE)
    import tensorflow_text  # noqa: F401 (loading does not count)

    started = time.perf_counter()
    model.fit(
        train["x"], train["y"], batch_size=BATCH, epochs=epochs, verbose=0
    )
    seconds = time.perf_counter() - started
    return seconds, task.headline(task.evaluate(model, dev))


def theirs(name, train, dev, folder, model_of, trainer_of):
    """The same with transformers.

    `model_of(kind, units)` makes the model, `trainer_of(model, lengths,
    collate)` its trainer.
    """
    import torch

    task = task_of(name)
    # Featurises, and decodes what the other model says.
    reader = _model(name, train, folder)
    started = time.perf_counter()
    features = reader.preprocessor.windows(
        *(train["x"] if name == "squad-v2" else (train["x"],))
    )
    targets = reader._row_targets(features, train["x"], train["y"], None) if (
        name == "wnut-17"
    ) else None  # fmt: skip
    if name == "squad-v2":
        pairs = [
            (gold[0]["text"], gold[0]["start"]) if gold else ("", -1)
            for gold in train["y"]
        ]
        columns = reader.preprocessor.labels(features, train["x"][1], pairs)

    def collate(numbers):
        numbers = np.asarray(numbers)
        width = int(features.rows.lengths[numbers].max())
        batch = _batch(features.rows.batch(numbers, width))
        if name == "squad-v2":
            for key, column in zip(("start", "end"), columns, strict=True):
                batch[f"{key}_positions"] = torch.tensor(
                    column[numbers].astype("int64")
                )
        else:
            labels, weights = targets(numbers, width)
            labels = np.where(weights > 0, labels, -100).astype("int64")
            batch["labels"] = torch.tensor(labels)
        return batch

    units = 2 if name == "squad-v2" else len(reader.labels)
    model = model_of(KINDS[name], units)
    trainer_of(model, features.rows.lengths, collate).train()
    seconds = time.perf_counter() - started
    model.eval()

    def predict_on_batch(rows):
        with torch.no_grad():
            out = model(**_batch(rows))
        if name == "wnut-17":
            return out.logits.float().numpy()
        return {
            "start": out.start_logits.float().numpy(),
            "end": out.end_logits.float().numpy(),
        }

    reader.predict_on_batch = predict_on_batch
    return seconds, task.headline(task.evaluate(reader, dev))


def _batch(rows):
    import torch

    names = {
        "token_ids": "input_ids",
        "segment_ids": "token_type_ids",
        "padding_mask": "attention_mask",
    }
    return {
        theirs: torch.tensor(np.asarray(rows[ours]).astype("int64"))
        for ours, theirs in names.items()
    }
