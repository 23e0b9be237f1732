"""Model configs of the other formats, forwards and backwards.

A missing key takes the default that its family documents. A config of
another architecture is refused with a sentence that says what differs;
keys that change nothing here are ignored, as the original ignores them.
"""

# (our argument, Hugging Face's and Google's key, default of Hugging Face's
# BertConfig, default of the 2018 code's BertConfig). None: no default.
_KEYS = (
    ("vocabulary_size", "vocab_size", 30522, None),
    ("num_layers", "num_hidden_layers", 12, 12),
    ("num_heads", "num_attention_heads", 12, 12),
    ("hidden_dim", "hidden_size", 768, 768),
    ("intermediate_dim", "intermediate_size", 3072, 3072),
    ("dropout", "hidden_dropout_prob", 0.1, 0.1),
    ("attention_dropout", "attention_probs_dropout_prob", 0.1, 0.1),
    ("max_sequence_length", "max_position_embeddings", 512, 512),
    # The 2018 class default is 16, every released config says 2.
    ("num_segments", "type_vocab_size", 2, 16),
    ("activation", "hidden_act", "gelu", "gelu"),
    # The 2018 code has no such key: always 1e-12.
    ("layer_norm_epsilon", "layer_norm_eps", 1e-12, 1e-12),
    ("initializer_range", "initializer_range", 0.02, 0.02),
)

# Hugging Face's word -> ours. "gelu" is the exact (erf) form.
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_pytorch_tanh",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
    None: "linear",
    "": "linear",
}

TANH_GELUS = ("gelu_new", "gelu_pytorch_tanh", "gelu_approximate")

# key: the only value that is BERT. An absent key is BERT.
_REFUSED = (
    ("position_embedding_type", "absolute", "its positions are {}"),
    ("add_cross_attention", False, "it has cross attention"),
    ("is_decoder", False, "it is a decoder with causal attention"),
    ("is_encoder_decoder", False, "it is an encoder with a decoder"),
    ("tie_word_embeddings", True, "its decoder has a matrix of its own"),
)


def from_huggingface(config, path):
    """`BertBackbone` arguments from a Hugging Face `config.json`."""
    model_type = config.get("model_type")
    architectures = config.get("architectures") or []
    if model_type is None and not architectures:
        raise ValueError(
            f"{path} has neither `model_type` nor `architectures`, so it "
            'does not say which model it is. If it is BERT, add "model_type":'
            ' "bert"'
        )
    if model_type not in (None, "bert"):
        raise ValueError(
            f"{path} describes another architecture: model_type is "
            f'"{model_type}", expected "bert"'
        )
    for name in architectures:
        if model_type is None and not str(name).startswith("Bert"):
            raise ValueError(
                f"{path} describes another architecture: {name}, expected a "
                "Bert class"
            )
    _refuse(config, path)
    return _convert(config, path, 2)


def from_google(config, path):
    """`BertBackbone` arguments from a `bert_config.json`."""
    if config.get("model_type") not in (None, "bert"):
        return from_huggingface(config, path)
    _refuse(config, path)
    return _convert(config, path, 3)


def to_huggingface(backbone_config):
    """The keys of `config.json` that describe the backbone."""
    config = to_google(backbone_config)
    config.pop("layer_norm_eps", None)
    return {
        **config,
        "model_type": "bert",
        "layer_norm_eps": backbone_config["layer_norm_epsilon"],
        "position_embedding_type": "absolute",
        "pad_token_id": 0,
    }


def to_google(backbone_config):
    """The keys of `bert_config.json`."""
    config = {key: backbone_config[ours] for ours, key, *_ in _KEYS}
    if config["hidden_act"] == "gelu_approximate":
        config["hidden_act"] = "gelu_pytorch_tanh"
    # The original sets every key as an attribute and would not read this.
    if config["layer_norm_eps"] == 1e-12:
        del config["layer_norm_eps"]
    return config


def google_notes(backbone_config):
    """What the original code would compute differently."""
    notes = []
    if backbone_config["layer_norm_epsilon"] != 1e-12:
        notes.append(
            "the 2018 code always computes with a LayerNorm epsilon of 1e-12, "
            f"not {backbone_config['layer_norm_epsilon']}; the value is kept "
            "under the key `layer_norm_eps`"
        )
    if backbone_config["activation"] in TANH_GELUS:
        notes.append(
            "the 2018 code knows no activation "
            f"`{backbone_config['activation']}`; it calls it `gelu`"
        )
    return notes


def _refuse(config, path):
    for key, value, reason in _REFUSED:
        found = config.get(key, value)
        if found != value and found is not None:
            raise ValueError(
                f"{path} describes another architecture: "
                f"{reason.format(found)} ({key}={found!r}, BERT has {value!r})"
            )
    width = config.get("embedding_size", config.get("embedding_width"))
    hidden = config.get("hidden_size", 768)
    if width is not None and width != hidden:
        raise ValueError(
            f"{path} describes another architecture: its embedding size "
            f"{width} differs from its hidden size {hidden}"
        )
    if config.get("pruned_heads"):
        raise ValueError(
            f"{path} describes another architecture: attention heads were "
            f"pruned ({config['pruned_heads']})"
        )


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def checked_rate(value, name, path):
    """A dropout rate, or an error that names the file and the key."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ValueError(
            f"{path} gives {name} as {value!r}, expected a number from 0 to "
            "below 1"
        )
    return value


def _convert(config, path, default):
    found = {}
    for row in _KEYS:
        ours, key = row[:2]
        value = config.get(key, row[default])
        if value is None and ours != "activation":
            raise ValueError(f"{path} lacks the key `{key}`")
        found[ours] = value
    name = found["activation"]
    if not isinstance(name, (str, type(None))) or name not in _ACTIVATIONS:
        raise ValueError(
            f"{path} has hidden_act={found['activation']!r}, expected one of "
            f"{[name for name in _ACTIVATIONS if name]}"
        )
    found["activation"] = _ACTIVATIONS[found["activation"]]
    for name in (
        "vocabulary_size",
        "num_layers",
        "num_heads",
        "hidden_dim",
        "intermediate_dim",
        "max_sequence_length",
        "num_segments",
    ):
        value = found[name]
        if type(value) is not int or value < 1:
            raise ValueError(
                f"{path} gives {name} as {value!r}, expected an int of at "
                "least 1"
            )
    for name in ("dropout", "attention_dropout"):
        found[name] = checked_rate(found[name], name, path)
    epsilon = found["layer_norm_epsilon"]
    if not _is_number(epsilon) or epsilon <= 0:
        raise ValueError(
            f"{path} gives layer_norm_eps as {epsilon!r}, expected a number "
            "above 0"
        )
    if not _is_number(found["initializer_range"]):
        raise ValueError(
            f"{path} gives initializer_range as "
            f"{found['initializer_range']!r}, expected a number"
        )
    if found["hidden_dim"] % found["num_heads"]:
        raise ValueError(
            f"{path}: the hidden size {found['hidden_dim']} is not a "
            f"multiple of the number of heads {found['num_heads']}"
        )
    return found
