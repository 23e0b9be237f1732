"""`keras-bert serve`: a model behind a small local HTTP server."""

import asyncio
import errno
import socket

from keras_bert._errors import invalid
from keras_bert.cli import _common

HELP = "serve a model over HTTP, with a page to try it"
EXAMPLE = (
    "keras-bert serve run --port 8000\n"
    "         curl -H 'Content-Type: application/json' "
    '-d \'{"text": "a fine film"}\' http://127.0.0.1:8000/predict'
)


def add_arguments(parser):
    parser.add_argument("source", help="run, preset or checkpoint of a task")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at; the default is this machine alone",
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="0 takes any free port"
    )
    parser.add_argument(
        "--workers",
        type=_common.positive_int,
        default=1,
        help="processes that hold the model",
    )
    parser.add_argument(
        "--max-batch-tokens",
        type=_common.positive_int,
        default=4096,
        help="rows times the longest row of a batch",
    )
    parser.add_argument(
        "--max-queue",
        type=_common.positive_int,
        default=256,
        help="requests that may wait; more are answered with 429",
    )
    parser.add_argument(
        "--max-request-bytes",
        type=_common.positive_int,
        default=65536,
        help="larger bodies are answered with 413",
    )


def run(args):
    try:
        import uvicorn
    except ImportError as error:
        raise ImportError(
            "Serving needs the extra `serve`: pip install 'keras3-bert[serve]'"
        ) from error
    # First of all: a model takes seconds to load, a taken port is known now.
    listener = _listen(args.host, args.port)
    return asyncio.run(_serve(args, listener, uvicorn))


async def _serve(args, listener, uvicorn):
    from keras_bert.serving import Batcher
    from keras_bert.serving import Worker
    from keras_bert.serving import make_app

    host, port = listener.getsockname()[:2]
    workers = [Worker(args.source) for _ in range(args.workers)]
    batcher = Batcher(workers, args.max_batch_tokens, args.max_queue)
    try:
        await asyncio.gather(*(worker.start() for worker in workers))
        # Who listens at every address is called by names unknown here.
        everywhere = host in ("0.0.0.0", "::")
        shown = f"[{host}]" if ":" in host else host
        names = ["*"] if everywhere else [args.host, shown]
        app = make_app(batcher, names, args.max_request_bytes)
        name = workers[0].description["model"]
        url = f"http://{shown}:{port}"
        print(f"serving {name} at {url} (Ctrl-C stops)", flush=True)
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=10
        )
        await uvicorn.Server(config).serve(sockets=[listener])
    finally:
        for worker in workers:
            worker.stop()
    return {"url": url, "answered": batcher.answered}


def _listen(host, port):
    if not 0 <= port < 2**16:
        raise invalid("--port", "a number from 0 to 65535", port)
    here = "a name or an address of this machine"
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError):
        raise invalid("--host", here, host) from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise invalid("--host", here, host) from None
        reason = error.strerror or error
        raise invalid(
            "--port", f"a free port of {host} ({reason})", port
        ) from None
    return listener
