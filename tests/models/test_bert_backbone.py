"""BertBackbone: inputs, outputs, padding and packing, looking inside."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert import _backend
from keras_bert.testing import check_fully_padded_row
from keras_bert.testing import check_model
from keras_bert.testing import check_packing_invariance
from keras_bert.testing import check_padding_invariance
from keras_bert.testing import record


def tiny(**arguments):
    return keras_bert.BertBackbone(
        **{
            "vocabulary_size": 20,
            "num_layers": 2,
            "num_heads": 2,
            "hidden_dim": 16,
            "intermediate_dim": 32,
            "max_sequence_length": 40,
            "dropout": 0.0,
            "attention_dropout": 0.0,
            # Wide, so that errors show.
            "initializer_range": 0.2,
            **arguments,
        }
    )


def batch():
    return {
        "token_ids": np.array([[2, 7, 8, 3, 0, 0], [2, 5, 3, 6, 9, 3]]),
        "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]),
        "padding_mask": np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 2, 2, 2]]),
    }


def arrays(outputs):
    return {k: ops.convert_to_numpy(v) for k, v in outputs.items()}


def test_contract():
    targets = {
        "sequence_output": np.zeros((2, 6, 16), "float32"),
        "pooled_output": np.zeros((2, 16), "float32"),
    }
    check_model(
        tiny,
        batch(),
        targets,
        compile_arguments={
            "optimizer": keras.optimizers.SGD(0.05, momentum=0.9),
            "loss": {"sequence_output": "mse", "pooled_output": "mse"},
        },
    )


def test_reloads_trained_with_adam_and_without_a_pooler():
    model = tiny(pooler=False, activation="relu", num_segments=1)
    x = {"token_ids": batch()["token_ids"]}
    y = {"sequence_output": np.ones((2, 6, 16), "float32")}
    model.compile("adam", {"sequence_output": "mse"})
    model.train_on_batch(x, y)
    entry = record(model, x, model.predict(x, verbose=0), batch=(x, y))
    losses = [model.train_on_batch(x, y) for _ in range(3)]
    keras_bert.testing.expect(entry, next_losses=losses)
    assert losses[2] < losses[0]


def test_every_variable_exists_after_the_constructor():
    model = tiny(num_layers=1, name="bert")
    paths = [v.path for v in model.weights]
    block = "bert/encoder_block_0/"
    assert paths == [
        "bert/embeddings/token_embedding/embeddings",
        "bert/embeddings/segment_embedding/embeddings",
        "bert/embeddings/position_embedding/embeddings",
        "bert/embeddings/layer_norm/gamma",
        "bert/embeddings/layer_norm/beta",
        block + "self_attention/query_key_value/kernel",
        block + "self_attention/query_key_value/bias",
        block + "self_attention/attention_output/kernel",
        block + "self_attention/attention_output/bias",
        block + "self_attention_layer_norm/gamma",
        block + "self_attention_layer_norm/beta",
        block + "feedforward_intermediate_dense/kernel",
        block + "feedforward_intermediate_dense/bias",
        block + "feedforward_output_dense/kernel",
        block + "feedforward_output_dense/bias",
        block + "feedforward_layer_norm/gamma",
        block + "feedforward_layer_norm/beta",
        "bert/pooled_dense/kernel",
        "bert/pooled_dense/bias",
    ]
    count = len(model.variables)
    model(batch())
    assert len(model.variables) == count


def test_absent_and_none_inputs_are_filled_in():
    model = tiny()
    ids = batch()["token_ids"]
    full = {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "padding_mask": np.ones_like(ids),
        "cls_positions": np.zeros((2, 1), "int32"),
    }
    wanted = arrays(model(full))
    for x in (
        {"token_ids": ids},
        {"token_ids": ids, "segment_ids": None, "padding_mask": None},
    ):
        got = arrays(model(x))
        np.testing.assert_allclose(
            got["sequence_output"], wanted["sequence_output"], atol=1e-6
        )
        np.testing.assert_allclose(
            got["pooled_output"], wanted["pooled_output"][:, 0], atol=1e-6
        )
    predicted = model.predict({"token_ids": ids}, verbose=0)
    np.testing.assert_allclose(
        predicted["sequence_output"], wanted["sequence_output"], atol=1e-5
    )


def test_without_a_pooler_there_is_no_pooled_output():
    model = tiny(pooler=False)
    assert set(model(batch())) == {"sequence_output"}
    assert set(model(model.input)) == {"sequence_output"}
    assert model.pooled_dense is None


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "token_ids"),
        ({"segment_ids": np.zeros((1, 2))}, "token_ids"),
        ({"token_ids": np.zeros((1, 2)), "input_mask": None}, "input_mask"),
        (np.zeros((1, 2), "int32"), "a dict"),
        ({"token_ids": np.array([[20]])}, "`token_ids`.*20"),
        ({"token_ids": np.array([[-1]])}, "`token_ids`.*-1"),
        ({"token_ids": np.zeros((1, 41))}, "max_sequence_length=40.*41"),
        (
            {"token_ids": np.zeros((1, 2)), "segment_ids": np.full((1, 2), 2)},
            "`segment_ids`",
        ),
        (
            {
                "token_ids": np.zeros((1, 2)),
                "cls_positions": np.array([[2]]),
            },
            "`cls_positions`",
        ),
    ],
)
def test_bad_inputs_are_refused_by_name(inputs, message):
    with pytest.raises(ValueError, match=message):
        tiny()(inputs)


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_layers": 0},
        {"num_heads": 3},
        {"vocabulary_size": 0},
        {"dropout": 1.0},
        {"attention_dropout": -1},
        {"activation": "swoosh"},
    ],
)
def test_bad_arguments_are_refused_by_name(arguments):
    (name,) = arguments
    named = "hidden_dim" if name == "num_heads" else name
    with pytest.raises(ValueError, match=f"`{named}`"):
        tiny(**arguments)


def test_inputs_are_the_same_objects_and_make_functional_models():
    model = tiny()
    assert list(model.input) == ["token_ids", "segment_ids", "padding_mask"]
    for name, tensor in model.input.items():
        assert tensor is model.input[name]
        assert tensor.dtype == "int32" and tensor.shape == (None, None)
    outputs = model(model.input)
    x = keras.layers.Dense(3)(outputs["pooled_output"])
    functional = keras.Model(model.input, [outputs["sequence_output"], x])
    sequence, logits = functional.predict(batch(), verbose=0)
    wanted = arrays(model(batch()))["sequence_output"]
    np.testing.assert_allclose(sequence, wanted, atol=1e-5)
    assert logits.shape == (2, 3)
    record(functional, batch(), [sequence, logits])


def test_symbolic_and_real_outputs_agree_in_shape_and_dtype():
    for dtype in ("float32", "mixed_bfloat16"):
        model = tiny(dtype=dtype)
        positions = keras.Input((3,), dtype="int32")
        symbolic = model({**model.input, "cls_positions": positions})
        real = model({**batch(), "cls_positions": np.array([[0, 1, 2]] * 2)})
        assert set(symbolic) == set(real)
        for name, spec in symbolic.items():
            assert tuple(spec.shape[1:])[1:] == tuple(real[name].shape)[2:]
            got = keras.backend.standardize_dtype(real[name].dtype)
            assert spec.dtype == got == dtype.removeprefix("mixed_")
        assert symbolic["pooled_output"].shape == (None, 3, 16)


def test_pools_at_cls_positions():
    model = tiny()
    out = arrays(model({**batch(), "cls_positions": np.array([[0, 1]] * 2)}))
    kernel, bias = (ops.convert_to_numpy(v) for v in model.pooled_dense.weights)
    np.testing.assert_allclose(
        out["pooled_output"],
        np.tanh(out["sequence_output"][:, :2] @ kernel + bias),
        atol=1e-5,
    )


@pytest.fixture(params=["fused", "plain"])
def attention_form(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(_backend, "_FUSED", {})


def test_padding_changes_nothing(attention_form):
    check_padding_invariance(tiny())


def test_packing_changes_nothing(attention_form):
    model = tiny()
    check_packing_invariance(model, model.token_embedding)


def test_packing_check_notices_a_leak(monkeypatch):
    """Negative control: a plain padding mask lets sequences see each other."""
    from keras_bert.models import bert_backbone

    def leaking(padding_mask, causal):
        seen = ops.not_equal(padding_mask, 0)[:, None, :]
        return ops.logical_and(seen, ops.ones_like(ops.swapaxes(seen, 1, 2)))

    monkeypatch.setattr(bert_backbone, "attention_mask", leaking)
    model = tiny()
    with pytest.raises(AssertionError, match="exchanged"):
        check_packing_invariance(model, model.token_embedding)


def test_padding_check_notices_a_wrong_position(monkeypatch):
    from keras_bert.layers import bert_embeddings

    def from_the_right(mask):
        length = ops.shape(mask)[1]
        return ops.zeros_like(mask) + ops.flip(ops.arange(length))

    monkeypatch.setattr(bert_embeddings, "positions", from_the_right)
    with pytest.raises(AssertionError, match="16 columns"):
        check_padding_invariance(tiny())


def test_users_48_half_precision_survives_a_fully_padded_row(attention_form):
    check_fully_padded_row(tiny)


def test_users_48_half_policies_keep_float32_variables():
    for policy in ("mixed_float16", "mixed_bfloat16"):
        model = tiny(dtype=policy)
        layers = [x for x in model._flatten_layers() if x.weights]
        assert {layer.compute_dtype for layer in layers} == {
            model.compute_dtype
        }
        assert {w.dtype for w in model.weights} == {"float32"}


def test_users_48_pad_ids_do_not_matter_when_logits_are_huge(attention_form):
    for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
        model = tiny(dtype=policy)
        for block in model.encoder_blocks:
            kernel = block.self_attention.query_key_value.kernel
            values = ops.convert_to_numpy(kernel).copy()
            values[:, 0] *= 1e3
            kernel.assign(values)
        x = batch()
        x["padding_mask"][1] = [1, 1, 1, 1, 0, 0]
        outputs = []
        for pad in (0, 11):
            x["token_ids"] = np.where(x["padding_mask"] == 0, pad, 5)
            out = ops.cast(model(x)["sequence_output"], "float32")
            outputs.append(ops.convert_to_numpy(out)[:, :4])
        assert np.isfinite(outputs[0]).all()
        np.testing.assert_array_equal(*outputs)


def test_users_44_any_length_and_batch_and_all_inputs_by_name():
    model = tiny()
    functional = keras.Model(model.input, model(model.input))
    rng = np.random.default_rng(0)
    for rows in (1, 3):
        for length in (1, 7, 19):
            x = {
                "token_ids": rng.integers(0, 20, (rows, length)),
                "segment_ids": rng.integers(0, 2, (rows, length)),
                "padding_mask": np.ones((rows, length), "int32"),
            }
            x["padding_mask"][:, length // 2 + 1 :] = 0
            other = dict(x)
            other["token_ids"] = np.where(x["padding_mask"], x["token_ids"], 4)
            a = functional.predict_on_batch(x)["sequence_output"]
            b = functional.predict_on_batch(other)["sequence_output"]
            real = x["padding_mask"].astype(bool)
            np.testing.assert_allclose(
                ops.convert_to_numpy(a)[real],
                ops.convert_to_numpy(b)[real],
                atol=1e-6,
            )


def test_hidden_states_and_scores_are_those_of_the_forward_pass():
    model = tiny()
    x = batch()
    states = [ops.convert_to_numpy(s) for s in model.hidden_states(x)]
    scores = [ops.convert_to_numpy(s) for s in model.attention_scores(x)]
    assert len(states) == 3 and len(scores) == 2
    output = arrays(model(x))["sequence_output"]
    np.testing.assert_allclose(states[-1], output, atol=1e-5)
    same = x["padding_mask"][:, :, None] == x["padding_mask"][:, None, :]
    same &= (x["padding_mask"] > 0)[:, :, None]
    for state, weights, block, after in zip(
        states, scores, model.encoder_blocks, states[1:], strict=False
    ):
        assert weights.shape == (2, 2, 6, 6)
        assert np.all(
            weights[~np.broadcast_to(same[:, None], (2, 2, 6, 6))] == 0
        )
        np.testing.assert_allclose(
            weights.sum(-1)[:, 0], x["padding_mask"] > 0, atol=1e-5
        )
        # The block again, with these weights.
        attention = block.self_attention
        value = ops.convert_to_numpy(attention.query_key_value(state))[:, :, 2]
        context = np.einsum("bnts,bsnd->btnd", weights, value)
        attended = block.self_attention_layer_norm(
            state + ops.convert_to_numpy(attention.attention_output(context))
        )
        inner = block.feedforward_intermediate_dense(attended)
        outer = block.feedforward_output_dense(inner)
        again = block.feedforward_layer_norm(attended + outer)
        np.testing.assert_allclose(
            ops.convert_to_numpy(again), after, atol=1e-4
        )


def test_looks_inside_in_functional_models():
    model = tiny()
    inside = model.hidden_states(model.input) + model.attention_scores(
        model.input
    )
    pooled = model(model.input)["pooled_output"]
    functional = keras.Model(model.input, [*inside, pooled])
    assert len(functional.weights) == len(model.weights)
    outputs = functional.predict(batch(), verbose=0)
    wanted = [
        *model.hidden_states(batch()),
        *model.attention_scores(batch()),
        model(batch())["pooled_output"],
    ]
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got, ops.convert_to_numpy(want), atol=1e-5)
    record(functional, batch(), outputs)


def test_untrainable_at_construction():
    model = tiny(trainable=False)
    assert model.trainable_weights == []
    assert tiny().trainable_weights


def test_float_masks_and_ids_keep_their_numbers_under_half_policies():
    """Sequence 257 would be 256 in bfloat16."""
    model = tiny(dtype="mixed_bfloat16")
    ids = np.array([[2, 5, 2, 6]])
    x = {"token_ids": ids, "padding_mask": np.array([[256, 256, 257, 257]])}
    floats = {k: v.astype("float32") for k, v in x.items()}
    np.testing.assert_array_equal(
        ops.convert_to_numpy(ops.cast(model(x)["sequence_output"], "float32")),
        ops.convert_to_numpy(
            ops.cast(model(floats)["sequence_output"], "float32")
        ),
    )
