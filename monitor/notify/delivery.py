"""One attempt to deliver one message over HTTP, signed so that its receiver knows that it is ours and new."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import unquote, urlsplit

import httpcore
from pydantic import SecretStr
from standardwebhooks import Webhook

from monitor.notify.settings import WebhookSettings
from runtime.backoff import retry_after

_READ_BYTES = 2048
_SHOWN_CHARACTERS = 200
_NETWORK_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    httpcore.ProxyError,
    ValueError,
)
_ADVICE = {
    400: "the receiver cannot read the message: check its format",
    401: "check that the receiver has the same secret, and the log-in in the url if it wants one",
    403: "check that the receiver has the same secret, and lets this machine in",
    404: "nobody is at this address: check the url",
    405: "this address takes no POST: check the url",
    410: "it is Gone and wants no more messages, take this webhook out of the settings",
    429: "too many messages for the receiver",
}


class DeliveryOutcome(StrEnum):
    """What an attempt led to."""

    DELIVERED = "delivered"
    FAILED = "failed"
    GONE = "gone"
    """The receiver wants no more messages, ever."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Outcome of one attempt, why in words, and how long the receiver asked to be left alone."""

    outcome: DeliveryOutcome
    reason: str
    retry_after: timedelta | None = None


def post_signed(
    pool: httpcore.ConnectionPool, settings: WebhookSettings, message_id: str, body: bytes, now: datetime
) -> Attempt:
    """Send the JSON `body` once, as `deliver` does, under this id and signed with the receiver's secrets."""
    return deliver(pool, str(settings.url), body, signed_headers(message_id, now, body, settings.secret), now)


def signed_headers(message_id: str, at: datetime, body: bytes, secret: SecretStr | None) -> dict[str, str]:
    """Return the headers of the Standard Webhooks specification: id, timestamp in seconds, signature.

    `secret` holds one or several, separated by white space: each signs, and a receiver accepts the message if it
    knows any of them. None gives no signature. The id is the same whenever a message is sent again; timestamp and
    signature are those of the attempt.
    """
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(at.timestamp()))}
    if secret is not None:
        signatures = [Webhook(one).sign(message_id, at, body.decode()) for one in secret.get_secret_value().split()]
        headers["webhook-signature"] = " ".join(signatures)
    return headers


def deliver(pool: httpcore.ConnectionPool, url: str, body: bytes, headers: Mapping[str, str], now: datetime) -> Attempt:
    """Send the JSON `body` once: 2xx is delivered, 410 is gone, all else has failed. Redirects are not followed.

    `pool` is what `connections` gave. Of an answer that is no success at most the first bytes are read, for the
    reason. Never raises for what a network or receiver does.
    """
    try:
        with pool.stream("POST", url, headers=request_headers(url, headers), content=body) as response:
            answered = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            return _attempt_of(response.status, answered, b"" if response.status < 300 else _beginning(response), now)
    except httpcore.TimeoutException as error:
        return Attempt(DeliveryOutcome.FAILED, f"no answer in time ({type(error).__name__})")
    except _NETWORK_ERRORS as error:
        return Attempt(DeliveryOutcome.FAILED, f"{type(error).__name__}: {error}")


def request_headers(url: str, headers: Mapping[str, str]) -> list[tuple[bytes | str, bytes | str]]:
    """Return the headers of a request with a JSON body, with the log-in of the url, and `headers`."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    sent = {"host": host, "content-type": "application/json", "user-agent": "dialwatch", "accept-encoding": "identity"}
    if login:
        sent["authorization"] = "Basic " + base64.b64encode(unquote(login).encode()).decode()
    return [*sent.items(), *headers.items()]


def _beginning(response: httpcore.Response) -> bytes:
    try:
        return next(iter(response.iter_stream()), b"")[:_READ_BYTES]
    except (httpcore.TimeoutException, *_NETWORK_ERRORS):
        return b""  # the status is known, and says enough


def _attempt_of(status: int, headers: Mapping[str, str], beginning: bytes, now: datetime) -> Attempt:
    if 200 <= status < 300:
        return Attempt(DeliveryOutcome.DELIVERED, f"answered {status}")
    if 300 <= status < 400:
        return Attempt(
            DeliveryOutcome.FAILED, f"answered {status}: redirects are not followed, set the final address as url"
        )
    said = "".join(c if c.isprintable() else " " for c in beginning.decode("utf-8", "replace"))[:_SHOWN_CHARACTERS]
    reason = f"answered {status}" + (f" ({said.strip()})" if said.strip() else "")
    if status in _ADVICE:
        reason = f"{reason}: {_ADVICE[status]}"
    if status == 410:
        return Attempt(DeliveryOutcome.GONE, reason)
    return Attempt(DeliveryOutcome.FAILED, reason, _retry_after(headers.get("retry-after"), now))


def _retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Read seconds or an HTTP date; None where it is neither, or in the past."""
    seconds = retry_after(value, now)
    if not seconds:
        return None
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        return timedelta.max
