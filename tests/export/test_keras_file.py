"""A `.keras` file in a new process that imports keras_bert and nothing else."""

import json
import subprocess
import sys

import keras
import numpy as np

TEXTS = ["the old fox ran", "a cat saw the dog", "not very old", "it ate"]
LABELS = ["gut", "schlecht", "gut", "größte"]

RELOAD = """
import json, sys
import keras_bert
import keras
source, target, request = sys.argv[1:]
texts, labels = json.loads(request)
model = keras.saving.load_model(source)
outputs = model.predict(texts, verbose=0).tolist()
steps = int(model.optimizer.iterations)
losses = model.fit(
    texts, labels, batch_size=2, epochs=2, shuffle=False, verbose=0
).history["loss"]
label = model.classify(texts[0])["label"]
with open(target, "w") as file:
    json.dump([outputs, steps, losses, label], file)
"""


def test_users_46_a_keras_file_needs_the_import_only(make_classifier, tmp_path):
    keras.utils.set_random_seed(3)
    # Without dropout the loss of the next step is one number.
    backbone = {"dropout": 0.0, "attention_dropout": 0.0}
    model = make_classifier(dropout=0.0, backbone=backbone)
    model.compile(learning_rate=1e-2)
    model.fit(TEXTS, LABELS, batch_size=2, epochs=2, shuffle=False, verbose=0)
    path = tmp_path / "model.keras"
    model.save(path)
    outputs = model.predict(TEXTS, verbose=0)
    losses = model.fit(
        TEXTS, LABELS, batch_size=2, epochs=2, shuffle=False, verbose=0
    ).history["loss"]
    assert losses[0] != losses[1]

    target = tmp_path / "results.json"
    request = json.dumps([TEXTS, LABELS])
    child = subprocess.run(
        [sys.executable, "-c", RELOAD, path, target, request],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(target.read_text())
    np.testing.assert_allclose(found[0], outputs, atol=1e-5)
    assert found[1] == 4
    # Later losses depend on the moments, the step and the schedule.
    np.testing.assert_allclose(found[2], losses, atol=1e-5)
    assert found[3] == model.classify(TEXTS[0])["label"]
