"""The one table of variable names, read forwards and backwards.

Each rule gives a variable's name here and in every other format. Import looks
the foreign name up and export writes it from the same line, so the two cannot
drift apart. `{i}` is the number of the encoder block, `{qkv}` stands for the
three names query, key and value, which are one variable here.

A rule's `kind` says how the numbers are laid out (see `tensors.py`), its
`part` which part of the model owns them:

    embeddings, encoder, pooler        the backbone
    mlm, next_sentence                 the pretraining heads
    classifier                         sentence, token and choice classifiers
    span                               question answering

Names of the formats: the 2018 code's variable names; Hugging Face's state
dict without the `bert.` prefix of the backbone; KerasHub's variable paths;
the object-graph attributes of the TensorFlow Model Garden after
`model_garden.py` has numbered the blocks.
"""

import functools
from typing import NamedTuple

BACKBONE_PARTS = ("embeddings", "encoder", "pooler")
FORMATS = ("google", "huggingface", "keras_hub", "model_garden")


class Rule(NamedTuple):
    """One variable: its part, its kind, its name here and elsewhere."""

    part: str
    kind: str
    keras_bert: str
    google: str | None
    huggingface: str | None
    keras_hub: str | None
    model_garden: str | None


class Entry(NamedTuple):
    """One variable of one model in one foreign format."""

    part: str
    kind: str
    name: str
    foreign: tuple


def _norm(part, ours, google, huggingface, keras_hub, model_garden):
    """The two rules of a LayerNorm."""
    return [
        Rule(
            part,
            "vector",
            f"{ours}/{end}",
            f"{google}/{end}",
            f"{huggingface}.{torch_end}",
            keras_hub and f"{keras_hub}/{end}",
            model_garden and f"{model_garden}/{end}",
        )
        for end, torch_end in (("gamma", "weight"), ("beta", "bias"))
    ]


def _dense(part, kind, ours, google, huggingface, keras_hub, model_garden):
    """The two rules of a dense layer; `kind` is the kernel's."""
    bias = "query_key_value_bias" if "{qkv}" in google else "vector"
    return [
        Rule(
            part,
            kind if end == "kernel" else bias,
            f"{ours}/{end}",
            f"{google}/{end}",
            f"{huggingface}.{torch_end}",
            keras_hub and f"{keras_hub}/{end}",
            model_garden and f"{model_garden}/{end}",
        )
        for end, torch_end in (("kernel", "weight"), ("bias", "bias"))
    ]


def _table(ours, google, keras_hub, model_garden):
    """The rule of an embedding table."""
    return Rule(
        "embeddings",
        "vector",
        f"embeddings/{ours}/embeddings",
        f"bert/embeddings/{google}",
        f"embeddings.{google}.weight",
        f"{keras_hub}/embeddings",
        f"{model_garden}/embeddings",
    )


def _output(part, ours, google, huggingface, keras_hub, model_garden):
    """The two rules of an output layer; the 2018 code stores [out, in]."""
    return [
        Rule(
            part,
            "output_kernel" if end == "kernel" else "vector",
            f"{ours}/{end}",
            f"{google}output_{google_end}",
            f"{huggingface}.{torch_end}",
            keras_hub and f"{keras_hub}/{end}",
            model_garden and f"{model_garden}/{end}",
        )
        for end, google_end, torch_end in (
            ("kernel", "weights", "weight"),
            ("bias", "bias", "bias"),
        )
    ]


_LAYER = "bert/encoder/layer_{i}"
_HF = "encoder.layer.{i}"
_HUB = "transformer_layer_{i}"
_GARDEN = "layer_{i}"

