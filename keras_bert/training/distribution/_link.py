"""The line between the processes of a run.

The runtimes of JAX and TensorFlow find each other by themselves, but a wrong
address, a missing process or a killed one shows there as a wait of minutes, an
abort from C++ or nothing at all. So the processes first meet here, over plain
sockets at the coordinator's address, and keep the connections: each process
hears at once when another one has gone.

    every process                        process 0
      connects to the address  ------->  listens there until all have come
      {"process": 1}           ------->
      {"text": mine}           ------->  collects the texts of all
                               <-------  {"texts": [...]}
      ... the run; a line "out" comes before a wanted end ...
                               <-------  {"lost": "process 2 ..."}

Process 0 stops listening when all are there, and the port is the runtime's.
"""

import contextlib
import errno
import hashlib
import json
import os
import queue
import random
import signal
import socket
import sys
import threading
import time

import numpy as np

from keras_bert._errors import invalid

# Seconds from the loss of a process to the end of the others at the latest.
# The runtime gets some of them to end the step by itself.
GRACE = 20.0
_LINKS = {}


def random_state_digest():
    """A short text that tells states of Python's and numpy's generators."""
    arrays = np.random.get_state(legacy=False)["state"]
    text = repr((random.getstate(), arrays["pos"])).encode()
    return hashlib.sha256(text + arrays["key"].tobytes()).hexdigest()[:12]


