"""Access control in front of all pages: who is not known sees none of them, whatever a page itself looks at."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from monitor.access.authentication import Authentication, ByToken
from monitor.access.wrong_tokens import TooManyWrongTokensError
from monitor.pages.json_answers import asks_for_json
from monitor.pages.rendering import Renderer, reader_of
from runtime.client_addresses import Network, client_behind, counted_address, is_in

logger = logging.getLogger(__name__)

MACHINE_PATHS = frozenset({"/metrics", "/healthz", "/readyz"})
"""Paths that programs ask for, without any text of a person."""
SIGN_IN = "/sign-in"
_STATIC = "/static/"

BEARER = {"WWW-Authenticate": "Bearer"}
_WITHOUT_TOKEN = "Send the token: `Authorization: Bearer <token>`"  # noqa: S105 - it says how

TOO_MANY = "Too many wrong tokens came from your address: wait, and try again"


def retry_after(seconds: float) -> Mapping[str, str]:
    """Return the header that says when to try again."""
    return {"Retry-After": str(math.ceil(seconds))}


class AccessControl:
    """Finds out who asks, for the pages behind it (`reader_of`), and refuses who is not known or has no rights."""

    def __init__(
        self, app: ASGIApp, authentication: Authentication, renderer: Renderer, proxies: Sequence[Network]
    ) -> None:
        """`proxies` are those whose X-Forwarded-For is believed."""
        self._app = app
        self._authentication = authentication
        self._renderer = renderer
        self._proxies = proxies
        self._warns_of_proxy = isinstance(authentication, ByToken)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        scope["dialwatch.address"] = address = self._address_of(request)
        wait: float | None = None
        try:
            reader = self._authentication.reader_of(request)
        except TooManyWrongTokensError as error:
            reader, wait = None, error.seconds
        scope["dialwatch.reader"] = reader and replace(reader, address=address)
        if self._is_open(scope["path"]) or (reader and reader.grants):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(request) if wait is None else self._too_many(request, wait)
        await refusal(scope, receive, send)

    def _address_of(self, request: Request) -> str:
        peer, named = request.client.host if request.client else None, request.headers.getlist("x-forwarded-for")
        if named and self._warns_of_proxy and not is_in(self._proxies, peer):
            self._warns_of_proxy = False
            logger.warning(
                "%s sends X-Forwarded-For: if it is your proxy, name it in monitor.proxies; until then all who come "
                "through it count as one client",
                peer,
            )
        return counted_address(client_behind(self._proxies, peer, named))

    def _too_many(self, request: Request, seconds: float) -> Response:
        return self._renderer.error(request, 429, TOO_MANY, retry_after(seconds))

    def _is_open(self, path: str) -> bool:
        if path in MACHINE_PATHS or path.startswith(_STATIC):
            return True
        return path == SIGN_IN and isinstance(self._authentication, ByToken)

    def _refusal(self, request: Request) -> Response:
        if reader_of(request).who is not None:
            message = "None of your groups may see a deployment here; monitor.access.proxy.groups says which may"
            return self._renderer.error(request, 403, message)
        is_person = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        if not isinstance(self._authentication, ByToken):
            message = "These pages are reached through a proxy that says who you are"
            return self._renderer.error(request, 401, message)
        if asks_for_json(request):
            return self._renderer.error(request, 401, _WITHOUT_TOKEN, BEARER)
        if not is_person:
            return PlainTextResponse(f"{_WITHOUT_TOKEN}\n", 401, BEARER)
        address = f"{SIGN_IN}?{urlencode({'next': _address_of(request)})}"
        if request.headers.get("sec-fetch-site") == "cross-site":
            # From a link in a chat the browser holds a strict cookie back; from a page of ours it sends it.
            return self._renderer.page(request, "reload.html", 401, BEARER, address=address)
        return RedirectResponse(address, 303)


def _address_of(request: Request) -> str:
    path: bytes = request.scope.get("raw_path", b"/")
    query: bytes = request.scope["query_string"]
    return (path + (b"?" + query if query else b"")).decode("latin-1")
