"""Sign-in with the token: its form, the cookie that a right token is exchanged for, and the sign-out."""

from __future__ import annotations

import re

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from lake.spec.service_vocabulary import AuditAction
from monitor.access.audit import AuditLog
from monitor.access.authentication import COOKIE, TOKEN_USER, ByToken, address_of
from monitor.access.sessions import SESSION_SECONDS
from monitor.access.wrong_tokens import TooManyWrongTokensError
from monitor.pages.access_control import BEARER, SIGN_IN, TOO_MANY, retry_after
from monitor.pages.forms import checked_form, fields_of
from monitor.pages.rendering import Renderer, reader_of

_OWN_ADDRESS = re.compile(r"/(?:[!-.0-\[\]-~][!-\[\]-~]*)?")
"""Path and query on this server: a second slash, or a backslash, would begin the name of another one."""

_WRONG = "This is not the token."


class SignIn:
    """Handlers of the sign-in and the sign-out. `is_https`: browsers come by https, whatever a request says."""

    def __init__(self, renderer: Renderer, authentication: ByToken, audit: AuditLog, *, is_https: bool) -> None:
        self._renderer = renderer
        self._authentication = authentication
        self._audit = audit
        self._is_https = is_https

    def form(self, request: Request, next: str = "/") -> Response:
        """Answer with the form; who is signed in goes to `next`."""
        if reader_of(request).who is not None:
            return RedirectResponse(_own(next), 303)
        return self._renderer.page(request, "sign_in.html", next=_own(next), wrong="")

    async def sign_in(self, request: Request) -> Response:
        """Begin a session for who sends the token."""
        fields = await fields_of(request)
        target = _own(fields.get("next", "/"))
        try:
            is_token = self._authentication.is_token(fields.get("token", "").strip(), address_of(request))
        except TooManyWrongTokensError as error:
            headers = retry_after(error.seconds)
            return self._renderer.page(request, "sign_in.html", 429, headers, next=target, wrong=f"{TOO_MANY}.")
        if not is_token:
            return self._renderer.page(request, "sign_in.html", 401, BEARER, next=target, wrong=_WRONG)
        self._audit.note(TOKEN_USER, AuditAction.SIGN_IN)
        session = self._authentication.sessions.begin()
        return self._with_cookie(request, RedirectResponse(target, 303), session, SESSION_SECONDS)

    async def sign_out(self, request: Request) -> Response:
        """End the session of who asks."""
        await checked_form(request, self._authentication)
        reader = reader_of(request)
        if reader.session is not None:
            self._authentication.sessions.end(reader.session)
            self._audit.note(reader.who, AuditAction.SIGN_OUT)
        return self._with_cookie(request, RedirectResponse(SIGN_IN, 303), "", 0)

    def _with_cookie(self, request: Request, response: Response, value: str, seconds: int) -> Response:
        sent = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        secure = self._is_https or "https" in (sent, request.url.scheme)
        response.set_cookie(COOKIE, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
        return response


def _own(address: str) -> str:
    return address if _OWN_ADDRESS.fullmatch(address) else "/"
