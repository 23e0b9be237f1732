"""
Title: Pretrain BERT from text files
Author: the keras_bert authors
Date created: 2026/11/30
Last modified: 2026/11/30
Description: Vocabulary, segment pairs, masks, packing and both losses.
Accelerator: GPU
"""

"""
## What this guide does

It trains a small BERT from nothing but text, as Devlin et al. (2018) did:
masked words and next sentences. The text is the documentation inside Python,
so that the guide runs anywhere; put the names of your own files into `files`.
"""

import os

import keras

import keras_bert

# CI runs every guide at a tiny size.
TINY = bool(os.environ.get("KERAS_BERT_TINY"))
keras.utils.set_random_seed(1)

"""
## Text

One sentence a line, a blank line between documents. The last tenth of the
documents is held out.
"""

documents = keras_bert.data.python_documentation()
if TINY:
    documents = documents[::20]
border = len(documents) * 9 // 10
for name, part in (
    ("corpus.txt", documents[:border]),
    ("held_out.txt", documents[border:]),
):
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n\n".join("\n".join(document) for document in part))
files = ["corpus.txt"]

"""
## Vocabulary
"""

tokenizer = keras_bert.BertTokenizer.train(
    files, vocabulary_size=500 if TINY else 4000, lowercase=True
)
print(tokenizer.vocabulary_size(), "tokens, for instance",
      tokenizer.vocabulary[-5:])  # fmt: skip

"""
## Batches

The dataset is one pass over the text, drawn anew in every epoch: other pairs,
other masks. Several pairs share a row (`packing`), each with its own [CLS],
so almost nothing of a batch is padding.
"""

length, batch_size = (64, 8) if TINY else (128, 32)
dataset = keras_bert.pretraining_dataset(
    files, tokenizer, sequence_length=length, batch_size=batch_size, seed=1
)
x, y, sample_weight = next(iter(dataset))
print("batches in an epoch:", int(dataset.cardinality()))
print({name: tuple(value.shape) for name, value in x.items()})
print("columns in use:", float((x["padding_mask"].numpy() > 0).mean()))

"""
## Model and training

`fit` lays the warm-up and the linear decay over its own steps. For a model of
this size and so few steps a larger peak than the paper's 1e-4 is right.

What to expect: the masked accuracy first rises to the share of the commonest
token, stays there for a while, and then climbs.
"""

backbone = keras_bert.BertBackbone.from_config_name(
    "bert_tiny", vocabulary_size=tokenizer.vocabulary_size()
)
pretrainer = keras_bert.BertPretrainer(backbone, preprocessor=tokenizer)
pretrainer.compile(learning_rate=1e-3)
pretrainer.fit(dataset, epochs=1 if TINY else 10, verbose=2)

"""
## Held-out text

`fixed=True` gives the same pairs and masks every time.
"""

held_out = keras_bert.pretraining_dataset(
    "held_out.txt",
    tokenizer,
    sequence_length=length,
    batch_size=batch_size,
    fixed=True,
)
print(pretrainer.evaluate(held_out, verbose=0, return_dict=True))

"""
## Use it

The encoder goes on to other tasks; with its head it fills masks.
"""

pretrainer.save_to_preset("pretrained")
masked_lm = keras_bert.BertMaskedLM.from_preset("pretrained")
for mask in masked_lm.fill_mask("Return the [MASK] of the array.", top_k=5):
    print(mask)
