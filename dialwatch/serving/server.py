"""Server of an ASGI application in a thread, so that several can run in one process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

from dialwatch.errors import AddressError, ConfigError
from dialwatch.serving.addresses import parse_address
from dialwatch.serving.connections import LingeringClose, TimeLimitedProtocol

_START_SECONDS = 30.0
_LOOK_SECONDS = 1.0


_bound: dict[str, socket.socket] = {}
"""Sockets of addresses that this process will serve, until their servers begin."""


def bind(listen: str) -> socket.socket:
    """Take an address; raises OSError, and AddressError for what is none."""
    host, port = parse_address(listen)
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # Python adds the address in a form of its own.
        reason = (error.strerror or str(error)).partition(" (while ")[0]
        raise OSError(error.errno, f"cannot listen on {listen}: {reason}; choose another") from error


@contextlib.contextmanager
def bound(addresses: Mapping[str, str]) -> Iterator[None]:
    """Take the addresses, by the settings that name them, so that nothing begins where one cannot be had.

    A `BackgroundServer` of an address takes over its socket. Raises ConfigError, which names the setting.
    """
    mine: dict[str, socket.socket] = {}
    try:
        for setting, listen in addresses.items():
            try:
                mine[listen] = bind(listen)
            except AddressError as error:
                raise ConfigError(f"{setting}: {error}") from None
            except OSError as error:
                raise ConfigError(f"{setting}: {error.strerror}") from None
        _bound.update(mine)
        yield
    finally:
        for listen, listener in mine.items():
            _bound.pop(listen, None)
            listener.close()


class BackgroundServer:
    """A server that runs while its `with` block does; `url` is where it answers. Port 0 takes a free one."""

    def __init__(self, app: ASGIApp, listen: str) -> None:
        host, _ = parse_address(listen)
        self._socket = _bound.pop(listen) if listen in _bound else bind(listen)
        shown = f"[{host}]" if ":" in host else host or "127.0.0.1"
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            LingeringClose(app),
            http=TimeLimitedProtocol,
            ws="none",
            log_level="warning",
            # Its own would write to stderr in a form of its own.
            log_config=None,
            access_log=False,
            # uvicorn would let a client on this machine write the peer's address, by X-Forwarded-For.
            proxy_headers=False,
            timeout_graceful_shutdown=10,
        )
        self._server = _QuietServer(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name=f"serve {self.url}", daemon=True
        )

    def __enter__(self) -> BackgroundServer:
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"the server on {self.url} did not start; its error is in the log")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.end()
        self._thread.join()
        self._socket.close()


class _QuietServer(uvicorn.Server):
    """Server that looks once a second whether there is something to do besides requests, uvicorn's ten times."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending = asyncio.Event()

    async def main_loop(self) -> None:
        """Serve until the end; uvicorn calls this."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_ending.wait(), _LOOK_SECONDS)

    def end(self) -> None:
        """Have the server end, from another thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._is_ending.set)
