"""
Title: Fine-tune BERT on your own labels
Author: the keras_bert authors
Date created: 2026/11/30
Last modified: 2026/11/30
Description: From raw strings to a classifier that a server can load.
Accelerator: None
"""

"""
## What this guide does

We take docstrings of Python's standard library and of numpy and train a
classifier that tells from which package one comes. Modules are held out, so
the model is tested on docstrings of files that it has never seen. Replace
`train` and `held_out` by your own lists of texts and labels.

With a pretrained checkpoint the encoder would come from
`keras_bert.BertTextClassifier.from_preset(FOLDER, labels=...)`. Here it starts
from random weights, so that the guide runs anywhere: expect a modest score.
"""

import os

import keras
import numpy as np

import keras_bert

# CI runs every guide at a tiny size.
TINY = bool(os.environ.get("KERAS_BERT_TINY"))
keras.utils.set_random_seed(1)

"""
## The data

Texts are plain Python strings, labels are names.
"""

train, held_out = keras_bert.data.labelled_docstrings(seed=1)
if TINY:
    train, held_out = (
        {key: part[key][::10] for key in ("texts", "labels")}
        for part in (train, held_out)
    )
labels = sorted(set(train["labels"]))
print(len(train["texts"]), "docstrings to learn from,", labels)
print(repr(train["texts"][0]), "->", train["labels"][0])

"""
## A tokenizer

`BertTokenizer.train` reads text files. The tokenizer is a plain callable; it
runs inside tf.data and inside the exported model as well.
"""

with open("docstrings.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(train["texts"]))
tokenizer = keras_bert.BertTokenizer.train(
    ["docstrings.txt"], vocabulary_size=500 if TINY else 3000, lowercase=True
)
print(tokenizer(["Return the logarithm of x."]))

"""
## The model

The preprocessor is built round the tokenizer. The model is already compiled
with BERT's recipe; from random weights a larger rate than 2e-5 is needed.
"""

backbone = keras_bert.BertBackbone.from_config_name(
    "bert_tiny", vocabulary_size=tokenizer.vocabulary_size()
)
classifier = keras_bert.BertTextClassifier(
    backbone, preprocessor=tokenizer, labels=labels
)
classifier.compile(learning_rate=1e-3)
classifier.fit(
    train["texts"],
    train["labels"],
    validation_data=(held_out["texts"], held_out["labels"]),
    epochs=1 if TINY else 5,
    verbose=2,
)

"""
## How good is it?

Accuracy says little without the share of the largest class beside it.
"""

scores = classifier.evaluate(
    held_out["texts"], held_out["labels"], verbose=0, return_dict=True
)
_, counts = np.unique(held_out["labels"], return_counts=True)
print(
    f"accuracy {scores['accuracy']:.3f} on {counts.sum()} held-out docstrings; "
    f"the largest class alone would give {counts.max() / counts.sum():.3f}"
)
for text, found in zip(
    held_out["texts"][:3],
    classifier.classify(held_out["texts"][:3], top_k=2),
    strict=True,
):
    print(repr(text[:60]), found)

"""
## Keep it

One file for Keras, with the tokenizer inside; or a SavedModel that takes
strings and needs only tensorflow and tensorflow-text where it is served.
"""

classifier.save("classifier.keras")
again = keras.models.load_model("classifier.keras")
print(again.classify(held_out["texts"][0]))
classifier.export("classifier_saved_model")
