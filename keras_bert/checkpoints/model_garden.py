"""Object-graph checkpoints of the TensorFlow Model Garden (reading).

Two generations exist. In the older the encoder is a functional model whose
keys count its layers (`layer_with_weights-4` is the first block); in the newer
the keys are attribute names. Both are brought to the names of the table here.
The Model Garden computes GELU in its tanh form and has a LayerNorm epsilon of
1e-12. Every size but the dropout rates follows from the shapes, so the config
beside the checkpoint is optional.
"""

import re
from pathlib import Path

from keras_bert.checkpoints import config as configs
from keras_bert.checkpoints import tokenizer_files
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.files import read_json

_END = "/.ATTRIBUTES/VARIABLE_VALUE"
_SKIPPED = re.compile(
    r"^_CHECKPOINTABLE_OBJECT_GRAPH$|\.OPTIMIZER_SLOT|(^|/)optimizer/"
    r"|^save_counter|^global_step|^step/|(^|/)_?train_counter"
    r"|_metrics/|keras_api/"
)
# In this order; the first part of a key is the name under which the encoder
# was given to tf.train.Checkpoint.
_RENAMED = (
    (re.compile(r"^(model|encoder|root|bert|pretrainer)/"), ""),
    (re.compile(r"^(encoder|encoder_network|_encoder_network)/"), ""),
    (re.compile(r"^masked_lm/embedding_table$"), "_embedding_layer/embeddings"),
    (re.compile(r"^_transformer_layers/(\d+)/"), r"layer_\1/"),
    (
        re.compile(r"/_attention_output_dense/"),
        "/_attention_layer/_output_dense/",
    ),
    (re.compile(r"^_mlm_layer/|^_masked_lm_layer/"), "masked_lm/"),
    (re.compile(r"^classification_heads/0/out_proj/"), "next_sentence/"),
)


def open_model_garden(store, prefix, source):
    """A `Checkpoint` of an open object-graph checkpoint."""
    aliases, skipped = _aliases(store)
    shapes = {name: store.shape(raw) for name, raw in aliases.items()}
    backbone = _sizes(shapes, prefix)
    config_path = Path(prefix).parent / "bert_config.json"
    if config_path.is_file():
        backbone = _merge(backbone, config_path)
    # What the Model Garden calls gelu is the tanh form.
    if backbone["activation"] == "gelu":
        backbone["activation"] = "gelu_approximate"
    task = None
    if "masked_lm/bias" in aliases:
        with_pairs = "next_sentence/kernel" in aliases
        task = "BertPretrainer" if with_pairs else "BertMaskedLM"
    return Checkpoint(
        "model_garden",
        source,
        store,
        backbone,
        aliases=aliases,
        skipped=skipped,
        task=task,
        tokenizer=tokenizer_files.read_google(Path(prefix).parent),
        path=prefix,
    )


def _aliases(store):
    aliases, skipped = {}, []
    for raw in store.names():
        if _SKIPPED.search(raw) or not raw.endswith(_END):
            skipped.append(raw)
            continue
        name = raw.removesuffix(_END)
        for pattern, replacement in _RENAMED:
            name = pattern.sub(replacement, name)
        aliases[name] = raw
    # The pretrainer trains a pooler of its own inside its sentence head.
    for end in ("kernel", "bias"):
        own = aliases.pop(f"classification_heads/0/dense/{end}", None)
        if own is not None:
            old = aliases.get(f"_pooler_layer/{end}")
            if old is not None:
                skipped.append(old)
            aliases[f"_pooler_layer/{end}"] = own
    return _numbered(aliases, store), skipped


def _numbered(aliases, store):
    """Layer counts -> names: word, position, type, norm, blocks, pooler."""
    counted = {
        int(match.group(1))
        for name in aliases
        if (match := re.match(r"layer_with_weights-(\d+)/", name))
    }
    if not counted:
        return aliases
    blocks = {
        int(match.group(1))
        for name in aliases
        if (match := re.match(r"layer_with_weights-(\d+)/_att", name))
    }
    first = min(blocks, default=4)
    names = {
        0: "_embedding_layer",
        1: "_position_embedding_layer",
        2: "_type_embedding_layer",
        3: "_embedding_norm_layer",
        max(blocks, default=3) + 1: "_pooler_layer",
        **{number: f"layer_{number - first}" for number in blocks},
    }
    found = {}
    for name, raw in aliases.items():
        match = re.match(r"layer_with_weights-(\d+)/(.*)", name)
        if match and int(match.group(1)) in names:
            end = match.group(2)
            if int(match.group(1)) < 3:
                end = re.sub(r"^(position_)?embeddings$", "embeddings", end)
            name = f"{names[int(match.group(1))]}/{end}"
        found[name] = raw
    return found


def _sizes(shapes, prefix):
    try:
        words = shapes["_embedding_layer/embeddings"]
        query = shapes["layer_0/_attention_layer/_query_dense/kernel"]
        return {
            "vocabulary_size": words[0],
            "num_layers": sum(
                name.endswith("/_query_dense/kernel") for name in shapes
            ),
            "num_heads": query[1],
            "hidden_dim": words[1],
            "intermediate_dim": shapes["layer_0/_intermediate_dense/kernel"][1],
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "max_sequence_length": shapes[
                "_position_embedding_layer/embeddings"
            ][0],
            "num_segments": shapes["_type_embedding_layer/embeddings"][0],
            "activation": "gelu_approximate",
            "layer_norm_epsilon": 1e-12,
            "initializer_range": 0.02,
            "pooler": "_pooler_layer/kernel" in shapes,
        }
    except (KeyError, IndexError) as error:
        raise ValueError(
            f"{prefix} is an object-graph checkpoint, but not of a BERT of "
            f"the TensorFlow Model Garden: it lacks {error}. Its names begin "
            f"with {sorted(shapes)[:3]}"
        ) from error


def _merge(sizes, path):
    """The config's rates and activation; its sizes must agree."""
    stated = configs.from_google(read_json(path), path)
    pooler = sizes["pooler"]
    for name in (
        "vocabulary_size",
        "num_layers",
        "num_heads",
        "hidden_dim",
        "intermediate_dim",
        "max_sequence_length",
        "num_segments",
    ):
        if stated[name] != sizes[name]:
            raise ValueError(
                f"{path} gives {name} as {stated[name]}, the checkpoint's "
                f"shapes give {sizes[name]}"
            )
    return {**stated, "pooler": pooler}
