"""Pages on which a person signs in with the token, and signs out again."""

from __future__ import annotations

import re

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from lake.spec.service_vocabulary import AuditAction
from monitor.access.audit import AuditLog
from monitor.access.authentication import COOKIE, TOKEN_USER, ByToken
from monitor.access.sessions import SESSION_SECONDS
from monitor.pages.access_control import BEARER, SIGN_IN
from monitor.pages.forms import checked_form, fields_of
from monitor.pages.rendering import Renderer, reader_of

_OWN_ADDRESS = re.compile(r"/(?:[!-.0-\[\]-~][!-\[\]-~]*)?")
"""Path and query on this server: a second slash, or a backslash, would begin the name of another one."""


def add_sign_in(app: FastAPI, renderer: Renderer, authentication: ByToken, audit: AuditLog, *, is_https: bool) -> None:
    """Add `/sign-in` and `/sign-out`. `is_https`: browsers reach the pages by https, whatever a request says."""

    def cookie(request: Request, response: Response, value: str, seconds: int) -> Response:
        sent = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        secure = is_https or "https" in (sent, request.url.scheme)
        response.set_cookie(COOKIE, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
        return response

    @app.get(SIGN_IN)
    def form(request: Request, next: str = "/") -> Response:
        if reader_of(request).who is not None:
            return RedirectResponse(_own(next), 303)
        return renderer.page(request, "sign_in.html", next=_own(next), is_wrong=False)

    @app.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        fields = await fields_of(request)
        target = _own(fields.get("next", "/"))
        if not authentication.is_token(fields.get("token", "").strip()):
            return renderer.page(request, "sign_in.html", 401, BEARER, next=target, is_wrong=True)
        audit.note(TOKEN_USER, AuditAction.SIGN_IN)
        return cookie(request, RedirectResponse(target, 303), authentication.sessions.begin(), SESSION_SECONDS)

    @app.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        await checked_form(request, authentication)
        reader = reader_of(request)
        if reader.session is not None:
            authentication.sessions.end(reader.session)
            audit.note(reader.who, AuditAction.SIGN_OUT)
        return cookie(request, RedirectResponse(SIGN_IN, 303), "", 0)


def _own(address: str) -> str:
    return address if _OWN_ADDRESS.fullmatch(address) else "/"
