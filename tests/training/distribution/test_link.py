"""The line between processes, here between threads."""

import json
import socket
import threading
import time

import pytest

from keras_bert.training.distribution import _link
from tests.training.distribution.launch import free_port


def meet(address, count, timeout=20):
    """The links of `count` processes, made at the same time."""
    links = [None] * count

    def one(number):
        links[number] = _link.Link(address, number, count, timeout)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return links


def in_each(links, function):
    found = [None] * len(links)

    def one(number):
        try:
            found[number] = function(links[number])
        except Exception as error:
            found[number] = error

    threads = [
        threading.Thread(target=one, args=(i,)) for i in range(len(links))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.fixture
def address():
    return f"127.0.0.1:{free_port()}"


def test_each_process_gets_the_texts_of_all_in_order(address):
    links = meet(address, 3)
    texts = in_each(links, lambda link: link.exchange(f"from {link.process}"))
    assert texts == [["from 0", "from 1", "from 2"]] * 3


def test_the_port_is_free_after_the_meeting(address):
    meet(address, 2)
    host, port = address.split(":")
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, int(port)))


def test_what_differs_is_named_with_the_values_of_all(address):
    links = meet(address, 2)
    errors = in_each(
        links,
        lambda link: link.compare(
            {"Keras": "3.15.1", "backend": f"jax 0.{10 + link.process}"}
        ),
    )
    for error in errors:
        assert isinstance(error, ValueError)
        assert "must have the same backend" in str(error)
        assert "process 0: jax 0.10, process 1: jax 0.11" in str(error)
    assert in_each(links, lambda link: link.compare({"a": 1})) == [None] * 2


def test_a_port_in_use_is_refused(address):
    host, port = address.split(":")
    with socket.socket() as server:
        server.bind((host, int(port)))
        server.listen()
        with pytest.raises(ValueError, match="a free port for process 0"):
            _link.Link(address, 0, 2, timeout=5)


def test_who_does_not_come_is_named_with_the_address(address):
    begun = time.monotonic()
    with pytest.raises(TimeoutError) as error:
        _link.Link(address, 0, 3, timeout=0.3)
    assert "process(es) [1, 2] of 3 did not come" in str(error.value)
    assert address in str(error.value)
    with pytest.raises(TimeoutError, match="could not reach the coordinator"):
        _link.Link(address, 1, 3, timeout=0.3)
    assert time.monotonic() - begun < 20


def test_a_stranger_at_the_port_does_no_harm(address):
    host, port = address.split(":")
    found = []
    thread = threading.Thread(
        target=lambda: found.append(_link.Link(address, 0, 2, 20))
    )
    thread.start()
    kept = []
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"", b"5\n", None):
        stranger = None
        while stranger is None:
            try:
                stranger = socket.create_connection((host, int(port)))
            except OSError:
                time.sleep(0.05)
        if text is None:
            # Stays, and says nothing.
            kept.append(stranger)
        else:
            stranger.sendall(text)
            stranger.close()
    other = _link.Link(address, 1, 2, 20)
    thread.join()
    texts = in_each([*found, other], lambda link: link.exchange("x"))
    assert texts == [["x", "x"]] * 2


def test_bad_addresses_and_numbers_are_refused():
    for address in ("somewhere", "host:", ":80", "host:port"):
        with pytest.raises(ValueError, match="`address`"):
            _link.Link(address, 0, 2, 1)
    with pytest.raises(ValueError, match="`process`"):
        _link.Link("127.0.0.1:1", 2, 2, 1)


def test_all_hear_of_a_lost_process_but_not_of_one_that_ended(address):
    links = meet(address, 3)

    def gone(link):
        deadline = time.monotonic() + 10
        while link.lost is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return link.lost

    _link._send(links[2]._peers[0], {"out": True})
    links[2]._peers[0].shutdown(socket.SHUT_RDWR)
    time.sleep(0.3)
    assert links[0].lost is None
    # A killed process closes its connections without a word.
    links[1]._peers[0].shutdown(socket.SHUT_RDWR)
    assert "Process 1 of 3 was killed or cut off" in gone(links[0])
    with pytest.raises(RuntimeError, match="Process 1 of 3"):
        links[0].exchange("x")


def test_the_error_of_one_process_reaches_the_others(address, monkeypatch):
    monkeypatch.setattr(_link.Link, "_end", lambda self: None)
    links = meet(address, 2)
    inside = threading.Barrier(2)

    def run(link):
        with link.watching():
            inside.wait()
            if link.process:
                raise OSError("disk full")
            _link._wait_until(lambda: link.lost, 10)

    first, second = in_each(links, run)
    assert isinstance(first, RuntimeError)
    assert "Process 1 of 2 stopped: OSError: disk full" in str(first)
    assert isinstance(second, OSError)


def test_seeds_are_told_apart():
    import keras

    digests = []
    for seed in (1, 1, 2):
        keras.utils.set_random_seed(seed)
        digests.append(_link.random_state_digest())
    assert digests[0] == digests[1] != digests[2]
    assert json.dumps(digests)
