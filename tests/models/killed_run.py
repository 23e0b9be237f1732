"""Children of test_resume.py: `fit` of a pretrainer, and the verb pretrain.

    python killed_run.py fit CORPUS OUTPUT
    python killed_run.py pretrain ARGUMENTS...

After every batch a line "step" is printed, so that the parent can kill the
process at a step of its choice. `fit` prints the hashes of the first three
batches that it reads, as JSON.
"""

import hashlib
import json
import sys
import time

import keras

import keras_bert
from keras_bert.testing import tiny_vocabulary


class Steps(keras.callbacks.Callback):
    """Tells the parent how far the run is, and gives it time to kill."""

    def on_train_batch_end(self, batch, logs=None):
        print("step", flush=True)
        time.sleep(0.02)


class Batches(keras_bert.training.Resume):
    """Resume, which also prints what the first part of `fit` will read."""

    def parts(self, model, x, **arguments):
        parts = super().parts(model, x, **arguments)
        epoch = x.keras_bert_epoch
        epoch.value = parts[0].initial_epoch
        batches = parts[0].x.take(3).as_numpy_iterator()
        print(json.dumps([digest(batch) for batch in batches]), flush=True)
        return parts


def digest(batch):
    found = hashlib.sha256()
    for array in keras.tree.flatten(batch):
        found.update(array.tobytes())
    return found.hexdigest()


def fit(corpus, output):
    keras.utils.set_random_seed(3)
    tokenizer = keras_bert.BertTokenizer(tiny_vocabulary(), lowercase=True)
    backbone = keras_bert.BertBackbone(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=1,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=16,
        max_sequence_length=32,
    )
    model = keras_bert.BertPretrainer(backbone, tokenizer)
    dataset = keras_bert.pretraining_dataset(
        corpus, tokenizer, sequence_length=32, batch_size=2
    )
    state = Batches(f"{output}/state", save_every=3, keep=99)
    model.fit(dataset, epochs=3, verbose=0, callbacks=[state, Steps()])


def pretrain(*arguments):
    from keras_bert.cli import _pretrain
    from keras_bert.cli.main import main

    class Progress(_pretrain.RunProgress, Steps):
        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, logs)
            Steps.on_train_batch_end(self, batch, logs)

    _pretrain.RunProgress = Progress
    sys.exit(main(["pretrain", *arguments]))


if __name__ == "__main__":
    {"fit": fit, "pretrain": pretrain}[sys.argv[1]](*sys.argv[2:])
