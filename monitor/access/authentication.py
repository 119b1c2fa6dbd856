"""Authentication of a request: by the token, by its cookie, or by the headers of a proxy.

Headers are believed by the peer's own address, never by `X-Forwarded-For`, which any client can write. A peer
`::ffff:10.0.0.7`, on a socket for both families, is 10.0.0.7; a unix socket has no address. A proxy that adds to what a
client sent, rather than to replace it, makes two headers or a list: two are refused, and so is a user with a comma.
`X_Forwarded_User` is another header than `X-Forwarded-User`: ASGI keeps them apart, as WSGI does not.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Literal, Protocol

from starlette.requests import HTTPConnection

from monitor.access.reader import ALL_RIGHTS, Grant, Reader
from monitor.access.sessions import FormTokens, Sessions, derived, same
from monitor.access.settings import AccessSettings, ProxySettings
from monitor.access.wrong_tokens import WrongTokens
from runtime.client_addresses import counted_address, is_in

USER_HEADER, GROUPS_HEADER = "X-Forwarded-User", "X-Forwarded-Groups"
COOKIE = "dialwatch_session"
TOKEN_USER = "token"  # noqa: S105 - a name
"""Name of everybody who has the token."""
_LONGEST_USER = 256


class Authentication(Protocol):
    """Way in which requests say who sends them; `forms` are the tokens of its sessions' forms."""

    forms: FormTokens

    def reader_of(self, request: HTTPConnection) -> Reader | None:
        """Return who asks; None where that is not known, so that nothing may be shown."""


class Open:
    """Everybody has every right."""

    def __init__(self) -> None:
        self.forms = FormTokens(secrets.token_bytes(32))

    def reader_of(self, request: HTTPConnection) -> Reader | None:  # noqa: ARG002
        """Return a reader without a name."""
        return Reader(None, ALL_RIGHTS, "")


class ByToken:
    """Who sends the token has every right, and who has the cookie that it was exchanged for."""

    def __init__(self, token: str, wrong_tokens: WrongTokens, clock: Callable[[], float] = time.time) -> None:
        self._token = token
        self._wrong_tokens = wrong_tokens
        self.sessions = Sessions(token, clock)
        self.forms = FormTokens(derived(token.encode(), "forms"))

    def is_token(self, given: str, address: str) -> bool:
        """Return whether this is the token; raises TooManyWrongTokensError for an address that has to wait."""
        self._wrong_tokens.check_wait(address)
        is_right = same(given, self._token)
        if not is_right:
            self._wrong_tokens.add(address, given)
        return is_right

    def reader_of(self, request: HTTPConnection) -> Reader | None:
        """Return who sends a session's cookie or the token (`Authorization: Bearer`).

        The cookie is looked at first: a proxy may add a bearer of its own to what a person's browser sends, and that is
        no try of the token. Raises TooManyWrongTokensError for a token of an address that has to wait.
        """
        session = self.sessions.find(request.cookies.get(COOKIE, ""))
        if session is not None:
            return Reader(TOKEN_USER, ALL_RIGHTS, session)
        for sent in request.headers.getlist("authorization"):
            scheme, _, token = sent.partition(" ")
            if scheme.lower() == "bearer" and self._is_bearer(token.strip(), address_of(request)):
                return Reader(TOKEN_USER, ALL_RIGHTS)
        return None

    def _is_bearer(self, given: str, address: str) -> bool:
        # A proxy adds its bearer to every request, also to those of a person who signs in for the first time.
        return not self._wrong_tokens.is_known(address, given) and self.is_token(given, address)


class ByProxy:
    """Who a proxy of ours names has the rights of the groups that it names."""

    def __init__(self, settings: ProxySettings) -> None:
        self._addresses = settings.addresses
        self._grants = {name: Grant.of(group) for name, group in settings.groups.items()}
        self.forms = FormTokens(secrets.token_bytes(32))

    def reader_of(self, request: HTTPConnection) -> Reader | None:
        """Return whom the proxy names; None where another one sends this, or the headers are not plain."""
        if not is_in(self._addresses, request.client.host if request.client else None):
            return None
        user, groups = _only(request, USER_HEADER), _only(request, GROUPS_HEADER)
        if not user or groups is None or len(user) > _LONGEST_USER or "," in user or not user.isprintable():
            return None
        names = dict.fromkeys(name.strip() for name in groups.split(","))
        return Reader(user, tuple(self._grants[name] for name in names if name in self._grants), user)


def authentication_of(access: AccessSettings | Literal["none"] | None, wrong_tokens: WrongTokens) -> Authentication:
    """Return what the settings ask for; without them, as on loopback, everybody has every right."""
    if isinstance(access, AccessSettings):
        if access.token is not None:
            return ByToken(access.token.get_secret_value(), wrong_tokens)
        if access.proxy is not None:
            return ByProxy(access.proxy)
    return Open()


def address_of(request: HTTPConnection) -> str:
    """Return the address of the client, as clients are counted; behind a proxy of ours that which the proxy names."""
    known: str | None = request.scope.get("dialwatch.address")
    return counted_address(request.client.host if request.client else None) if known is None else known


def _only(request: HTTPConnection, name: str) -> str | None:
    """Return a header's value, empty where it is not sent; None for one that is sent twice, or is no UTF-8."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        return None
    try:
        return "".join(values).encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return None
