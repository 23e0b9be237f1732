"""The same numbers as transformers' BERT with the same weights.

The weights are copied here by hand; the checkpoint reader has its own tests.
"""

import numpy as np
import pytest
import torch
import transformers
from keras import ops

import keras_bert
from keras_bert.layers import MaskedLMHead


def reference(activation, segments):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        hidden_act=activation,
        type_vocab_size=segments,
        max_position_embeddings=12,
        # Five times the usual, so that differences show.
        initializer_range=0.1,
    )
    model = transformers.BertForPreTraining(config).eval()
    with torch.no_grad():
        # Biases and norms start at 0 and 1, which would hide a swap.
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def ours(activation, segments, pooler):
    return keras_bert.BertBackbone(
        vocabulary_size=30,
        num_layers=2,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=12,
        num_segments=segments,
        activation=activation,
        pooler=pooler,
    )


def copy(state, backbone, head):
    def get(name):
        return state[name].detach().cpu().numpy()

    def dense(layer, name):
        kernel = get(f"{name}.weight").T
        layer.kernel.assign(kernel.reshape(layer.kernel.shape))
        layer.bias.assign(get(f"{name}.bias"))

    def norm(layer, name):
        layer.gamma.assign(get(f"{name}.weight"))
        layer.beta.assign(get(f"{name}.bias"))

    embeddings = backbone.embeddings
    for layer, name in (
        (embeddings.token_embedding, "word"),
        (embeddings.segment_embedding, "token_type"),
        (embeddings.position_embedding, "position"),
    ):
        layer.embeddings.assign(
            get(f"bert.embeddings.{name}_embeddings.weight")
        )
    norm(embeddings.layer_norm, "bert.embeddings.LayerNorm")
    for i, block in enumerate(backbone.encoder_blocks):
        name = f"bert.encoder.layer.{i}"
        parts = ("query", "key", "value")
        joint = block.self_attention.query_key_value
        names = [f"{name}.attention.self.{part}" for part in parts]
        kernels = [get(f"{n}.weight").T.reshape(16, 2, 8) for n in names]
        joint.kernel.assign(np.stack(kernels, axis=1))
        joint.bias.assign(
            np.stack([get(f"{n}.bias").reshape(2, 8) for n in names])
        )
        dense(
            block.self_attention.attention_output,
            f"{name}.attention.output.dense",
        )
        norm(
            block.self_attention_layer_norm,
            f"{name}.attention.output.LayerNorm",
        )
        dense(
            block.feedforward_intermediate_dense, f"{name}.intermediate.dense"
        )
        dense(block.feedforward_output_dense, f"{name}.output.dense")
        norm(block.feedforward_layer_norm, f"{name}.output.LayerNorm")
    if backbone.pooled_dense is not None:
        dense(backbone.pooled_dense, "bert.pooler.dense")
    transform = "cls.predictions.transform"
    dense(head.intermediate_dense, f"{transform}.dense")
    norm(head.intermediate_layer_norm, f"{transform}.LayerNorm")
    head.output_bias.assign(get("cls.predictions.bias"))


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_outputs_equal_transformers(activation, segments, pooler):
    model = reference(activation, segments)
    backbone = ours(activation, segments, pooler)
    head = MaskedLMHead(backbone.token_embedding, activation=activation)
    head.build()
    copy(model.state_dict(), backbone, head)

    rng = np.random.default_rng(1)
    ids = rng.integers(1, 30, (3, 9))
    types = rng.integers(0, segments, (3, 9))
    mask = np.ones((3, 9), "int64")
    mask[0, 6:] = 0
    mask[1, 1:] = 0
    with torch.no_grad():
        arguments = {
            "input_ids": torch.tensor(ids),
            "token_type_ids": torch.tensor(types),
            "attention_mask": torch.tensor(mask),
        }
        inner = model.bert(**arguments)
        logits = model(**arguments).prediction_logits.numpy()
    out = backbone(
        {"token_ids": ids, "segment_ids": types, "padding_mask": mask}
    )
    sequence = ops.convert_to_numpy(out["sequence_output"])
    real = mask.astype(bool)
    np.testing.assert_allclose(
        sequence[real], inner.last_hidden_state.numpy()[real], rtol=0, atol=1e-5
    )
    got = ops.convert_to_numpy(head(out["sequence_output"]))
    np.testing.assert_allclose(got[real], logits[real], rtol=0, atol=1e-5)
    if pooler:
        np.testing.assert_allclose(
            ops.convert_to_numpy(out["pooled_output"]),
            inner.pooler_output.numpy(),
            rtol=0,
            atol=1e-5,
        )


def test_the_comparison_tells_the_two_gelus_apart():
    """Negative control: tanh and erf GELU differ by up to 4.7e-4."""
    model = reference("gelu", 2)
    backbone = ours("gelu_new", 2, True)
    head = MaskedLMHead(backbone.token_embedding)
    head.build()
    copy(model.state_dict(), backbone, head)
    ids = np.arange(1, 9)[None, :]
    with torch.no_grad():
        wanted = model.bert(torch.tensor(ids)).last_hidden_state.numpy()
    got = ops.convert_to_numpy(backbone({"token_ids": ids})["sequence_output"])
    assert np.abs(got - wanted).max() > 2e-5
