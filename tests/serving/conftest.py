"""Tiny models of all tasks, servers round them, and a browser."""

import asyncio
import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from keras_bert.serving import Batcher
from keras_bert.serving import answers
from keras_bert.serving import make_app

# For `every_task`, which builds the models.
sys.path.insert(0, str(Path(__file__).parents[1] / "export"))
# For the modules that stand beside this file.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """{name: model}: one of each task."""
    from every_task import VOCABULARY
    from every_task import build

    vocabulary = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary.write_text("\n".join(VOCABULARY) + "\n")
    return build(vocabulary)


class WorkerHere:
    """What `Worker` is, without the process."""

    alive, restarts, pid = True, 0, os.getpid()

    def __init__(self, model):
        self.model = model
        self.description = answers.describe(model)

    async def run(self, requests):
        return await asyncio.to_thread(answers.answer, self.model, requests)


@pytest.fixture
def serve_here():
    """`serve_here(model)`: the address of a server in a thread."""
    import uvicorn

    running = []

    def serve(model, **arguments):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        app = make_app(Batcher([WorkerHere(model)]), **arguments)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        thread.start()
        running.append((server, thread))
        deadline = time.monotonic() + 30
        while not server.started:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    for server, thread in running:
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    # None: the one that `make` had Playwright fetch.
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()
