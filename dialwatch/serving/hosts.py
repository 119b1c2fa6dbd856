"""Check of the Host header: pages of other sites must not reach this server under a name of their own.

A web page can make a browser send requests to any address, and a name in its owner's hands (DNS rebinding) even lets it
read the answers. Starlette's TrustedHostMiddleware takes a list of names alone, which no service in a cluster can give.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN_PATHS = frozenset({"/metrics", "/healthz", "/readyz"})
"""Paths without a text of anybody, which programs ask for under any name."""
_OWN_ENDINGS = (".localhost", ".local", ".internal", ".svc", ".home.arpa", ".test", ".corp", ".home")
"""Names that nobody can buy: those of a machine, a network or a cluster of one's own.

All but `svc` are reserved, or refused to everybody by ICANN. Others that people use, such as `lan`, are merely not sold
yet.
"""


def is_own_name(host: str) -> bool:
    """Whether no stranger can own this name: an address, a name without a dot, or one that is for private use."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return "." not in host or host.endswith(_OWN_ENDINGS)
    return True


class KnownHosts:
    """Refuses requests to a host name that is neither this server's nor in `hosts`, and those of other sites' pages.

    `listen` is the host that the server listens on, `setting` the key of the configuration that has the `hosts`. The
    machine's own host name is the server's too.
    """

    def __init__(self, app: ASGIApp, listen: str, hosts: Collection[str], setting: str) -> None:
        self._app = app
        self._own = frozenset({listen.lower(), socket.gethostname().lower().rstrip(".")})
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts if host)
        self._setting = setting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: 421 where the name is not known, 403 where another site's page sends it."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        asked, origin = headers.get("host", ""), headers.get("origin")
        host = _host_of(f"//{asked}")
        if host is None:
            refusal = f"the Host {asked[:200]!r} is no name: send the server's address, or a name in {self._setting}"
            return PlainTextResponse(f"{refusal}\n", 421)
        if not (is_own_name(host) or host in self._own or host in self._hosts):
            refusal = (
                f"this server does not know itself as {host[:200]!r}: if that is its name, add it to {self._setting}"
            )
            return PlainTextResponse(f"{refusal}\n", 421)
        if origin is None or origin.lower().endswith(f"://{asked.lower()}"):
            return None
        sender = _host_of(origin)
        if sender in self._hosts:
            return None
        why = f"if it is yours, add {sender[:200]!r} to" if sender else "it names no host that could be in"
        return PlainTextResponse(f"a page of {origin[:200]!r} may not send this: {why} {self._setting}\n", 403)


def _host_of(address: str) -> str | None:
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return None
    return host.rstrip(".") or None if host else None
