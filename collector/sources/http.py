"""`POST /data`: log lines over HTTP, in the shape of Vector's `http` sink; answered when their rows are durable."""

from __future__ import annotations

import asyncio
import hmac
import logging
import uuid
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson
from fastapi import FastAPI, HTTPException, Request

from collector.parsing.entries import BOM
from collector.pipeline import Collector
from collector.position import HTTP, Partition, Piece
from collector.settings import HttpSettings

logger = logging.getLogger(__name__)

_RETRY_SECONDS = "5"


@dataclass
class Committer:
    """Puts the lines of all waiting requests into one commit, so that many requests cost few commits."""

    collector: Collector
    # The offset of a line is its number in this run; a run that has ended is never read on.
    _partition: Partition = field(default_factory=lambda: Partition(HTTP, "/data", uuid.uuid4().hex))
    _offset: int = 0
    _waiting: list[tuple[list[bytes], asyncio.Future[None]]] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def store(self, lines: list[bytes]) -> None:
        """Return when the lines are durable; raises what kept them from it."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((lines, done))
        self._arrived.set()
        await done

    async def run(self) -> None:
        """Commit what is waiting, again and again, until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            deliveries, self._waiting = self._waiting, []
            error = await asyncio.to_thread(self._commit, [line for lines, _ in deliveries for line in lines])
            for _, done in deliveries:
                if done.done():
                    continue
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

    def _commit(self, lines: list[bytes]) -> Exception | None:
        try:
            begin, self._offset = self._offset, self._offset + len(lines)
            self.collector.commit(Piece(self._partition, line, n) for n, line in enumerate(lines, begin + 1))
        except Exception as error:
            # The sender keeps its lines and sends them again; those that were stored meanwhile are then duplicates.
            logger.exception("lines that came over HTTP could not be stored; senders are told to try again")
            return error
        return None


def create_app(collector: Collector, settings: HttpSettings) -> FastAPI:
    """Make the endpoint's application."""
    committer = Committer(collector)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(committer.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    app = FastAPI(title="dialwatch collector", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)

    @app.post("/data")
    async def data(request: Request) -> dict[str, str]:
        _authorize(request, settings)
        lines = _split(await _body(request, settings.max_body_bytes))
        try:
            await committer.store(lines)
        except Exception as error:
            detail = f"the lake does not take rows now: {type(error).__name__}; send the same lines again"
            raise HTTPException(503, detail, headers={"Retry-After": _RETRY_SECONDS}) from error
        return {"status": "stored"}

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return app


def _authorize(request: Request, settings: HttpSettings) -> None:
    if settings.token is None:
        return
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(
        token.encode(), settings.token.get_secret_value().encode()
    ):
        raise HTTPException(401, "send the collector's token: `Authorization: Bearer <token>`")


async def _body(request: Request, limit: int) -> bytes:
    """Read the body, unpacked; stops at the limit, so that a small body cannot fill the memory."""
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise HTTPException(415, f"Content-Encoding {encoding!r} is not known: send gzip, or none")
    unpack = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    body = bytearray()
    async for chunk in request.stream():
        if unpack is None:
            body += chunk
        else:
            try:
                body += unpack.decompress(chunk, limit + 1 - len(body))
            except zlib.error as error:
                raise HTTPException(400, f"the body is no gzip: {error}") from error
        if len(body) > limit:
            raise HTTPException(413, f"the body is larger than {limit} bytes; send smaller batches")
    if unpack is not None and (not unpack.eof or unpack.unused_data):
        raise HTTPException(400, "the gzip body is not one whole gzip stream; send it again")
    return bytes(body)


def _split(body: bytes) -> list[bytes]:
    """Cut a body that holds a JSON value a line into its lines; a body that is one value stays whole.

    A line that is no JSON is one all the same, to be rejected with its bytes, as long as another one could be JSON.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        lines = [line for line in body.removeprefix(BOM).split(b"\n") if line.strip()]
        if not any(line.lstrip().startswith((b"[", b"{")) for line in lines):
            shown = body[:40].decode(errors="replace")
            message = f"the body must be JSON, an array of log lines or a line each; it begins {shown!r}"
            raise HTTPException(400, message) from None
        return lines
    return [body] if value != [] else []