class Link:
    """Connections to the other processes; see `between`."""

    @classmethod
    def between(cls, address, process, processes, timeout):
        """The link of this process, one for the life of the process.

        Raises:
            ValueError: a bad address, or a port that is in use.
            TimeoutError: not all processes came in time.
        """
        key = (address, process, processes)
        if key not in _LINKS:
            _LINKS[key] = cls(*key, timeout)
        return _LINKS[key]

    def __init__(self, address, process, processes, timeout):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise invalid("address", "host:port", address)
        if not 0 <= process < processes:
            raise invalid("process", f"from 0 to {processes - 1}", process)
        self.address, self.timeout = address, timeout
        self.process, self.processes = process, processes
        self.lost = None
        self._inside = False
        self._texts = queue.Queue()
        self._lock = threading.Lock()
        self._gone = set()
        deadline = time.monotonic() + timeout
        if process == 0:
            self._peers = self._wait_for_all(host, int(port), deadline)
        else:
            self._peers = {0: self._connect(host, int(port), deadline)}
        for number, peer in self._peers.items():
            threading.Thread(
                target=self._listen, args=(number, peer), daemon=True
            ).start()

    # Meeting.

    def _wait_for_all(self, host, port, deadline):
        peers = {}
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind((host, port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    # The name of this machine as others see it.
                    server.bind(("", port))
                else:
                    raise invalid(
                        "address",
                        f"a free port for process 0 ({error.strerror})",
                        self.address,
                    ) from error
            server.listen(self.processes)
            while len(peers) < self.processes - 1:
                server.settimeout(max(0.01, deadline - time.monotonic()))
                try:
                    peer = _lasting(server.accept()[0])
                except TimeoutError as error:
                    missing = set(range(1, self.processes)) - set(peers)
                    raise TimeoutError(
                        f"Within {self.timeout:g} seconds process(es) "
                        f"{sorted(missing)} of {self.processes} did not come "
                        f"to {self.address}"
                    ) from error
                try:
                    # Ours speak at once.
                    soon = min(deadline, time.monotonic() + 5)
                    hello = json.loads(_line(peer, soon))
                    peers[int(hello["process"])] = peer
                except (ValueError, KeyError, TypeError, OSError):
                    # Not one of ours: a port scan, a health check.
                    continue
        return peers

    def _connect(self, host, port, deadline):
        problem = "no answer"
        while time.monotonic() < deadline:
            try:
                peer = socket.create_connection((host, port), timeout=2)
                peer = _lasting(peer)
                _send(peer, {"process": self.process})
                return peer
            except OSError as error:
                problem = error.strerror or str(error)
                time.sleep(0.1)
        raise TimeoutError(
            f"Within {self.timeout:g} seconds process {self.process} of "
            f"{self.processes} could not reach the coordinator, process 0, at "
            f"{self.address} ({problem})"
        )

    # Talking.

    def exchange(self, text):
        """Gives a text to all processes, and gets those of all, in order."""
        if self.process:
            self._send_to(0, {"text": text})
            return self._next_texts()
        texts = {0: text}
        while len(texts) < self.processes:
            number, other = self._next_texts()
            texts[number] = other
        texts = [texts[number] for number in range(self.processes)]
        for number in self._peers:
            self._send_to(number, {"texts": texts})
        return texts

    def _next_texts(self):
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            if self.lost:
                raise RuntimeError(self.lost)
            with contextlib.suppress(queue.Empty):
                return self._texts.get(timeout=0.2)
        raise TimeoutError(
            f"Process {self.process} waited {self.timeout:g} seconds for the "
            f"others, which meet at {self.address}"
        )

    def compare(self, facts):
        """Raises a ValueError if the facts differ between the processes."""
        refuse_differences(
            list(map(json.loads, self.exchange(json.dumps(facts))))
        )

    def _send_to(self, number, message):
        with self._lock, contextlib.suppress(OSError):
            _send(self._peers[number], message)

    def _listen(self, number, peer):
        reason = None
        with contextlib.suppress(OSError, ValueError):
            while True:
                line = _line(peer, None)
                if not line:
                    break
                message = json.loads(line)
                if "text" in message:
                    self._texts.put((number, message["text"]))
                elif "texts" in message:
                    self._texts.put(message["texts"])
                elif "lost" in message:
                    self._lose(message["lost"])
                elif "in" in message:
                    self._gone.discard(number)
                elif "out" in message:
                    self._gone.add(number)
                elif "failed" in message:
                    reason = message["failed"]
                    break
        if number in self._gone and not reason:
            return
        what = f"stopped: {reason}" if reason else "was killed or cut off"
        self._lose(
            f"Process {number} of {self.processes} {what}. No process can go "
            "on alone: start all of them again, and `fit` with the callback "
            "Resume goes on from the last checkpoint"
        )

    # Watching.

    @contextlib.contextmanager
    def watching(self):
        """Ends this process, with a sentence, when another one is lost."""
        self._inside = True
        self._tell({"in": True})
        try:
            self._raise_if_lost()
            yield
            self._raise_if_lost()
        except ValueError as error:
            self._tell({"failed": _short(error)})
            raise
        except BaseException as error:
            # Gloo notices a closed connection sooner than this thread can.
            _wait_until(lambda: self.lost, 2.0)
            # Before telling: process 0 answers with this very error.
            lost = self.lost
            self._tell({"failed": _short(error)})
            if lost and not isinstance(error, SystemExit):
                raise RuntimeError(lost) from error
            raise
        finally:
            self._inside = False
            self._tell({"out": True})

    def _raise_if_lost(self):
        if self.lost:
            raise RuntimeError(self.lost)

    def _tell(self, message):
        for number in self._peers:
            self._send_to(number, message)

    def _lose(self, message):
        if self.lost:
            return
        self.lost = message
        if not self.process:
            self._tell({"lost": message})
        if self._inside:
            threading.Thread(target=self._end, daemon=True).start()

    def _end(self):
        print(f"\nkeras_bert: {self.lost}", file=sys.stderr, flush=True)
        _wait_until(lambda: not self._inside, GRACE / 2)
        if self._inside:
            # For a process that is busy in Python. One that waits for the
            # lost one inside of the runtime does not hear it.
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(GRACE / 2)
        os._exit(1)


def refuse_differences(facts):
    """A ValueError naming what is not the same in all processes.

    Args:
        facts: a dict {what: value} per process.
    """
    for name in facts[0]:
        values = [fact.get(name) for fact in facts]
        if any(value != values[0] for value in values):
            shown = ", ".join(
                f"process {number}: {value}"
                for number, value in enumerate(values[:8])
            )
            raise ValueError(
                f"The processes of a run must have the same {name}. "
                f"Received: {shown}"
            )


def _short(error):
    return f"{type(error).__name__}: {error}"[:500]


def _wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)


def _lasting(peer):
    """A connection that notices within a minute that the other host died."""
    peer.settimeout(None)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 10),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
    ):
        if hasattr(socket, option):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return peer


def _send(peer, message):
    peer.sendall(json.dumps(message).encode() + b"\n")


def _line(peer, deadline):
    """The next line; empty at the end. A stranger's is cut at 64 KB."""
    if deadline is not None:
        peer.settimeout(max(0.01, deadline - time.monotonic()))
    parts = bytearray()
    while deadline is None or len(parts) < 65536:
        byte = peer.recv(1)
        if not byte or byte == b"\n":
            break
        parts += byte
    peer.settimeout(None)
    return parts.decode()
