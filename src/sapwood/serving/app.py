"""Endpoints of the server, as an ASGI application."""

from __future__ import annotations

import json
import time
from typing import Any

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sapwood.serving.predictor import BodyError, Predictor
from sapwood.serving.schema import row_schema
from sapwood.version import __version__

MAX_BODY = 10 * 2**20  # bytes
FEW_ROWS = 64  # are predicted at once; more are predicted in a thread, while other requests are answered
DRAINED, DRAIN_SECONDS = 2**28, 10.0  # bytes and seconds that the rest of a refused body may take
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)


def make_app(estimator: Any, *, max_body: int = MAX_BODY) -> Starlette:
    """Return the ASGI application that serves an estimator.

    GET /        what is served
    GET /schema  JSON schema of a row
    GET /health  200 as soon as predictions can be made
    GET /metrics counts and latencies in the format of Prometheus
    POST /predict  an object (one row) or an array of objects (rows) -> predictions
    """
    about = {"server": "sapwood", "version": __version__, "estimator": type(estimator).__name__, "columns": estimator.n_features_in_}
    about |= {"endpoints": ["/predict", "/schema", "/health", "/metrics"]}
    schema, meter = row_schema(estimator), Meter()

    async def index(request: Request) -> Response:
        return JSONResponse(about)

    async def describe(request: Request) -> Response:
        return JSONResponse(schema)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(meter.registry), media_type=CONTENT_TYPE_LATEST)

    routes = [Route("/", index), Route("/schema", describe), Route("/health", health), Route("/metrics", metrics)]
    return Starlette(routes=[*routes, Route("/predict", PredictEndpoint(Predictor(estimator), meter, max_body), methods=["POST"])])


class Meter:
    """Counts of requests and rows, and latencies."""

    registry: CollectorRegistry
    rows: Counter
    seconds: Histogram

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        requests = Counter("sapwood_requests", "Requests to /predict by status.", ["status"], registry=self.registry)
        self._statuses = {status: requests.labels(str(status)) for status in (200, 400, 413, 500)}
        self.rows = Counter("sapwood_rows", "Predicted rows.", registry=self.registry)
        self.seconds = Histogram(
            "sapwood_predict_seconds", "Seconds from a complete body to its answer.", buckets=BUCKETS, registry=self.registry
        )

    def count(self, status: int) -> None:
        self._statuses[status].inc()


class PredictEndpoint:
    """POST /predict."""

    predictor: Predictor
    meter: Meter
    max_body: int

    def __init__(self, predictor: Predictor, meter: Meter, max_body: int) -> None:
        self.predictor, self.meter, self.max_body = predictor, meter, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self.max_body:
            await self._refuse(request, receive, send)
            return
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > self.max_body:
                    await self._refuse(request, receive, send)
                    return
        except ClientDisconnect:
            return
        began = time.perf_counter()
        status, answer = await self._answer(bytes(body))
        self.meter.seconds.observe(time.perf_counter() - began)
        self.meter.count(status)
        await _send(send, status, answer)

    async def _answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            if len(body) > 1 << 16:
                rows = await anyio.to_thread.run_sync(self.predictor.read, body)
            else:
                rows = self.predictor.read(body)
            n_rows = 1 if isinstance(rows, dict) else len(rows)
            predict = self.predictor.predict
            answer = predict(rows) if n_rows <= FEW_ROWS else await anyio.to_thread.run_sync(predict, rows)
        except BodyError as error:
            return 400, {"error": str(error)}
        except Exception as error:  # a fault of the server: the next request shall be answered
            return 500, {"error": f"{type(error).__name__}: {error}"}
        self.meter.rows.inc(n_rows)
        return 200, answer

    async def _refuse(self, request: Request, receive: Receive, send: Send) -> None:
        """Answer 413 at once, then read and drop the rest: a client that still sends would not see the answer of a closed connection."""
        self.meter.count(413)
        text = json.dumps({"error": f"the body has more than {self.max_body:,} bytes"}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": text, "more_body": True})
        if "expect" not in request.headers:  # "Expect: 100-continue": the client waits for the answer
            with anyio.move_on_after(DRAIN_SECONDS):
                drained, more = 0, True
                while more and drained < DRAINED:
                    message = await receive()
                    drained += len(message.get("body", b""))
                    more = message["type"] == "http.request" and message.get("more_body", False)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, status: int, answer: dict[str, Any]) -> None:
    text = json.dumps(answer, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
