"""The HTTP side: routes, limits, and errors as JSON.

GET  /          a page on which a person types and sees the answer
GET  /health    200 with counts while a worker is ready, else 503
POST /predict   {"text": ...} -> answer; {"inputs": [...]} -> {"outputs"}
                The header X-Truncated says of how many requests the model
                has read the beginning only, since they were too long for it.
"""

import asyncio
import contextlib
from importlib import resources

from keras_bert.serving import requests
from keras_bert.serving.batcher import QueueFull
from keras_bert.serving.batcher import RequestFailed


def make_app(batcher, hosts=(), max_request_bytes=65536):
    """The application, for uvicorn or another ASGI server.

    Args:
        batcher: `Batcher` of started workers.
        hosts: names under which the server may be addressed, besides those of
            this machine: a page of another site must not reach it by a name
            of its own.
        max_request_bytes: int. Larger bodies are refused.
    """
    try:
        from fastapi import FastAPI
        from fastapi import Request
        from fastapi import Response
        from fastapi.responses import HTMLResponse
        from fastapi.responses import JSONResponse
        from starlette.exceptions import HTTPException
        from starlette.middleware.trustedhost import TrustedHostMiddleware
    except ImportError as error:
        raise ImportError(
            "Serving needs the extra `serve`: pip install 'keras3-bert[serve]'"
        ) from error

    description = batcher.workers[0].description
    public = {key: description[key] for key in ("model", "kind", "fields")}
    public["mask"] = description["mask"]
    count = requests.TokenCounter(description)
    page = resources.files("keras_bert.serving").joinpath("page.html")
    page = page.read_text("utf-8")
    truncated = 0

    @contextlib.asynccontextmanager
    async def lifespan(app):
        batcher.start()
        yield
        await batcher.stop()

    app = FastAPI(
        title="keras_bert", lifespan=lifespan, openapi_url=None, docs_url=None
    )
    app.add_middleware(
        TrustedHostMiddleware,
        allowed_hosts=["localhost", "127.0.0.1", "[::1]", *hosts],
    )

    @app.exception_handler(HTTPException)
    async def refused(request, error):
        return failure(error.status_code, error.detail)

    @app.exception_handler(requests.BadRequest)
    async def bad(request, error):
        return failure(error.status, str(error))

    def failure(status, message, **headers):
        return JSONResponse({"error": message}, status, headers=headers)

    @app.get("/")
    async def index():
        return HTMLResponse(page)

    @app.get("/model")
    async def model():
        return public

    @app.get("/health")
    async def health():
        ready = [worker.alive for worker in batcher.workers]
        content = {
            "status": "ok" if any(ready) else "no worker is ready",
            "model": description["model"],
            "queued": batcher.queued,
            "answered": batcher.answered,
            "batches": batcher.batches,
            "largest_batch": batcher.largest,
            "truncated": truncated,
            "workers": [
                {
                    "pid": worker.pid,
                    "alive": worker.alive,
                    "restarts": worker.restarts,
                }
                for worker in batcher.workers
            ],
        }
        return JSONResponse(content, 200 if any(ready) else 503)

    async def body_of(request):
        if not request.headers.get("content-type", "").startswith(
            "application/json"
        ):
            raise requests.BadRequest("the body must be application/json", 415)
        too_large = requests.BadRequest(
            f"the body may have {max_request_bytes} bytes at most", 413
        )
        # Told before the body is read, and enforced while it is.
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > max_request_bytes:
            raise too_large
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_request_bytes:
                raise too_large
        return body

    @app.post("/predict")
    async def predict(request: Request, response: Response):
        nonlocal truncated
        given, several = requests.parse(await body_of(request), description)
        # Counting is quick, yet nobody else should wait for it.
        counts = await asyncio.to_thread(lambda: [count(one) for one in given])
        tokens, cut = zip(*counts, strict=True)
        try:
            answers = await batcher.ask(list(zip(given, tokens, strict=True)))
        except QueueFull:
            message = f"{batcher.max_queue} requests wait already"
            return failure(429, message, **{"Retry-After": "1"})
        except RequestFailed:
            return failure(500, "the model's process died on this request")
        for index, (word, content) in enumerate(answers):
            if word == "error":
                where = f"`inputs[{index}]`: " if several else ""
                raise requests.BadRequest(where + content)
        if any(cut):
            truncated += sum(cut)
            response.headers["X-Truncated"] = str(sum(cut))
        outputs = [content for _, content in answers]
        return {"outputs": outputs} if several else outputs[0]

    return app
