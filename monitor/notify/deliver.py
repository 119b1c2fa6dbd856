"""One attempt to deliver one message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

import httpx


class Outcome(StrEnum):
    """What an attempt led to."""

    DELIVERED = "delivered"
    FAILED = "failed"
    GONE = "gone"
    """The receiver wants no more messages, ever."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Outcome of one attempt, why in words, and how long the receiver asked to be left alone."""

    outcome: Outcome
    reason: str
    retry_after: timedelta | None = None


def deliver(client: httpx.Client, url: str, body: bytes, headers: Mapping[str, str], now: datetime) -> Attempt:
    """Send the JSON `body` once: 2xx is delivered, 410 is gone, all else has failed. Redirects are not followed.

    The answer's body is not read. Never raises for what a network or receiver does.
    """
    sent = {"content-type": "application/json", "user-agent": "dialwatch", **headers}
    try:
        with client.stream("POST", url, content=body, headers=sent, follow_redirects=False) as response:
            status, answered = response.status_code, response.headers
    except httpx.TimeoutException as error:
        return Attempt(Outcome.FAILED, f"no answer in time ({type(error).__name__})")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Attempt(Outcome.FAILED, f"{type(error).__name__}: {error}")
    if 200 <= status < 300:
        return Attempt(Outcome.DELIVERED, f"answered {status}")
    if status == httpx.codes.GONE:
        return Attempt(Outcome.GONE, "answered 410 Gone: take this webhook out of the settings")
    if 300 <= status < 400:
        return Attempt(Outcome.FAILED, f"answered {status}: redirects are not followed, set the final address as url")
    return Attempt(Outcome.FAILED, f"answered {status}", _retry_after(answered.get("retry-after"), now))


def _retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Read seconds or an HTTP date; None where it is neither, or in the past."""
    if value is None:
        return None
    try:
        wait = timedelta(seconds=int(value))
    except OverflowError:
        return timedelta.max
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        wait = (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    return wait if wait > timedelta(0) else None
