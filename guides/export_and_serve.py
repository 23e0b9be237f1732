"""
Title: Export and serve a model
Author: the keras_bert authors
Date created: 2026/11/30
Last modified: 2026/11/30
Description: SavedModel with strings in, TensorFlow Serving, ONNX, LiteRT, HTTP.
Accelerator: None
"""

"""
## What this guide does

It takes a classifier out of the process that trained it, in every form that a
server or a phone reads, and asks it there. All of it works from the
TensorFlow, JAX and PyTorch backends: SavedModel, ONNX and LiteRT files are
written by TensorFlow, in a child process where another backend runs.

| form | takes | needs where it runs | lost |
|---|---|---|---|
| `m.save("m.keras")`, `m.save_to_preset` | all | this library | nothing |
| SavedModel | strings, ids | tensorflow, tensorflow-text | training |
| ONNX | ids | onnxruntime | strings, checks of ids, half precision |
| LiteRT | ids | the small LiteRT runtime | strings, checks of ids |
| `keras-bert serve` | strings | this library | nothing |
"""

import http.client
import json
import os
import subprocess
import sys

import keras
import numpy as np

import keras_bert

# CI runs every guide at a tiny size.
TINY = bool(os.environ.get("KERAS_BERT_TINY"))
keras.utils.set_random_seed(1)

"""
## A model

Any task model will do; this one tells from which package a docstring comes.
`guides/fine_tune_classifier.py` explains how it is trained.
"""