RULES = (
    _table(
        "token_embedding",
        "word_embeddings",
        "token_embedding",
        "_embedding_layer",
    ),
    _table(
        "segment_embedding",
        "token_type_embeddings",
        "segment_embedding",
        "_type_embedding_layer",
    ),
    _table(
        "position_embedding",
        "position_embeddings",
        "position_embedding",
        "_position_embedding_layer",
    ),
    *_norm(
        "embeddings",
        "embeddings/layer_norm",
        "bert/embeddings/LayerNorm",
        "embeddings.LayerNorm",
        "embeddings_layer_norm",
        "_embedding_norm_layer",
    ),
    *_dense(
        "encoder",
        "query_key_value_kernel",
        "encoder_block_{i}/self_attention/query_key_value",
        f"{_LAYER}/attention/self/{{qkv}}",
        f"{_HF}.attention.self.{{qkv}}",
        f"{_HUB}/self_attention_layer/{{qkv}}",
        f"{_GARDEN}/_attention_layer/_{{qkv}}_dense",
    ),
    *_dense(
        "encoder",
        "attention_output_kernel",
        "encoder_block_{i}/self_attention/attention_output",
        f"{_LAYER}/attention/output/dense",
        f"{_HF}.attention.output.dense",
        f"{_HUB}/self_attention_layer/attention_output",
        f"{_GARDEN}/_attention_layer/_output_dense",
    ),
    *_norm(
        "encoder",
        "encoder_block_{i}/self_attention_layer_norm",
        f"{_LAYER}/attention/output/LayerNorm",
        f"{_HF}.attention.output.LayerNorm",
        f"{_HUB}/self_attention_layer_norm",
        f"{_GARDEN}/_attention_layer_norm",
    ),
    *_dense(
        "encoder",
        "kernel",
        "encoder_block_{i}/feedforward_intermediate_dense",
        f"{_LAYER}/intermediate/dense",
        f"{_HF}.intermediate.dense",
        f"{_HUB}/feedforward_intermediate_dense",
        f"{_GARDEN}/_intermediate_dense",
    ),
    *_dense(
        "encoder",
        "kernel",
        "encoder_block_{i}/feedforward_output_dense",
        f"{_LAYER}/output/dense",
        f"{_HF}.output.dense",
        f"{_HUB}/feedforward_output_dense",
        f"{_GARDEN}/_output_dense",
    ),
    *_norm(
        "encoder",
        "encoder_block_{i}/feedforward_layer_norm",
        f"{_LAYER}/output/LayerNorm",
        f"{_HF}.output.LayerNorm",
        f"{_HUB}/feedforward_layer_norm",
        f"{_GARDEN}/_output_layer_norm",
    ),
    *_dense(
        "pooler",
        "kernel",
        "pooled_dense",
        "bert/pooler/dense",
        "pooler.dense",
        "pooled_dense",
        "_pooler_layer",
    ),
    *_dense(
        "mlm",
        "kernel",
        "mlm_head/intermediate_dense",
        "cls/predictions/transform/dense",
        "cls.predictions.transform.dense",
        "mlm_head/intermediate_dense",
        "masked_lm/dense",
    ),
    *_norm(
        "mlm",
        "mlm_head/intermediate_layer_norm",
        "cls/predictions/transform/LayerNorm",
        "cls.predictions.transform.LayerNorm",
        "mlm_head/intermediate_layer_norm",
        "masked_lm/layer_norm",
    ),
    Rule(
        "mlm",
        "vector",
        "mlm_head/output_bias",
        "cls/predictions/output_bias",
        "cls.predictions.bias",
        "mlm_head/output_bias",
        "masked_lm/bias",
    ),
    *_output(
        "next_sentence",
        "next_sentence",
        "cls/seq_relationship/",
        "cls.seq_relationship",
        None,
        "next_sentence",
    ),
    *_output("classifier", "logits", "", "classifier", "logits", None),
    *_output("span", "logits", "cls/squad/", "qa_outputs", None, None),
)


@functools.cache
def entries(format, num_layers):
    """All variables that `format` has a name for, in the table's order."""
    found = []
    for rule in RULES:
        template = getattr(rule, format)
        if template is None:
            continue
        count = num_layers if "{i}" in template else 1
        for i in range(count):
            names = (
                [
                    template.format(i=i, qkv=qkv)
                    for qkv in ("query", "key", "value")
                ]
                if "{qkv}" in template
                else [template.format(i=i)]
            )
            found.append(
                Entry(
                    rule.part,
                    rule.kind,
                    rule.keras_bert.format(i=i),
                    tuple(names),
                )
            )
    return tuple(found)


def part_of(name):
    """The part of the model that one of our variable names belongs to.

    None for a variable that only our own preset can hold.
    """
    first = name.split("/")[0]
    if first == "embeddings":
        return "embeddings"
    if first.startswith("encoder_block_"):
        return "encoder"
    return {
        "pooled_dense": "pooler",
        "mlm_head": "mlm",
        "next_sentence": "next_sentence",
        "logits": "logits",
    }.get(first)
