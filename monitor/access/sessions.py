"""Sessions of people who signed in with the token, as signed values for a cookie; and tokens of forms."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

SESSION_SECONDS = 12 * 3600


def derived(secret: bytes, purpose: str) -> bytes:
    """Return the key for a purpose: from it neither the secret nor another purpose's key can be computed."""
    return hmac.digest(secret, f"dialwatch {purpose}".encode(), hashlib.sha256)


def same(first: str, second: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ."""
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


class Sessions:
    """Sessions that are known by their signature: a restart ends none, another token ends all.

    Only that a session was ended before its time is kept, in the memory of this process.
    """

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives the seconds since 1970."""
        self._key = derived(token.encode(), "sessions")
        self._clock = clock
        self._ended: dict[str, int] = {}

    def begin(self) -> str:
        """Return the value of a new session's cookie."""
        session = f"{int(self._clock()) + SESSION_SECONDS}.{secrets.token_urlsafe(16)}"
        return f"{session}.{self._signature(session)}"

    def find(self, value: str) -> str | None:
        """Return the session of a cookie's value; None where we did not sign it, or it is over."""
        session, _, signature = value.rpartition(".")
        if not same(signature, self._signature(session)):
            return None
        return session if self._end(session) > self._clock() and session not in self._ended else None

    def end(self, session: str) -> None:
        """End a session before its time."""
        now = self._clock()
        self._ended = {one: end for one, end in self._ended.items() if end > now} | {session: self._end(session)}

    def _signature(self, session: str) -> str:
        return hmac.new(self._key, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def _end(self, session: str) -> int:
        return int(session.partition(".")[0])


class FormTokens:
    """Tokens that stand in forms, one a session, so that a page of another site can send none of ours."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def token_of(self, session: str) -> str:
        """Return the token for the forms of a session."""
        return hmac.new(self._key, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def fits(self, session: str | None, token: str) -> bool:
        """Return whether a form with this token is the session's own; a script, which has none, needs no token."""
        return session is None or same(token, self.token_of(session))
