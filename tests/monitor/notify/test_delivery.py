from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpcore
import pytest

from monitor.notify.delivery import Attempt, DeliveryOutcome, deliver
from monitor.notify.network import connections

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def pool() -> Iterator[httpcore.ConnectionPool]:
    with connections(["127.0.0.1"], timeout=60) as pool:
        yield pool


@pytest.mark.parametrize("status", [200, 202, 204])
def test_every_success_is_a_delivery(
    start_receiver: Callable[..., Any], pool: httpcore.ConnectionPool, status: int
) -> None:
    """2xx is delivered, and the receiver got the JSON and our headers as they were."""
    receiver = start_receiver(status)
    assert deliver(pool, receiver.url, b"{}", {"webhook-id": "1"}, NOW) == Attempt(
        DeliveryOutcome.DELIVERED, f"answered {status}"
    )
    (request,) = receiver.requests
    assert (request.path, request.body) == ("/hook", b"{}")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == "1"


@pytest.mark.parametrize(
    ("status", "outcome", "said"),
    [
        (500, DeliveryOutcome.FAILED, "500"),
        (404, DeliveryOutcome.FAILED, "404"),
        (410, DeliveryOutcome.GONE, "take this webhook out"),
    ],
)
def test_a_refusal_says_what_was_answered(
    start_receiver: Callable[..., Any], pool: httpcore.ConnectionPool, status: int, outcome: DeliveryOutcome, said: str
) -> None:
    """410 is the end, every other error may pass."""
    attempt = deliver(pool, start_receiver(status).url, b"{}", {}, NOW)
    assert attempt.outcome is outcome
    assert said in attempt.reason


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(
    start_receiver: Callable[..., Any], pool: httpcore.ConnectionPool, status: int
) -> None:
    """A message goes where the settings say and nowhere else."""
    target = start_receiver()
    attempt = deliver(pool, start_receiver((status, {"location": target.url})).url, b"{}", {}, NOW)
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "redirects are not followed" in attempt.reason
    assert target.requests == []


def test_a_receiver_that_does_not_answer_has_failed(start_receiver: Callable[..., Any]) -> None:
    """The client's time-out ends the attempt."""
    with connections(["127.0.0.1"], timeout=0.3) as pool:
        attempt = deliver(pool, start_receiver(None).url, b"{}", {}, NOW)
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "no answer in time" in attempt.reason


def test_a_receiver_that_is_not_there_has_failed(pool: httpcore.ConnectionPool) -> None:
    """A refused connection is an attempt like others, not an exception."""
    attempt = deliver(pool, "http://127.0.0.1:9/", b"{}", {}, NOW)
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "ConnectError" in attempt.reason


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        ("Fri, 20 Nov 2026 12:05:00 GMT", timedelta(minutes=5)),
        ("Fri, 20 Nov 2026 11:00:00 GMT", None),
        ("-5", None),
        ("soon", None),
        ("9" * 30, timedelta.max),
        ("9" * 5000, None),
        ("Mon, 01 Jan 99999999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2030 00:00:00 +99999999999999999999", None),
    ],
)
def test_retry_after_is_read_in_both_forms(
    start_receiver: Callable[..., Any], pool: httpcore.ConnectionPool, header: str, wait: timedelta | None
) -> None:
    """Seconds and dates are understood, nonsense is not there."""
    receiver = start_receiver((503, {"retry-after": header}))
    assert deliver(pool, receiver.url, b"{}", {}, NOW).retry_after == wait
