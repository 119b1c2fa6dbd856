"""`POST /data` and `POST /signals`: lines and signals over HTTP, answered when their rows are durable."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.requests import ClientDisconnect

from collector.pipeline import Collector
from collector.settings import HttpSettings
from collector.sources.bodies import read_body, split_lines
from collector.sources.deliveries import Deliveries, Held, Item, OverloadedError
from collector.sources.signals import read_signals

logger = logging.getLogger(__name__)

_RETRY_SECONDS = "5"


def create_app(
    collector: Collector, settings: HttpSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> FastAPI:
    """Make the endpoint's application.

    `POST /data` takes log lines in the shape of Vector's `http` sink: an array of envelopes `{"message": "<line>"}`,
    one envelope, or a line each. `POST /signals` takes signals, as an array or one a line: see `SignalItem`. Both take
    `Content-Encoding: gzip`. The answers:

    200: all rows are durable. What could not be read is in the lake's rejected rows, with the reason; `/signals` counts
    both in its answer. 400: nothing in the body can be read. 401: the token is wrong. 413: the body is too large.
    503, with `Retry-After`: the lake is slow or away; send the same again, what is stored already is not stored twice.
    """
    deliveries = Deliveries(
        collector,
        max_bytes=settings.max_waiting_bytes,
        commit_seconds=settings.commit_seconds,
        answer_seconds=settings.answer_seconds,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(deliveries.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    app = FastAPI(title="dialwatch collector", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, __: Exception) -> Response:
        return Response(status_code=400)  # Nobody reads it.

    @app.post("/data")
    async def data(request: Request) -> dict[str, str]:
        def read(body: bytes) -> list[Item]:
            return [Item(line) for line in split_lines(body)]

        await _take(request, settings, deliveries, read)
        return {"status": "stored"}

    @app.post("/signals")
    async def signals(request: Request) -> dict[str, object]:
        def read(body: bytes) -> list[Item]:
            try:
                return read_signals(body, clock())
            except ValueError as error:
                raise HTTPException(400, str(error)) from None

        items = await _take(request, settings, deliveries, read)
        problems = [(number, item.problem[1]) for number, item in enumerate(items) if item.problem]
        return {
            "status": "stored",
            "accepted": len(items) - len(problems),
            "rejected": len(problems),
            "errors": [{"index": number, "reason": reason} for number, reason in problems[:20]],
        }

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return app


async def _take(
    request: Request, settings: HttpSettings, deliveries: Deliveries, read: Callable[[bytes], list[Item]]
) -> list[Item]:
    _authorize(request, settings)
    with deliveries.hold() as held:
        try:
            body = await _body(request, settings, deliveries, held)
            # In a thread: 64 MiB of JSON would keep all other requests waiting.
            items = await asyncio.to_thread(read, body)
            del body
            await deliveries.store(request.url.path, items, held)
        except (HTTPException, ClientDisconnect):
            raise
        except Exception as error:
            # Of other errors only the kind: their texts name paths and hosts.
            told = error if isinstance(error, OverloadedError) else type(error).__name__
            detail = f"the lake does not take rows now ({told}); send the same again"
            raise HTTPException(503, detail, headers={"Retry-After": _RETRY_SECONDS}) from error
    return items


async def _body(request: Request, settings: HttpSettings, deliveries: Deliveries, held: Held) -> bytes:
    body = bytearray()
    async for piece in read_body(request, settings.max_body_bytes):
        deliveries.grow(held, len(piece))
        body += piece
    return bytes(body)


def _authorize(request: Request, settings: HttpSettings) -> None:
    if settings.token is None:
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(
        token.encode(), settings.token.get_secret_value().encode()
    ):
        detail = "send the collector's token: `Authorization: Bearer <token>`"
        raise HTTPException(401, detail, headers={"WWW-Authenticate": "Bearer"})
