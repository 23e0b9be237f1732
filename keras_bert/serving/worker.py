"""A process that holds the model; it answers one batch after the other.

    server  --[requests]-->  worker
            <--[answers]---

The server itself never loads the model: when a worker dies (killed, out of
memory) the server lives on, starts another and asks again.
"""

import asyncio
import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor

# A batch takes milliseconds to seconds; a worker that hangs is replaced.
TIMEOUT = 120


def work(connection, source):
    """The body of the process: loads the model and answers until closed."""
    # Ctrl-C reaches the whole group; the server decides when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        from keras_bert.serving import answers

        model = answers.load_served(source)
        connection.send(("ready", answers.describe(model)))
    except Exception as error:
        bad_source = isinstance(error, ValueError | FileNotFoundError)
        name = "" if bad_source else f"{type(error).__name__}: "
        connection.send(("failed", f"{name}{error}"))
        return
    while True:
        try:
            requests = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answers.answer(model, requests))


class WorkerDied(Exception):
    """The process ended before it had answered."""


class Worker:
    """Starts, asks and restarts one process of `work`.

    Args:
        source: run, preset or checkpoint, as `keras_bert.load` reads it.
    """

    def __init__(self, source):
        self.source = str(source)
        self.restarts = -1
        self.description = None
        self._thread = ThreadPoolExecutor(1)
        self._process = None
        self._connection = None

    @property
    def alive(self):
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self):
        return self._process.pid if self._process else None

    async def start(self):
        """Starts the process, or another one; waits until it is ready.

        Raises:
            ValueError: the model cannot be loaded.
            WorkerDied: the process ended while it loaded the model.
        """
        await self._in_thread(self._start)

    async def run(self, requests):
        """Answers, as `answers.answer` gives them.

        Raises:
            WorkerDied: the process ended; `start` starts another.
        """
        return await self._in_thread(self._exchange, requests)

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()

    async def _in_thread(self, function, *arguments):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, *arguments)

    def _start(self):
        self.stop()
        # A copy of this process would share its sockets and threads.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        process = context.Process(
            target=work, args=(theirs, self.source), daemon=True
        )
        process.start()
        self._process = process
        theirs.close()
        self.restarts += 1
        word, content = self._receive(timeout=None)
        if word == "failed":
            raise ValueError(content)
        self.description = content

    def _exchange(self, requests):
        try:
            self._connection.send(requests)
        except OSError as error:
            self._bury()
            raise WorkerDied from error
        return self._receive(TIMEOUT)

    def _receive(self, timeout):
        try:
            if not self._connection.poll(timeout):
                self._bury()
                raise WorkerDied
            return self._connection.recv()
        except (EOFError, OSError) as error:
            self._bury()
            raise WorkerDied from error

    def _bury(self):
        # The line of a dying process breaks before the process counts as
        # dead: until then it would be given the next batch as well.
        self._process.kill()
        self._process.join()
