"""What each failure of an endpoint means for the next request."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import aiohttp
import httpx2
import openai
import pytest

from evaluator.judges.endpoint import Endpoint, EndpointError, EndpointFailure
from evaluator.judges.exchange import Reason
from tests.evaluator.judges.conftest import NOON, Bench, asked
from tests.evaluator.judges.scripted_server import (
    FITS,
    ScriptedServer,
    completion,
    fails,
    gives,
    says,
)

DOWN = EndpointFailure(Reason.UNAVAILABLE, down=True)
AGAIN = EndpointFailure(Reason.UNAVAILABLE, retry=True, down=True)
LATE = EndpointFailure(Reason.TIMEOUT, retry=True, busy=True, down=True, paid=True)
OTHER_FORMAT = EndpointFailure(Reason.FAILED, other_format=True)
FAILED = EndpointFailure(Reason.FAILED)
UNREADABLE = EndpointFailure(Reason.FAILED, retry=True, down=True, paid=True)
FILTERED = EndpointFailure(Reason.CONTENT_FILTER)


def failure_of(bench: Bench, **settings: Any) -> EndpointError:
    async def send() -> EndpointError:
        endpoint = Endpoint(bench.settings(**settings), lambda: datetime.fromtimestamp(NOON, UTC))
        try:
            with pytest.raises(EndpointError) as caught:
                await endpoint.send({"model": "m", "messages": []})
        finally:
            await endpoint.close()
        return caught.value

    return asyncio.run(send())


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, None, OTHER_FORMAT),
        (422, None, OTHER_FORMAT),
        (501, None, OTHER_FORMAT),
        (400, "context_length_exceeded", FAILED),
        (400, "string_above_max_length", FAILED),
        (400, "content_filter", FILTERED),
        (500, "content_filter", FILTERED),
        (401, None, DOWN),
        (403, None, DOWN),
        (402, None, FAILED),
        (404, None, EndpointFailure(Reason.UNAVAILABLE, down=True, other_format=True)),
        (408, None, LATE),
        (504, None, LATE),
        (413, None, FAILED),
        (429, None, EndpointFailure(Reason.UNAVAILABLE, retry=True, busy=True)),
        (429, "insufficient_quota", DOWN),
        (500, None, AGAIN),
        (502, None, AGAIN),
        (503, None, EndpointFailure(Reason.UNAVAILABLE, retry=True, busy=True, down=True)),
    ],
)
def test_a_status_says_what_may_be_done_next(
    bench: Bench, server: ScriptedServer, status: int, code: str | None, expected: EndpointFailure
) -> None:
    """Send it again or not, wait, count it as paid, or try another format; the log has the status and its code."""
    server.always = fails(status, code, "private")
    error = failure_of(bench)
    assert error.failure == expected
    assert error.without_text.partition(";")[0] == f"status {status}" + (f" ({code})" if code else "")
    assert ("requests_per_minute" in error.without_text) == (status == 429)
    assert "private" in str(error)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, 0.0),
        ({"retry_after": "7.5"}, 7.5),
        ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5),
        ({"retry_after_ms": "soon", "retry_after": "7"}, 7.0),
        ({"retry_after": "-7"}, 0.0),
        ({"retry_after": "inf"}, 0.0),
        ({"retry_after": "nan"}, 0.0),
        ({"retry_after": "soon"}, 0.0),
        ({"retry_after": format_datetime(datetime.fromtimestamp(NOON + 90, UTC), usegmt=True)}, 90.0),
        ({"retry_after": format_datetime(datetime.fromtimestamp(NOON - 90, UTC), usegmt=True)}, 0.0),
    ],
)
def test_a_busy_endpoint_says_for_how_long(
    bench: Bench, server: ScriptedServer, headers: dict[str, str], wait: float
) -> None:
    """In milliseconds, in seconds or until a date; what cannot be read or is over is no wait."""
    server.always = fails(503, **headers)
    assert failure_of(bench).failure.wait == wait


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"choices": []}, UNREADABLE),
        ({"error": {"message": "private", "code": "500"}}, UNREADABLE),
        ({"error": {"message": "private", "code": "content_filter"}}, EndpointFailure(
            Reason.CONTENT_FILTER, down=True, paid=True)),
    ],
)  # fmt: skip
def test_a_response_that_cannot_be_read_may_be_paid(
    bench: Bench, server: ScriptedServer, body: Any, expected: EndpointFailure
) -> None:
    """It is asked for again, unless a filter stopped it."""
    server.always = gives(body)
    error = failure_of(bench)
    assert (error.failure, error.without_text) == (expected, "its response cannot be read")


def test_an_endpoint_that_does_not_implement_a_format_is_asked_in_another(bench: Bench, server: ScriptedServer) -> None:
    """As one that answers 400 is; where it implements none, that is not tried again."""
    server.follow(fails(501), says(FITS))
    assert bench.ask().parsed == {"verdict": "S"}
    assert server.forms == ["schema", "tool"]
    server.always = fails(501)
    assert bench.refused("another").reason == Reason.UNAVAILABLE
    assert (server.forms[2:], bench.slept) == (["schema", "tool", "text"], [])


def test_a_reply_of_more_tokens_than_were_booked_delays_nobody(bench: Bench, server: ScriptedServer) -> None:
    """At a token a second the next call waits for what was booked, and not for 50,000 s."""
    server.always = gives(completion(usage={"prompt_tokens": 50_000, "completion_tokens": 10}))

    async def twice(judge: Any) -> None:
        for text in ("first", "second"):
            await asked(judge, text)

    bench.run(twice, tokens_per_minute=60, max_tokens=80)
    assert 80 < sum(bench.slept) < 300


def test_no_more_tokens_are_cached_than_a_prompt_has(bench: Bench, server: ScriptedServer) -> None:
    """So that no call costs less than nothing; a refusal is one whatever else the reply has."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 10_000}}
    server.follow(gives(completion(usage=usage)), says(FITS, message={"refusal": "I cannot."}))
    spend = bench.ask(cached_prompt_price=0.1).spend
    assert (spend.cached_prompt_tokens, spend.cost) == (100, pytest.approx((100 * 0.1 + 10 * 10) / 1e6))
    assert bench.refused("another").reason == Reason.REFUSED


@pytest.mark.parametrize(
    ("cause", "paid", "said"),
    [
        (aiohttp.ConnectionTimeoutError(), False, "no connection could be made; is base_url right"),
        (OSError("reset"), True, "the connection was cut"),
    ],
)
def test_a_request_that_was_never_sent_is_not_paid(bench: Bench, cause: Exception, paid: bool, said: str) -> None:
    """One whose connection was cut may be."""

    async def send() -> EndpointError:
        endpoint = Endpoint(bench.settings())
        request = httpx2.Request("POST", "http://127.0.0.1")

        async def fail(*_: Any, **__: Any) -> None:
            raise openai.APIConnectionError(request=request) from cause

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(endpoint._client, "post", fail)
            with pytest.raises(EndpointError) as caught:
                await endpoint.send({})
        await endpoint.close()
        return caught.value

    error = asyncio.run(send())
    assert error.failure == EndpointFailure(Reason.UNAVAILABLE, retry=True, down=True, paid=paid)
    assert error.without_text.startswith(said)
