"""
Title: Pretrain BERT on a TPU, on several GPUs, on many hosts
Author: the keras_bert authors
Date created: 2026/11/30
Last modified: 2026/11/30
Description: One script from a laptop to a TPU slice, with kb.distribute.
Accelerator: TPU
"""

"""
## What this guide does

It pretrains BERT on all devices of the machine: the eight cores of a TPU, the
GPUs of a server or, here and in CI, virtual devices of a CPU. The script stays
the same; `keras_bert.distribute` looks at the machine and says what it chose.

TPUs go through the JAX backend. TensorFlow 2.19 was the last that runs on one
(`TPUStrategy` is no way any more), while Keras tests its TPU support on JAX.
TensorFlow is still here, for the text work in tf.data, and needs no
accelerator: its CPU build is the right one beside JAX.

On Colab choose a TPU runtime and run

    pip install keras3-bert tensorflow-cpu "jax[tpu]"

On a machine with GPUs: `pip install keras3-bert "jax[cuda13]"`. TensorFlow's
view of the GPUs is hidden, so that the two do not fight for memory.
"""

import os

# Both before the first import of Keras. The second splits a CPU into virtual
# devices and changes nothing on a TPU or GPU.
os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")

import keras  # noqa: E402

import keras_bert  # noqa: E402

# CI runs every guide at a tiny size.
TINY = bool(os.environ.get("KERAS_BERT_TINY"))

"""
## The same seed everywhere

Weights, order of the text, masks and dropout follow from it. With several
hosts each process must set the same, before anything is drawn; `distribute`
refuses a run whose processes differ, in their versions too.
"""

keras.utils.set_random_seed(1)

"""
## Text and vocabulary

Any text files will do. On a cluster let `files` be a path that all hosts see,
such as a bucket, and train the vocabulary once.
"""

documents = keras_bert.data.python_documentation()
if TINY:
    documents = documents[::20]
with open("corpus_tpu.txt", "w", encoding="utf-8") as file:
    file.write("\n\n".join("\n".join(document) for document in documents))
files = ["corpus_tpu.txt"]
tokenizer = keras_bert.BertTokenizer.train(
    files, vocabulary_size=512 if TINY else 4096, lowercase=True
)

"""
## What is static, and why

A TPU runs programs that XLA has compiled for one shape. Every new shape of a
batch means another compilation of minutes, and a batch has to fall into equal
parts, one for each core. So batches for pretraining are static in all sizes:

- `batch_size` rows, no smaller batch at the end of an epoch. It is the number
  of rows on all devices together and a multiple of their number.
- `sequence_length` columns. Packing fills them: several sequences in a row,
  hardly any padding to compute in vain.
- a fixed number of places for masked tokens (20 at length 128) with weight 0
  where a row has fewer. The loss divides by the number of masked tokens of
  the whole batch, so it does not matter on which device they lie.

On a TPU take bfloat16 (`dtype="mixed_bfloat16"`), sizes in multiples of 128,
and a vocabulary in a multiple of 128 as well: the matrix unit is that wide.
"""

length, batch_size = (32, 8) if TINY else (128, 256)
dataset = keras_bert.pretraining_dataset(
    files, tokenizer, sequence_length=length, batch_size=batch_size, seed=1
)
print({name: spec.shape for name, spec in dataset.element_spec[0].items()})

"""
## Train

Everything that makes, loads or trains a model stands inside the `with`.
Losses, gradients and the updates are those of one device.

`Resume` saves the whole state and finds it again: start the same script once
more after a crash, or on another number of hosts, and it goes on.
"""

with keras_bert.distribute() as devices:
    backbone = keras_bert.BertBackbone.from_config_name(
        "bert_tiny" if TINY else "bert_base",
        vocabulary_size=tokenizer.vocabulary_size(),
        dtype="float32" if TINY else "mixed_bfloat16",
    )
    pretrainer = keras_bert.BertPretrainer(backbone, preprocessor=tokenizer)
    pretrainer.compile(learning_rate=1e-3 if TINY else 1e-4)
    pretrainer.fit(
        dataset,
        epochs=1 if TINY else 40,
        verbose=2,
        callbacks=[keras_bert.training.Resume("tpu_run/state")],
    )
    print(pretrainer.evaluate(dataset.take(2), verbose=0, return_dict=True))
    # Every process takes part in what reads the weights; one writes.
    if devices is None or devices.process == 0:
        pretrainer.save_to_preset("tpu_run/preset")

"""
## A model that is larger than a device

Split the weights as well: `keras_bert.distribute(model_parallel=2)` makes a
mesh of (devices / 2) x 2. Of each pair of products the first is split by
columns and the second by rows, attention by heads, the token table by tokens.
For BERT-base this is slower than copies of the model. It is there for what
does not fit.

## From one machine to several hosts

Start the same script on every host. On a TPU slice that is all: the hosts
find each other.

    gcloud compute tpus tpu-vm ssh NAME --worker=all --command="python train.py"

Elsewhere three variables of Keras tell who is who, on host 1 of 2:

    KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:1234
    KERAS_DISTRIBUTION_NUM_PROCESSES=2
    KERAS_DISTRIBUTION_PROCESS_ID=1

`with keras_bert.distribute():` must then come before anything that computes:
move it up to just behind `set_random_seed`. The batch size stays that of the
whole batch, and each process trains on its rows of each batch. `Resume` needs
a folder that all hosts see. When a process dies the others stop within half a
minute and say which one; start all again, and they go on from the last
checkpoint.

The TensorFlow backend does the same on GPUs with `MirroredStrategy`, and on
several hosts with `MultiWorkerMirroredStrategy` if TF_CONFIG is set. It has no
XLA there and no split of weights. PyTorch trains on one device: Keras 3.15 has
no distribution for it yet.
"""
