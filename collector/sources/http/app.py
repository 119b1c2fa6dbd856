"""`POST /data`, `/signals` and `/scores`: lines, signals and scores over HTTP, answered when their rows are durable."""

from __future__ import annotations

import asyncio
import hmac
import io
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.requests import ClientDisconnect

from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.signals.word_limit import WordLimit
from collector.sources.http.bodies import BYTES_OF_AN_ITEM, read_body, split_lines
from collector.sources.http.deliveries import DeliveredItem, Deliveries, Held, OverloadedError
from collector.sources.http.score_items import read_scores
from collector.sources.http.settings import HttpSettings
from collector.sources.http.signal_items import is_renamed, read_signals
from lake.spec.metric_names import is_own_name
from lake.spec.vocabulary import SourceKind

logger = logging.getLogger(__name__)

RECEIVE_SECONDS = 300.0
"""A body that takes longer to arrive gets 408."""
ANSWER_SECONDS = 60.0
"""A request that waited this long for the lake gets 503."""
_RETRY_SECONDS = "5"
_JSON_TYPES = frozenset({"application/json", "application/x-ndjson", "application/ndjson", "application/jsonl"})


SOURCE_NAME = SourceKind.HTTP.value
"""Name of the endpoint in `LastLines`."""


def create_app(
    collector: Collector,
    settings: HttpSettings,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    last_lines: LastLines | None = None,
    is_taken: Callable[[str], bool] = is_own_name,
) -> FastAPI:
    """Make the endpoint's application; `last_lines` is told when a line, a signal or a score came.

    No score may have a name that `is_taken`: by a metric, or a word, of the installation's own.

    `POST /data` takes log lines in the shape of Vector's `http` sink: an array of envelopes `{"message": "<line>"}`,
    one envelope, or a line each. `POST /signals` takes signals, as an array or one a line: see `SignalItem`. `POST
    /scores` takes scores in the same way: see `ScoreItem`. All take `Content-Encoding: gzip`. The answers:

    200: all rows are durable. What could not be read or was refused is in the lake's rejected rows, with the reason;
    `/signals` and `/scores` count both in their answer, and say why. 400: nothing in the body can be read. 401: the
    token is wrong. 408: the body came too slowly. 413: the body is too large, or holds too much. 415: it is no JSON,
    and there is no token. 503, with `Retry-After`: the lake is slow or away; send the same again, what is stored
    already is not stored twice.
    """
    words = WordLimit(collector.settings.signals.words)
    deliveries = Deliveries(
        collector,
        max_bytes=settings.max_waiting_bytes,
        commit_seconds=settings.commit_seconds,
        answer_seconds=ANSWER_SECONDS,
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

    def note(items: list[DeliveredItem]) -> None:
        if items and last_lines is not None:
            last_lines.note(SOURCE_NAME)

    @app.post("/data")
    async def data(request: Request) -> dict[str, str]:
        def read(body: bytes) -> list[DeliveredItem]:
            return [DeliveredItem(line) for line in split_lines(body, settings.max_body_bytes)]

        note(await _take(request, settings, deliveries, read))
        return {"status": "stored"}

    @app.post("/signals")
    async def signals(request: Request) -> dict[str, object]:
        def read(body: bytes) -> list[DeliveredItem]:
            return read_signals(body, clock(), settings.max_body_bytes, words.stored_as)

        items = await _take(request, settings, deliveries, read)
        note(items)
        renamed = sum(item.record is not None and is_renamed(item.record) for item in items)
        collector.meter.note_renamed(renamed)
        return _outcome(items) | {"stored_as_other": renamed}

    @app.post("/scores")
    async def scores(request: Request) -> dict[str, object]:
        def read(body: bytes) -> list[DeliveredItem]:
            return read_scores(body, clock(), settings.max_body_bytes, words.stored_as, is_taken)

        items = await _take(request, settings, deliveries, read)
        note(items)
        return _outcome(items)

    @app.head("/healthz")
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return app


def _outcome(items: list[DeliveredItem]) -> dict[str, object]:
    problems = [(number, ": ".join(item.problem)) for number, item in enumerate(items) if item.problem]
    return {
        "status": "stored",
        "accepted": len(items) - len(problems),
        "rejected": len(problems),
        "errors": [{"index": number, "reason": reason} for number, reason in problems[:20]],
    }


async def _take(
    request: Request, settings: HttpSettings, deliveries: Deliveries, read: Callable[[bytes], list[DeliveredItem]]
) -> list[DeliveredItem]:
    _authorize(request, settings)
    with deliveries.hold() as held:
        try:
            body = await _body(request, settings, deliveries, held)
            # In a thread: 64 MiB of JSON would keep all other requests waiting.
            items = await asyncio.to_thread(_read, read, body)
            del body
            deliveries.grow(held, BYTES_OF_AN_ITEM * len(items))
            return await deliveries.store(request.url.path, items, held)
        except (HTTPException, ClientDisconnect):
            raise
        except Exception as error:
            # Of other errors only the kind: their texts name paths and hosts.
            reason = error if isinstance(error, OverloadedError) else type(error).__name__
            detail = f"the lake does not take rows now ({reason}); send the same again"
            raise HTTPException(503, detail, headers={"Retry-After": _RETRY_SECONDS}) from error


def _read(read: Callable[[bytes], list[DeliveredItem]], body: bytes) -> list[DeliveredItem]:
    try:
        return read(body)
    except ValueError as error:
        raise HTTPException(400, str(error)) from None


async def _body(request: Request, settings: HttpSettings, deliveries: Deliveries, held: Held) -> bytes:
    body = io.BytesIO()
    async for piece in read_body(request, settings.max_body_bytes, RECEIVE_SECONDS):
        deliveries.grow(held, len(piece))
        body.write(piece)
    return body.getvalue()  # not a copy, as long as nothing more is written


def _authorize(request: Request, settings: HttpSettings) -> None:
    if settings.token is None:
        _require_json(request)
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(
        token.encode(), settings.token.get_secret_value().encode()
    ):
        detail = "send the collector's token: `Authorization: Bearer <token>`"
        raise HTTPException(401, detail, headers={"WWW-Authenticate": "Bearer"})


def _require_json(request: Request) -> None:
    """Refuse what a page of any other site may make a browser send here: all but JSON, of which browsers ask first."""
    sent = request.headers.get("content-type", "")
    kind = sent.partition(";")[0].strip().lower()
    if kind not in _JSON_TYPES:
        detail = (
            f"Content-Type is {sent[:100]!r}: without a token only application/json and application/x-ndjson are "
            "taken, as any web page can send others; send one of these, or set collector.http.token_file"
        )
        raise HTTPException(415, detail)
