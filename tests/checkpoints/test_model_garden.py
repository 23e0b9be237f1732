"""Object-graph checkpoints as the TensorFlow Model Garden writes them.

The attribute names are those of official/nlp/modeling in tensorflow/models:
`networks/bert_encoder.py` (both generations), `layers/transformer_encoder_
block.py` and `models/bert_pretrainer.py`.
"""

import shutil

import numpy as np
import pytest

from keras_bert._tensorflow import tensorflow
from keras_bert.checkpoints import convert
from keras_bert.checkpoints import open_source

HEADS = 4


@pytest.fixture
def tiny(shared):
    return shared / "ckpt" / "tf1-tiny"


def pieces(tiny):
    """{attribute path: array}, in the shapes of the Model Garden."""
    reader = tensorflow().train.load_checkpoint(str(tiny / "bert_model.ckpt"))

    def get(name):
        return reader.get_tensor(name)

    def pair(target, source, ends=("kernel", "bias")):
        return {f"{target}/{end}": get(f"{source}/{end}") for end in ends}

    norm = ("gamma", "beta")
    blocks = []
    for i in range(2):
        layer = f"bert/encoder/layer_{i}"
        block = {
            **pair("_attention_layer_norm",
                   f"{layer}/attention/output/LayerNorm", norm),
            **pair("_intermediate_dense", f"{layer}/intermediate/dense"),
            **pair("_output_dense", f"{layer}/output/dense"),
            **pair("_output_layer_norm", f"{layer}/output/LayerNorm", norm),
        }  # fmt: skip
        for name in ("query", "key", "value"):
            source = f"{layer}/attention/self/{name}"
            target = f"_attention_layer/_{name}_dense"
            block[f"{target}/kernel"] = get(f"{source}/kernel").reshape(
                4, HEADS, 1
            )
            block[f"{target}/bias"] = get(f"{source}/bias").reshape(HEADS, 1)
        source = f"{layer}/attention/output/dense"
        block["out/kernel"] = get(f"{source}/kernel").reshape(HEADS, 1, 4)
        block["out/bias"] = get(f"{source}/bias")
        blocks.append(block)
    return {
        "word": {"embeddings": get("bert/embeddings/word_embeddings")},
        "position": {"embeddings": get("bert/embeddings/position_embeddings")},
        "type": {"embeddings": get("bert/embeddings/token_type_embeddings")},
        "norm": {end: get(f"bert/embeddings/LayerNorm/{end}") for end in norm},
        "blocks": blocks,
        "pooler": pair("", "bert/pooler/dense"),
    }


def tree(arrays, **renamed):
    """A trackable object with the arrays as nested attributes."""
    tf = tensorflow()
    root = tf.Module()
    for path, array in arrays.items():
        for old, new in renamed.items():
            if path.startswith(f"{old}/"):
                path = new + path[len(old) :]
        node = root
        *parents, leaf = path.strip("/").split("/")
        for parent in parents:
            if getattr(node, parent, None) is None:
                setattr(node, parent, tf.Module())
            node = getattr(node, parent)
        setattr(node, leaf, tf.Variable(array))
    return root


def save(folder, tiny, **root):
    tf = tensorflow()
    folder.mkdir()
    tf.train.Checkpoint(**root).write(str(folder / "bert_model.ckpt"))
    shutil.copy(tiny / "vocab.txt", folder)
    return folder


def functional(found, **renamed):
    """The older generation: layers are counted."""
    tf = tensorflow()
    encoder = tf.Module()
    layers = [
        found["word"],
        found["position"],
        found["type"],
        found["norm"],
        *found["blocks"],
        found["pooler"],
    ]
    for number, arrays in enumerate(layers):
        setattr(
            encoder, f"layer_with_weights-{number}", tree(arrays, **renamed)
        )
    return encoder


