"""Access control in front of all pages: who is not known sees none of them, whatever a page itself looks at."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from monitor.access.authentication import Authentication, ByToken
from monitor.pages.json_answers import asks_for_json
from monitor.pages.rendering import Renderer, reader_of

MACHINE_PATHS = frozenset({"/metrics", "/healthz", "/readyz"})
"""Paths that programs ask for, without any text of a person."""
SIGN_IN = "/sign-in"
_STATIC = "/static/"

BEARER = {"WWW-Authenticate": "Bearer"}
_WITHOUT_TOKEN = "Send the token: `Authorization: Bearer <token>`"  # noqa: S105 - it says how


class AccessControl:
    """Finds out who asks, for the pages behind it (`reader_of`), and refuses who is not known or has no rights."""

    def __init__(self, app: ASGIApp, authentication: Authentication, renderer: Renderer) -> None:
        self._app = app
        self._authentication = authentication
        self._renderer = renderer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        reader = self._authentication.reader_of(request)
        scope["dialwatch.reader"] = reader
        if not (self._is_open(scope["path"]) or (reader and reader.grants)):
            await self._refusal(request)(scope, receive, send)
            return
        await self._app(scope, receive, send)

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
