"""`keras-bert serve` as a process of its own, under load and when it is hurt.

KERAS_BERT_LOAD_SECONDS=30 makes the load last longer than in CI.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.cli.main import main

SECONDS = float(os.environ.get("KERAS_BERT_LOAD_SECONDS", 10))
CLIENTS = 50
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def preset(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("preset") / "classifier"
    models["classifier"].save_to_preset(folder)
    return folder


def started(preset, *options):
    """The process, and how to ask it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_bert.cli.main", "serve", preset]
        + ["--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    found = re.search(r"serving (\w+) at http://([\d.]+):(\d+) ", line)
    assert found, process.communicate()[1]

    def ask(path, content=None, body=None, headers=JSON, host=None):
        connection = http.client.HTTPConnection(
            host or found[2], int(found[3]), timeout=60
        )
        try:
            if content is not None:
                body = json.dumps(content)
            method = "GET" if body is None else "POST"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    return SimpleNamespace(
        process=process, ask=ask, host=found[2], port=int(found[3])
    )


@pytest.fixture(scope="module")
def server(preset):
    server = started(preset, "--workers", "2")
    yield server
    server.process.kill()
    server.process.communicate()


def test_no_request_is_lost_or_mixed_up_while_a_worker_is_killed(
    server, models
):
    answered, failures = [], []
    ends = time.monotonic() + SECONDS

    def client(number):
        generator = np.random.default_rng(number)
        words = ["the", "old", "fox", "dog", "cat", "ran", "saw", "not", "."]
        try:
            while time.monotonic() < ends:
                text = " ".join(generator.choice(words, 1 + number % 20))
                status, answer = server.ask("/predict", {"text": text})
                assert status == 200, answer
                answered.append((text, answer))
        except Exception as error:
            failures.append(f"client {number}: {error!r}")

    threads = [
        threading.Thread(target=client, args=(number,))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS / 3)
    _, before = server.ask("/health")
    os.kill(before["workers"][0]["pid"], signal.SIGKILL)
    for thread in threads:
        thread.join(SECONDS + 60)
    assert not failures
    assert len(answered) >= CLIENTS

    # The same texts, one by one, in this process.
    texts = [text for text, _ in answered]
    unique = sorted(set(texts))
    scores = models["classifier"].predict(unique, verbose=0)
    powers = np.exp(scores)
    expected = dict(
        zip(unique, powers / powers.sum(-1, keepdims=True), strict=True)
    )
    assert len(unique) > 20

    def wrong(pairs):
        labels = models["classifier"].labels
        count = 0
        for text, answer in pairs:
            found = {one["label"]: one["score"] for one in answer["scores"]}
            off = [found[name] for name in labels] - expected[text]
            count += np.abs(off).max() > 1e-4
        return count

    assert wrong(answered) == 0
    # The check would see answers that went to the next client.
    shifted = zip(
        texts, [a for _, a in answered[1:] + answered[:1]], strict=True
    )
    assert wrong(shifted) > len(answered) / 2

    deadline = time.monotonic() + 60
    while True:
        _, health = server.ask("/health")
        if all(worker["alive"] for worker in health["workers"]):
            break
        assert time.monotonic() < deadline, health
        time.sleep(0.2)
    assert [worker["restarts"] for worker in health["workers"]] == [1, 0]
    assert health["workers"][0]["pid"] != before["workers"][0]["pid"]
    assert health["answered"] == len(answered)
    assert health["largest_batch"] > 1
    assert health["batches"] < health["answered"]


def test_health_and_model(server):
    status, health = server.ask("/health")
    assert status == 200
    assert health["status"] == "ok"
    assert len(health["workers"]) == 2
    status, model = server.ask("/model")
    assert status == 200
    assert model["fields"] == {"text": "text", "text_pair": "text?"}


def test_what_was_cut_is_said(server):
    def ask(content):
        connection = http.client.HTTPConnection(server.host, server.port)
        connection.request("POST", "/predict", json.dumps(content), JSON)
        with connection.getresponse() as answer:
            assert answer.status == 200
            return answer.headers["X-Truncated"]

    short, long = {"text": "fox " * 30}, {"text": "fox " * 31}
    assert ask(short) is None
    before = server.ask("/health")[1]["truncated"]
    assert ask({"inputs": [long, short, long]}) == "2"
    assert server.ask("/health")[1]["truncated"] == before + 2


def test_what_is_wrong_is_a_clear_4xx(server):
    cases = [
        ("/predict", {"body": "{"}, 400, "no JSON"),
        ("/predict", {"body": '{"text": 1}'}, 400, "`text` must be a string"),
        ("/predict", {"body": b'{"text": "\xff"}'}, 400, "no UTF-8 (byte 10)"),
        ("/predict", {"body": "{}", "headers": {}}, 415, "application/json"),
        ("/predict", {}, 405, "Method Not Allowed"),
        ("/other", {}, 404, "Not Found"),
        ("/predict", {"content": {"text": "a" * 2**20}}, 413, "65536 bytes"),
    ]
    for path, arguments, status, part in cases:
        found, answer = server.ask(path, **arguments)
        assert (found, part in answer["error"]) == (status, True), answer


def test_a_body_in_pieces_is_bounded_too(server):
    # Without a Content-Length: the limit is enforced while it is read.
    pieces = (b'{"text": "' if i == 0 else b"a" * 9999 for i in range(9))
    status, answer = server.ask("/predict", body=pieces)
    assert status == 413


def test_a_page_of_another_name_does_not_reach_it(server):
    connection = http.client.HTTPConnection(server.host, server.port)
    connection.request("GET", "/health", headers={"Host": "evil.example"})
    assert connection.getresponse().status == 400
    connection.close()


def test_every_option_has_its_effect(server, preset):
    options = ["--host", "127.0.0.2", "--max-batch-tokens", "1"]
    options += ["--max-queue", "20", "--max-request-bytes", "2000"]
    other = started(preset, *options)
    try:
        some = {"inputs": [{"text": "a fox"}] * 20}
        many = {"inputs": [{"text": "a fox"}] * 40}
        long = {"text": "a" * 2000}
        for content, statuses in (
            (some, (200, 200)),
            (many, (200, 429)),
            (long, (200, 413)),
        ):
            found = [one.ask("/predict", content) for one in (server, other)]
            assert tuple(status for status, _ in found) == statuses
        assert server.ask("/health")[1]["largest_batch"] > 1
        health = other.ask("/health")[1]
        assert health["largest_batch"] == 1
        assert len(health["workers"]) == 1
        assert other.host == "127.0.0.2"
        with pytest.raises(ConnectionRefusedError):
            other.ask("/health", host="127.0.0.1")
        # Asked to end, it ends, and its worker with it.
        other.process.send_signal(signal.SIGINT)
        assert other.process.wait(30) == 130
        with pytest.raises(ProcessLookupError):
            os.kill(health["workers"][0]["pid"], 0)
    finally:
        other.process.kill()
        other.process.communicate()


def test_a_taken_port_and_other_bad_arguments_end_with_one_line(
    server, preset, tmp_path, capfd
):
    port = server.port
    for words, parts in (
        ([preset, "--port", port], ["--port", str(port), "in use"]),
        ([preset, "--port", "99999"], ["`--port`", "to 65535"]),
        ([preset, "--host", "no.such.host.invalid"], ["`--host`"]),
        # An address of documents (RFC 5737), which no machine has.
        ([preset, "--host", "192.0.2.1"], ["`--host`", "of this machine"]),
    ):
        assert main(["serve", *map(str, words)]) == 2
        error = capfd.readouterr().err.splitlines()[-1]
        assert error.startswith("keras-bert serve: error: ")
        for part in parts:
            assert part in error
        assert ("port" in error) is ("--port" in words)
    # In a process of its own, since the browser's tests leave a loop running.
    words = ["serve", str(tmp_path / "nothing"), "--port", "0"]
    found = subprocess.run(
        [sys.executable, "-m", "keras_bert.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 2
    error = found.stderr.splitlines()[-1]
    assert error.startswith("keras-bert serve: error: ")
    assert "`source`" in error and "nothing" in error


def test_a_source_without_a_head_or_model_is_refused(
    models, tmp_path, monkeypatch
):
    from keras_bert.serving import answers

    models["classifier"].backbone.save_to_preset(tmp_path / "backbone")
    with pytest.raises(ValueError, match="`source`.*task's head"):
        answers.load_served(tmp_path / "backbone")
    models["pretrainer"].save_to_preset(tmp_path / "pretrainer")
    served = answers.load_served(tmp_path / "pretrainer")
    assert answers.describe(served)["kind"] == "masked"