train, held_out = keras_bert.data.labelled_docstrings(seed=1)
step = 20 if TINY else 1
texts, labels = train["texts"][::step], train["labels"][::step]
with open("docstrings.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(texts))
tokenizer = keras_bert.BertTokenizer.train(
    ["docstrings.txt"], vocabulary_size=500 if TINY else 3000, lowercase=True
)
backbone = keras_bert.BertBackbone.from_config_name(
    "bert_tiny", vocabulary_size=tokenizer.vocabulary_size()
)
classifier = keras_bert.BertTextClassifier(
    backbone, preprocessor=tokenizer, labels=sorted(set(labels))
)
classifier.compile(learning_rate=1e-3)
classifier.fit(texts, labels, epochs=1, verbose=2)
asked = held_out["texts"][:3]
expected = classifier.predict(asked, verbose=0)
print(classifier.classify(asked))

"""
## For Keras: a file, or a preset folder

Both hold the tokenizer and reload under any backend.
"""

classifier.save("classifier.keras")
classifier.save_to_preset("classifier")
again = keras_bert.load("classifier")
print(np.abs(again.predict(asked, verbose=0) - expected).max())

"""
## SavedModel: strings in

The folder has two signatures.

| task | inputs of `serving_default` | outputs |
|---|---|---|
| text classifier | `text`, `text_pair` | `logits`, `probabilities`, `label` |
| token classifier | `words`, `row_lengths` | the same, one per word |
| question answerer | `question`, `context` | `text`, `start`, `end`, `score` |
| multiple choice | `context`, `endings` | as the classifier |
| masked LM, pretrainer | `text` with [MASK] | `token`, `score`, 5 a mask |
| embedder | `text` | `embedding` (`length` too without pooling) |

`ids` takes `token_ids`, `segment_ids` and `padding_mask` (masked models also
`mask_positions`), any number of rows of any length, and gives what the model
gives. `text_pair` may be left out, or "" for a text without a second one.
`words` are the words of all texts one after the other and `row_lengths` how
many each text has; left out, all words are one text. Long contexts and lists
of words are read in overlapping windows, as in `predict`. A row that is longer
than the position table, or an id out of range, is an error with both numbers.

Whoever loads it needs tensorflow and tensorflow-text and nothing else:
`python -I` ignores this folder and every environment variable. Python's own
`loaded.signatures["serving_default"]` does not fill in defaults
(TensorFlow 2.21), so `text_pair` is spelled out; `loaded.serve(text)` and
TensorFlow Serving do fill them in.
"""

if not os.path.exists("served/classifier/1"):
    classifier.export("served/classifier/1")

READER = """
import sys
import tensorflow as tf
import tensorflow_text  # registers the operations of the tokenizer
loaded = tf.saved_model.load("served/classifier/1")
outputs = loaded.signatures["serving_default"](
    text=tf.constant(sys.argv[1:]), text_pair=tf.constant([""])
)
print("by signature", [label.decode() for label in outputs["label"].numpy()])
outputs = loaded.serve(tf.constant(sys.argv[1:]))
print("by serve    ", [label.decode() for label in outputs["label"].numpy()])
"""
environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
environment.pop("KERAS_BACKEND", None)
done = subprocess.run(
    [sys.executable, "-I", "-c", READER, *asked],
    capture_output=True,
    text=True,
    check=True,
    env=environment,
)
print(done.stdout)

"""
## TensorFlow Serving

The server needs the folder and no file beside it; the operations of
tensorflow-text are part of it. The number is the version of the model:

    docker run -p 8501:8501 -v "$PWD/served:/models" \\
        -e MODEL_NAME=classifier tensorflow/serving

It warms up with the two requests in `assets.extra`. Ask it by rows or by
columns; the answer has the same form:

    curl http://localhost:8501/v1/models/classifier:predict -d \\
        '{"instances": [{"text": "a fine film", "text_pair": ""}]}'
    curl http://localhost:8501/v1/models/classifier:predict -d \\
        '{"inputs": {"text": ["a fine film", "a dull one"]}}'
    curl http://localhost:8501/v1/models/classifier:predict -d \\
        '{"signature_name": "ids", "inputs": {"token_ids": [[2, 7, 3]],
          "segment_ids": [[0, 0, 0]], "padding_mask": [[1, 1, 1]]}}'

Words come by columns, since there are more of them than texts:
`{"inputs": {"words": ["Jim", "Henson", "sings"], "row_lengths": [3]}}`.
Strings that are no UTF-8 go as `{"b64": "..."}`; their bad bytes are dropped.
"""

"""
## ONNX

Ids in, so the tokenizer runs on the client's side. Attention, LayerNorm and
GELU are single operators of ONNX opset 23; `opset_version=18` writes a file
for older runtimes, with them spelled out. What is lost: strings, and the
checks. onnxruntime refuses an id beyond the table but takes -1 for the last
one. The model has to be float32.
"""

rows = {
    name: np.asarray(values)
    for name, values in classifier.preprocessor(asked).items()
}
try:
    import onnxruntime
    import tf2onnx  # noqa: F401
except ImportError:
    print("To run this part: pip install 'keras3-bert[onnx]'")
else:
    classifier.export("classifier.onnx", format="onnx")
    session = onnxruntime.InferenceSession("classifier.onnx")
    (logits,) = session.run(["logits"], rows)
    print("ONNX differs by", np.abs(logits - expected).max())

"""
## LiteRT

Formerly TensorFlow Lite. Plain operations only, so the small runtime of a
phone suffices; lost is the same as for ONNX, and ids out of range are not
noticed at all.
"""

classifier.export("classifier.tflite", format="litert")
print(os.path.getsize("classifier.tflite"), "bytes")

"""
## A small server of our own

`keras-bert serve classifier` (extra `serve`) starts one on this machine alone,
with a page at http://127.0.0.1:8000 on which to type and look, `/health`, and
`/predict`. Requests that wait are read together, as many as fit under a budget
of tokens; a worker that dies is replaced and its requests are asked again. It
is meant for trying a model and for a few users, not for the open internet: it
knows no passwords and no encryption.
"""

try:
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    print("To run this part: pip install 'keras3-bert[serve]'")
else:
    server = subprocess.Popen(
        [sys.executable, "-m", "keras_bert.cli.main", "serve", "classifier"]
        + ["--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    line = server.stdout.readline()
    print(line)
    port = int(line.split("127.0.0.1:")[1].split()[0])
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(
        "POST",
        "/predict",
        json.dumps({"text": asked[0]}),
        {"Content-Type": "application/json"},
    )
    print(json.loads(connection.getresponse().read()))
    server.terminate()
    server.wait()
