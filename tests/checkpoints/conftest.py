"""Tiny random models written by transformers, and ours built from them."""

import json

import numpy as np
import pytest

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [
    *"abcdefghij",
    "the",
    "quick",
    "fox",
    "##ly",
    "##s",
]


@pytest.fixture(scope="session")
def vocabulary():
    return list(VOCABULARY)


@pytest.fixture(scope="session")
def write_hf(tmp_path_factory):
    """write_hf("BertModel", **config) -> folder written by transformers.

    Weights are ten times as wide as BERT's, so that a wrong activation or a
    swapped matrix shows in the outputs.
    """
    import torch
    import transformers

    written = {}

    def write(name, dtype=None, **config):
        key = json.dumps([name, str(dtype), config], sort_keys=True)
        if key in written:
            return written[key]
        torch.manual_seed(7)
        settings = {
            "vocab_size": len(VOCABULARY),
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 12,
            "max_position_embeddings": 16,
            "initializer_range": 0.2,
            **config,
        }
        keywords = settings.pop("keywords", {})
        model = getattr(transformers, name)(
            transformers.BertConfig(**settings), **keywords
        )
        # transformers starts biases at 0 and norms at 1: wrong names among
        # them would go unnoticed.
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 1:
                    parameter.add_(0.3 * torch.randn_like(parameter))
        if dtype is not None:
            model = model.to(dtype)
        folder = tmp_path_factory.mktemp(name)
        model.save_pretrained(folder)
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
        settings = {"do_lower_case": True, "model_max_length": 16}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        written[key] = folder
        return folder

    return write


@pytest.fixture(scope="session")
def ids():
    """Four rows: full, padded, two segments, one token short of full."""
    token_ids = np.array(
        [
            [2, 5, 6, 7, 8, 9, 3],
            [2, 10, 11, 3, 0, 0, 0],
            [2, 12, 3, 13, 14, 3, 0],
            [2, 15, 16, 17, 18, 3, 0],
        ]
    )
    segment_ids = np.zeros_like(token_ids)
    segment_ids[2, 3:6] = 1
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": (token_ids != 0).astype("int64"),
    }


@pytest.fixture(scope="session")
def build():
    """build(source, "BertMaskedLM") -> (model, report), built by hand."""
    import keras_bert.models as models
    from keras_bert.checkpoints import load_weights
    from keras_bert.checkpoints import open_source

    def make(source, task=None, strict=True, **kwargs):
        checkpoint = open_source(source, strict=strict)
        model = models.BertBackbone(**{**checkpoint.backbone_config, **kwargs})
        if task is not None:
            arguments = checkpoint.task_arguments(task)
            model = getattr(models, task)(model, **arguments)
        return model, load_weights(model, checkpoint, strict)

    return make


@pytest.fixture(scope="session")
def store():
    """The arrays of a .safetensors file, by name."""
    from safetensors import safe_open

    def read(path):
        with safe_open(str(path), "numpy") as file:
            return {name: file.get_tensor(name) for name in list(file.keys())}

    return read


@pytest.fixture(scope="session")
def assert_same_bytes():
    def check(left, right):
        assert sorted(left) == sorted(right)
        for name, array in left.items():
            other = right[name]
            assert (array.dtype, array.shape) == (other.dtype, other.shape)
            assert array.tobytes() == other.tobytes(), name

    return check
