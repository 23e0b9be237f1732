"""Names that stand for files elsewhere: hf://owner/name, KerasHub presets."""

import re

from keras_bert._errors import invalid
from keras_bert.checkpoints.files import first_line

_WANTED = (
    "*.json",
    "vocab.txt",
    "*.safetensors",
    "*/config.json",
)


def download_huggingface(source):
    """The local folder of "hf://owner/name[@revision]"."""
    match = re.fullmatch(r"hf://([\w.-]+(?:/[\w.-]+)?)(?:@([\w./-]+))?", source)
    if not match:
        raise invalid("source", '"hf://owner/name"', source)
    name, revision = match.groups()
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            name, revision=revision, allow_patterns=list(_WANTED)
        )
        if not _has_safetensors(folder):
            folder = snapshot_download(
                name,
                revision=revision,
                allow_patterns=[*_WANTED, "pytorch_model*.bin"],
            )
    except Exception as error:
        # huggingface_hub raises its own errors, and those of its HTTP
        # client, which are no part of its documented interface.
        raise invalid(
            "source",
            "a model that the Hugging Face hub or its local cache can give "
            "(looked for config.json, model.safetensors, pytorch_model.bin, "
            "vocab.txt). The hub could not be reached or has no such model "
            f"({first_line(error)}). A local copy of the folder is accepted "
            "as SOURCE: a folder with these files",
            source,
        ) from error
    from pathlib import Path

    return Path(folder)


def _has_safetensors(folder):
    from pathlib import Path

    return any(Path(folder).glob("*.safetensors"))


def download_keras_hub(name):
    """The local folder of a KerasHub BERT preset; None if there is none."""
    try:
        import keras_nlp
    except Exception:  # its hub clients can break its import
        return None
    presets = keras_nlp.models.BertBackbone.presets
    if name not in presets:
        return None
    handle = presets[name]["kaggle_handle"].removeprefix("kaggle://")
    try:
        import kagglehub

        return kagglehub.model_download(handle)
    except Exception as error:  # any of its HTTP client's errors
        raise invalid(
            "source",
            f"a KerasHub preset that can be fetched (kaggle://{handle}: "
            "config.json, model.weights.h5, tokenizer.json, "
            "assets/tokenizer/vocabulary.txt). The hub could not be reached "
            f"({first_line(error)}). A local copy of the preset folder is "
            "accepted as SOURCE",
            name,
        ) from error
