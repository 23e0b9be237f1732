"""The arguments of `distribute`, and the layout of the weights."""

import socket

import keras
import pytest

import keras_bert
from keras_bert.training.distribution import _devices
from keras_bert.training.distribution._tensorflow_devices import _check_port
from keras_bert.training.distribution._tensorflow_devices import cluster
from keras_bert.training.distribution.layout import split_axis

BACKEND = keras.config.backend()


def test_one_device_is_a_plain_context(capsys):
    with keras_bert.distribute(devices=1) as chosen:
        assert chosen is None
        assert _devices.current() is None
        keras_bert.BertBackbone(20, 1, 2, 8, 16)
    assert f"distribute: {BACKEND}, 1 device" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        {"devices": 0},
        {"devices": -1},
        {"devices": 1.5},
        {"devices": True},
        {"devices": []},
        {"devices": "gpu:0"},
        {"model_parallel": 0},
        {"model_parallel": None},
        {"devices": 4096},
        {"model_parallel": 4096},
    ],
)
def test_bad_arguments_are_refused(arguments):
    (name,) = arguments
    distributed = keras_bert.distribute(**arguments)
    with pytest.raises(ValueError, match=f"`{name}`"), distributed:
        pass
    assert _devices.current() is None


def test_an_unknown_device_is_named():
    distributed = keras_bert.distribute(devices=["abacus:0", "abacus:1"])
    with pytest.raises(ValueError, match="`devices`"), distributed:
        pass


def torch_says_what_keras_supports():
    distributed = keras_bert.distribute(devices=2)
    words = r"Keras 3\..*distributes on JAX and TensorFlow"
    with pytest.raises(ValueError, match=words), distributed:
        pass


if BACKEND == "torch":
    test_torch_says_what_keras_supports = torch_says_what_keras_supports


def test_a_bad_cluster_is_refused(monkeypatch):
    for text in (
        "x",
        '{"cluster": {}}',
        '{"cluster": {"worker": ["a:1", "b:2"]},'
        ' "task": {"type": "worker", "index": 2}}',
        '{"cluster": {"worker": ["a:1", "b:2"]},'
        ' "task": {"type": "ps", "index": 0}}',
    ):
        monkeypatch.setenv("TF_CONFIG", text)
        with pytest.raises(ValueError, match="`TF_CONFIG`"):
            cluster()
    monkeypatch.setenv("TF_CONFIG", "")
    assert cluster() is None


def test_the_port_of_a_worker_is_looked_at():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ValueError, match="a free port for this worker"):
            _check_port(address)


def test_layout_of_bert_base_over_4_devices():
    # Shoeybi et al. (2019), section 3: columns of the first product of each
    # pair, rows of the second, heads whole.
    found = {
        path: split_axis(path, shape, 4)
        for path, shape in {
            "encoder_block_0/self_attention/query_key_value/kernel": (
                768, 3, 12, 64,
            ),
            "encoder_block_0/self_attention/attention_output/kernel": (
                12, 64, 768,
            ),
            "encoder_block_0/feedforward_intermediate_dense/kernel": (
                768, 3072,
            ),
            "encoder_block_0/feedforward_output_dense/kernel": (3072, 768),
            "encoder_block_0/feedforward_output_dense/bias": (768,),
            # 30522 is no multiple of 4.
            "embeddings/token_embedding/embeddings": (30522, 768),
            "embeddings/position_embedding/embeddings": (512, 768),
        }.items()
    }  # fmt: skip
    assert list(found.values()) == [2, 0, 1, 0, None, 1, None]
    table = "embeddings/token_embedding/embeddings"
    assert split_axis(table, (30720, 768), 4) == 0
    # 2 heads are not split over 4 devices, but copied.
    assert split_axis("a/query_key_value/kernel", (128, 3, 2, 64), 4) is None
