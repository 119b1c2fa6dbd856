"""HTTP statuses of failed requests in plain words."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "400": "bad request",
    "401": "no valid key",
    "403": "not allowed",
    "404": "not found",
    "408": "the request took too long",
    "413": "the request is too large",
    "422": "the request cannot be processed",
    "429": "too many requests",
    "500": "error in the server",
    "502": "wrong answer of a server behind it",
    "503": "server not available",
    "504": "no answer in time of a server behind it",
}


def status_words(reason: str) -> str:
    """Return why a request failed, a status with its words: HTTP 400 (bad request); a reason in words as it is."""
    if not reason.isdecimal():
        return reason
    return f"HTTP {reason} ({_WORDS[reason]})" if reason in _WORDS else f"HTTP {reason}"


def failed_requests(reason: str, number: int) -> str:
    """Say how many requests failed for a reason, in a few words for a column: 6: HTTP 400 (bad request)."""
    return f"{number:,}: {status_words(reason)}"
