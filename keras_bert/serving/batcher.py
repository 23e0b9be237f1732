"""Requests that wait, put together to batches under a budget of tokens.

A batch is padded to its longest row, so it costs rows x longest: requests are
taken in the order in which they came for as long as that product stays within
the budget. Many short texts go together, long ones go alone.
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from keras_bert.serving.worker import WorkerDied

# Seconds that the first request of a batch waits for others.
WAIT = 0.005
# Rows of a batch, however short they are.
LARGEST = 64
# Seconds after which an idle worker is looked after.
LOOK = 0.5
# A request that brought down so many workers is given up.
TRIES = 2


class QueueFull(Exception):
    """As many requests wait as may."""


class RequestFailed(Exception):
    """No worker survived the request."""


@dataclass
class _Waiting:
    request: dict
    tokens: int
    answer: asyncio.Future
    deaths: int = 0


class Batcher:
    """Gives waiting requests to workers and their answers back.

    Args:
        workers: list of started `Worker`s.
        max_batch_tokens: int. Rows times the longest row of a batch; a longer
            request goes alone.
        max_queue: int. How many requests may wait.
    """

    def __init__(self, workers, max_batch_tokens=4096, max_queue=256):
        self.workers = workers
        self.max_batch_tokens = max_batch_tokens
        self.max_queue = max_queue
        self.batches = 0
        self.answered = 0
        self.largest = 0
        self._waiting = deque()
        self._news = asyncio.Condition()
        self._tasks = []

    @property
    def queued(self):
        return len(self._waiting)

    def start(self):
        """Starts serving; to be called inside the event loop."""
        self._tasks = [
            asyncio.create_task(self._serve(worker)) for worker in self.workers
        ]

    async def stop(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ask(self, requests):
        """The answers of some requests, each a dict and its tokens.

        Raises:
            QueueFull: so many do not fit into the queue; none was taken.
            RequestFailed: no worker survived one of them.
        """
        if len(self._waiting) + len(requests) > self.max_queue:
            raise QueueFull
        loop = asyncio.get_running_loop()
        waiting = [
            _Waiting(request, tokens, loop.create_future())
            for request, tokens in requests
        ]
        self._waiting.extend(waiting)
        async with self._news:
            self._news.notify(len(waiting))
        try:
            return await asyncio.gather(*(one.answer for one in waiting))
        finally:
            # A client that has gone, or a sibling that has failed.
            for one in waiting:
                one.answer.cancel()

    async def _serve(self, worker):
        while True:
            if not worker.alive:
                await self._restart(worker)
            if not self._waiting:
                await self._wait()
                continue
            if len(self._waiting) < LARGEST:
                await asyncio.sleep(WAIT)
            batch = self._take()
            if not batch:
                continue
            try:
                answers = await worker.run([one.request for one in batch])
            except WorkerDied:
                self._put_back(batch)
                continue
            self.batches += 1
            self.answered += len(batch)
            self.largest = max(self.largest, len(batch))
            for one, answer in zip(batch, answers, strict=True):
                if not one.answer.done():
                    one.answer.set_result(answer)

    async def _restart(self, worker):
        try:
            await worker.start()
        except (WorkerDied, ValueError, OSError):
            # Not at once again: the machine may be short of memory.
            await asyncio.sleep(LOOK)

    async def _wait(self):
        try:
            async with asyncio.timeout(LOOK), self._news:
                await self._news.wait_for(lambda: self._waiting)
        except TimeoutError:
            pass

    def _take(self):
        batch, longest = [], 0
        while self._waiting and len(batch) < LARGEST:
            one = self._waiting[0]
            if one.answer.done():
                self._waiting.popleft()
                continue
            longest = max(longest, one.tokens)
            fits = (len(batch) + 1) * longest <= self.max_batch_tokens
            # What was in a batch that killed a worker goes alone.
            alone = one.deaths or (batch and batch[0].deaths)
            if batch and (alone or not fits):
                break
            batch.append(self._waiting.popleft())
        return batch

    def _put_back(self, batch):
        for one in reversed(batch):
            one.deaths += 1
            if one.deaths < TRIES or one.answer.done():
                self._waiting.appendleft(one)
            else:
                one.answer.set_exception(RequestFailed())
