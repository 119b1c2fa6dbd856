"""HTTP connections with time limits: slow ones are closed, and a client that is refused can still read why.

uvicorn has a time-out for a connection between two requests, and none for one in the middle of a request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from runtime.client_addresses import counted_address

HEAD_SECONDS = 10.0
"""Time limit for the head of a request, from the connection, or from the head's first byte."""
READING_SECONDS = 60.0
"""Time limit for a client that reads nothing of its answer."""
MOST_CONNECTIONS = 500
"""Each takes a file descriptor of the process, and the lake needs these too."""
MOST_OF_ADDRESS = 250
"""Connections of one address, which may be that of a proxy; the others always find a place."""
_DRAIN_SECONDS = 5.0


class TimeLimitedProtocol(H11Protocol):
    """HTTP/1.1 with time limits for the head of a request and for a client that does not read its answer.

    The application itself waits for the body of a request.
    """

    _head: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait; where there are too many connections one that waits for a head is hung up on, or this one."""
        super().connection_made(transport)
        self._address = counted_address(self.client[0] if self.client else None)
        surplus = self._surplus()
        if surplus is not self:
            self._wait_for_head()
        if surplus is not None:
            surplus.transport.abort()

    def _surplus(self) -> TimeLimitedProtocol | None:
        """Return the connection that has to go for this one; None where there is room."""
        every = [one for one in self.connections if isinstance(one, TimeLimitedProtocol) and not one._is_closing]
        if len(every) <= MOST_CONNECTIONS and sum(one._address == self._address for one in every) <= MOST_OF_ADDRESS:
            return None
        number = Counter(one._address for one in every)
        is_crowd = number[self._address] > MOST_OF_ADDRESS
        waiting = [
            (-number[one._address], one._head.when(), one)
            for one in every
            if one._head is not None and (one._address == self._address or not is_crowd)
        ]
        return min(waiting, key=lambda one: one[:2])[2] if waiting else self

    @property
    def _is_closing(self) -> bool:
        return self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        self._stop_waiting_for_head()
        self._stop_waiting_for_reader()

    def data_received(self, data: bytes) -> None:
        """Take what came; the time for a head runs from its first byte, not from its last."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._head is None:
            self._wait_for_head()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._stop_waiting_for_reader()
        self._reading = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting_for_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_waiting_for_reader(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class LingeringClose:
    """Reads, for a while, what the client still sends after its answer.

    A connection that is closed with unread data is reset, and the client then loses the answer, such as that its body
    is too large.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send)
        await self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._body_is_over = not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])

    async def receive(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._body_is_over = not (message["type"] == "http.request" and message.get("more_body", False))
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        ends = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not ends or self._body_is_over:
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self._body_is_over:
                    await self.receive()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