def attributes(found):
    """The newer generation: layers are attributes."""
    tf = tensorflow()
    encoder = tf.Module()
    encoder._embedding_layer = tree(found["word"])
    encoder._position_embedding_layer = tree(found["position"])
    encoder._type_embedding_layer = tree(found["type"])
    encoder._embedding_norm_layer = tree(found["norm"])
    encoder._transformer_layers = [
        tree(block, out="_attention_layer/_output_dense")
        for block in found["blocks"]
    ]
    encoder._pooler_layer = tree(found["pooler"])
    return encoder


@pytest.mark.parametrize(
    "generation", ["counted", "counted_newer", "attributes"]
)
def test_users_40_object_graph_checkpoints_equal_the_original(
    generation, tiny, tmp_path, assert_same_bytes
):
    found = pieces(tiny)
    root = {
        "counted": lambda: {
            "model": functional(found, out="_attention_output_dense")
        },
        "counted_newer": lambda: {
            "encoder": functional(found, out="_attention_layer/_output_dense")
        },
        "attributes": lambda: {"encoder": attributes(found)},
    }[generation]()
    checkpoint = open_source(save(tmp_path / "garden", tiny, **root))
    assert checkpoint.format == "model_garden"
    assert checkpoint.unused == []
    original = open_source(tiny)
    # The Model Garden computes the tanh form of GELU.
    assert checkpoint.backbone_config == {
        **original.backbone_config,
        "activation": "gelu_approximate",
    }
    assert_same_bytes(
        {name: checkpoint.read(name) for name in checkpoint.names()},
        {
            name: original.read(name)
            for name in original.names()
            if original.part(name) in ("embeddings", "encoder", "pooler")
        },
    )


def test_the_pretrainers_heads_are_read(tiny, tmp_path):
    tf = tensorflow()
    generator = np.random.default_rng(0)

    def random(*shape):
        return tf.Variable(generator.normal(size=shape).astype("float32"))

    encoder = attributes(pieces(tiny))
    masked_lm = tf.Module()
    masked_lm.dense, masked_lm.layer_norm = tf.Module(), tf.Module()
    masked_lm.dense.kernel, masked_lm.dense.bias = random(4, 4), random(4)
    masked_lm.layer_norm.gamma = random(4)
    masked_lm.layer_norm.beta = random(4)
    masked_lm.bias = random(15)
    # The head holds the table too, nearer the root: TensorFlow then saves
    # the table under the head's name.
    masked_lm.embedding_table = encoder._embedding_layer.embeddings
    head = tf.Module()
    head.dense, head.out_proj = tf.Module(), tf.Module()
    head.dense.kernel, head.dense.bias = random(4, 4), random(4)
    head.out_proj.kernel, head.out_proj.bias = random(4, 2), random(2)
    folder = save(
        tmp_path / "garden",
        tiny,
        encoder=encoder,
        masked_lm=masked_lm,
        classification_heads=[head],
    )
    checkpoint = open_source(folder)
    assert checkpoint.task == "BertPretrainer"
    assert checkpoint.unused == []
    for name, variable in (
        ("mlm_head/output_bias", masked_lm.bias),
        ("mlm_head/intermediate_dense/kernel", masked_lm.dense.kernel),
        ("next_sentence/kernel", head.out_proj.kernel),
        # Trained inside the sentence head, not the encoder's own.
        ("pooled_dense/kernel", head.dense.kernel),
        (
            "embeddings/token_embedding/embeddings",
            encoder._embedding_layer.embeddings,
        ),
    ):
        np.testing.assert_array_equal(checkpoint.read(name), variable.numpy())
    convert(folder, tmp_path / "out", "huggingface")
    assert open_source(tmp_path / "out").task == "BertPretrainer"


def test_another_object_graph_is_refused(tiny, tmp_path):
    tf = tensorflow()
    folder = save(tmp_path / "garden", tiny, model=tree({"a/b": [1.0]}))
    assert tf.train.list_variables(str(folder / "bert_model.ckpt"))
    with pytest.raises(ValueError, match="not of a BERT"):
        open_source(folder)
