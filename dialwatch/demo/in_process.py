"""A client of an ASGI application that is served in this process, without a socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx
from starlette.types import ASGIApp


class InProcessClient:
    """Sends requests to the application, which runs in a thread of its own. Use it as a context."""

    def __init__(self, app: ASGIApp) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="in-process application", daemon=True)
        transport = httpx.ASGITransport(app=app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://in-process", headers={"api-key": "demo"})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def post(self, path: str, body: Mapping[str, Any]) -> str:
        """Send a body as JSON and give the whole answer; raises httpx.HTTPStatusError where it is refused."""
        response = asyncio.run_coroutine_threadsafe(self._client.post(path, json=body), self._loop).result()
        response.raise_for_status()
        return response.text
