"""A proxy before an HTTP server that fails at random: it answers 503, drops the connection, answers late or not at all.

Of the faults, `503` and `dropped` have no effect, `lost` has one and no answer, `late` answers late, `hung` never does,
and a request that is `held` gets no answer and takes effect later, as do its repetitions.

Run as a process of its own, since deltalake holds Python's lock while it waits:
`python -m tests.fault_proxy LISTEN_PORT TARGET_PORT SEED SHARE_OF_FAULTS SECONDS_LATE [FAULTS [METHODS]]`, the last two
with commas between; without METHODS every request may fail.
"""

from __future__ import annotations

import asyncio
import random
import sys
from dataclasses import dataclass, field

_UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"


@dataclass
class FaultProxy:
    """One request a connection, so that every request has its own luck.

    A fault comes before the server has seen the request, or after it has done what was asked and before the client
    knows: a write may have happened although it seems to have failed.
    """

    target_port: int
    faults: float
    seconds_late: float
    chance: random.Random
    kinds: tuple[str, ...] = ("503", "dropped", "lost", "late")
    methods: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    _held: dict[bytes, bytes] = field(default_factory=dict)
    """Requests that are held, by their method and path."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        try:
            request = await _read_message(reader, writer)
            if request is not None:
                await self._answer(request, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        may_fail = not self.methods or request.partition(b" ")[0].decode() in self.methods
        fault = self.chance.choice(self.kinds) if may_fail and self.chance.random() < self.faults else "none"
        self.counts[fault] = self.counts.get(fault, 0) + 1
        if await self._is_held(request, begin=fault == "held"):
            return
        if fault == "503":
            writer.write(_UNAVAILABLE)
            await writer.drain()
            return
        if fault == "dropped":
            return
        if fault == "hung":
            await asyncio.sleep(3600)
        answer = await self._forward(request)
        if fault == "lost":
            return
        if fault == "late":
            await asyncio.sleep(self.seconds_late)
        writer.write(answer)
        await writer.drain()

    async def _is_held(self, request: bytes, begin: bool) -> bool:
        """Whether a request is held back; another one of its name may let the first one through before it."""
        name = b" ".join(request.split(b" ", 2)[:2])
        if (held := self._held.get(name)) is not None:
            if _body(held) == _body(request):
                return True
            if self.chance.random() < 0.5:
                await self._let_through(name)
        elif begin:
            self._held[name] = request
            self._tasks.add(asyncio.create_task(self._let_through(name, self.chance.random() * self.seconds_late)))
            return True
        return False

    async def _let_through(self, name: bytes, after: float = 0.0) -> None:
        await asyncio.sleep(after)
        if (request := self._held.pop(name, None)) is not None:
            await self._forward(request)

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        try:
            writer.write(request)
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()


def _body(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


async def _read_message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
    """Read one request, and ask the server to close the connection behind its answer."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *headers = head[:-4].split(b"\r\n")
    named = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in headers)}
    if b"expect" in named:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    body = b""
    if named.get(b"transfer-encoding", b"").lower() == b"chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += await reader.readuntil(b"\r\n")
    elif b"content-length" in named:
        body = await reader.readexactly(int(named[b"content-length"]))
    kept = [line for line in headers if line.partition(b":")[0].lower() not in (b"connection", b"expect")]
    return b"\r\n".join([first, *kept, b"Connection: close", b"", b""]) + body


async def _main(
    listen_port: str, target_port: str, seed: str, faults: str, seconds_late: str, kinds: str = "", methods: str = ""
) -> None:
    proxy = FaultProxy(int(target_port), float(faults), float(seconds_late), random.Random(int(seed)))
    proxy.kinds = tuple(filter(None, kinds.split(","))) or proxy.kinds
    proxy.methods = tuple(filter(None, methods.split(",")))
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", int(listen_port), limit=1 << 26)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
