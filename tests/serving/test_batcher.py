"""Batches under a budget of tokens, and workers that die."""

import asyncio
import multiprocessing

import pytest

from keras_bert.serving import Batcher
from keras_bert.serving import Worker
from keras_bert.serving.batcher import QueueFull
from keras_bert.serving.batcher import RequestFailed
from keras_bert.serving.worker import WorkerDied


class Echo:
    """A worker that answers with the request; "kill" kills it."""

    def __init__(self):
        self.alive, self.starts, self.batches = True, 0, []
        self.gate = None

    async def start(self):
        self.alive = True
        self.starts += 1

    async def run(self, requests):
        self.batches.append(list(requests))
        if self.gate is not None:
            await self.gate.wait()
        if "kill" in requests:
            self.alive = False
            raise WorkerDied
        return [("ok", f"answer to {request}") for request in requests]


def served(function, **arguments):
    """Runs `await function(batcher, worker)` with one worker."""

    async def run():
        worker = Echo()
        batcher = Batcher([worker], **arguments)
        batcher.start()
        try:
            async with asyncio.timeout(20):
                return await function(batcher, worker)
        finally:
            await batcher.stop()

    return asyncio.run(run())


def test_rows_times_the_longest_stays_within_the_budget():
    async def run(batcher, worker):
        lengths = [10, 10, 30, 10, 10, 500, 10, 10]
        requests = [(f"{i}", length) for i, length in enumerate(lengths)]
        answers = await batcher.ask(requests)
        assert answers == [("ok", f"answer to {i}") for i in range(8)]
        return worker.batches

    # By hand: 3 x 30 fit into 100, a fourth does not; 500 goes alone.
    assert served(run, max_batch_tokens=100) == [
        ["0", "1", "2"],
        ["3", "4"],
        ["5"],
        ["6", "7"],
    ]


def test_everyone_gets_their_own_answer():
    async def run(batcher, worker):
        answers = await asyncio.gather(
            *(batcher.ask([(f"{i}", 1 + i % 7)]) for i in range(200))
        )
        assert answers == [[("ok", f"answer to {i}")] for i in range(200)]
        assert batcher.answered == 200
        assert 1 < batcher.largest <= 64
        assert batcher.batches == len(worker.batches) < 100

    served(run)


def test_a_full_queue_refuses_and_takes_none_of_them():
    async def run(batcher, worker):
        worker.gate = asyncio.Event()
        first = asyncio.create_task(batcher.ask([("first", 1)]))
        while not worker.batches:
            await asyncio.sleep(0.001)
        second = asyncio.create_task(batcher.ask([("a", 1), ("b", 1)]))
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await batcher.ask([("c", 1), ("d", 1)])
        assert batcher.queued == 2
        worker.gate.set()
        assert len(await first) == 1
        assert len(await second) == 2

    served(run, max_queue=3)


def test_a_dead_worker_is_replaced_and_nothing_is_lost():
    async def run(batcher, worker):
        worker.alive = False
        assert await batcher.ask([("a", 1)]) == [("ok", "answer to a")]
        assert worker.starts == 1

    served(run)


def test_what_kills_workers_is_given_up_and_its_neighbours_are_not():
    async def run(batcher, worker):
        words = ["a", "kill", "b"]
        results = await asyncio.gather(
            *(batcher.ask([(word, 1)]) for word in words),
            return_exceptions=True,
        )
        assert results[0] == [("ok", "answer to a")]
        assert isinstance(results[1], RequestFailed)
        assert results[2] == [("ok", "answer to b")]
        # Together once, then one by one.
        assert worker.batches == [words, ["a"], ["kill"], ["b"]]
        assert worker.starts == 2

    served(run)


def test_an_idle_worker_that_died_is_replaced():
    async def run(batcher, worker):
        await asyncio.sleep(0)
        worker.alive = False
        while not worker.starts:
            await asyncio.sleep(0.01)

    served(run)


def test_who_has_gone_is_not_asked_for():
    async def run(batcher, worker):
        worker.gate = asyncio.Event()
        first = asyncio.create_task(batcher.ask([("first", 1)]))
        while not worker.batches:
            await asyncio.sleep(0.001)
        gone = asyncio.create_task(batcher.ask([("gone", 1)]))
        await asyncio.sleep(0)
        gone.cancel()
        last = asyncio.create_task(batcher.ask([("last", 1)]))
        worker.gate.set()
        await first
        await last
        assert worker.batches == [["first"], ["last"]]

    served(run)


def test_a_worker_whose_line_broke_counts_as_dead_at_once():
    """The kernel closes the pipe of a killed process before it is gone."""

    class Dying:
        gone = False

        def is_alive(self):
            return not self.gone

        def kill(self):
            pass

        def join(self):
            self.gone = True

    async def run():
        worker = Worker("nowhere")
        worker._process = Dying()
        worker._connection, theirs = multiprocessing.Pipe()
        theirs.close()
        assert worker.alive
        with pytest.raises(WorkerDied):
            await worker.run(["a"])
        assert not worker.alive

    asyncio.run(run())
