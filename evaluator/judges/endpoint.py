"""Client of one endpoint: sends a request once, and says what a failure means for the next one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from evaluator.judges.completion import ChatCompletion, UnreadableCompletionError, read_completion
from evaluator.judges.exchange import Reason
from evaluator.judges.settings import JudgeSettings
from lake.spec.vocabulary import Origin, origin_headers
from runtime.backoff import retry_after

if TYPE_CHECKING:  # it takes a second to import, and most commands ask no judge
    import httpx2
    import openai

_QUOTED_CHARACTERS = 200
_UNKNOWN_FORMAT = frozenset({400, 422, 501})
_CONTENT_FILTER = "content_filter"
_NEVER_FITS = frozenset({"context_length_exceeded", "string_above_max_length"})
_NO_CONNECTION = "no connection could be made; is base_url right, and does the endpoint run?"
_NO_KEY_IS_NEEDED = "none"
_CODE = re.compile(r"[A-Za-z0-9_.]{1,40}")
_TOO_MUCH = re.compile(r"too (large|long|high)|maximum|exceed|at most|greater|less than|between|range", re.IGNORECASE)
"""Words about the value of a parameter that an endpoint takes."""
_ADVICE: Mapping[str, str] = {
    "temperature": "set temperature to null, or to a value that the model takes",
    "max_tokens": "lower max_tokens, or set limit_parameter",
    "max_completion_tokens": "lower max_tokens, or set limit_parameter",
    "response_format": "the endpoint takes no format of replies that is known; use another model",
    "tools": "the endpoint takes no format of replies that is known; use another model",
    "tool_choice": "the endpoint takes no format of replies that is known; use another model",
    "logprobs": "the endpoint gives no probabilities: set logprobs of the judge to false",
    "top_logprobs": "the endpoint gives no probabilities: set logprobs of the judge to false",
    "model": "set model or deployment to one that the endpoint has",
}
"""Parameters of a request that an endpoint may refuse, and what a person can do about each."""


@dataclass(frozen=True)
class EndpointFailure:
    """What a failed request means.

    It may be sent again (`retry`), after `wait` seconds at least; the endpoint has too much to do (`busy`) or does not
    work (`down`); the call may have to be paid (`paid`); a request of another format may be taken (`other_format`).
    `refused` is the parameter of the request that the endpoint does not know, or whose only value is its own.
    """

    reason: Reason
    retry: bool = False
    wait: float = 0.0
    busy: bool = False
    down: bool = False
    paid: bool = False
    other_format: bool = False
    refused: str | None = None


class EndpointError(Exception):
    """A request failed; `failure` says what that means for the next one.

    The message has what the endpoint said too (`quoted`), which may quote the prompt. `without_text` has not: it is
    for logs.
    """

    def __init__(self, failure: EndpointFailure, what: str, quoted: str = "") -> None:
        super().__init__(f"{what}: {quoted}" if quoted else what)
        self.failure = failure
        self.without_text = what


class Endpoint:
    """A client of one judge's endpoint; it tries everything once."""

    def __init__(self, settings: JudgeSettings, wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._settings = settings
        self._wall_clock = wall_clock
        self._client = _client(settings)

    async def send(self, body: Mapping[str, Any]) -> ChatCompletion:
        """Return the reply to a chat completion request. Raises EndpointError."""
        import httpx2
        import openai

        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except (TimeoutError, openai.APITimeoutError) as error:
            self._raise_timeout(error)
        except openai.APIStatusError as error:
            quoted = error.message[:_QUOTED_CHARACTERS]
            named = _parameter(error, body)
            raise EndpointError(self._failure(error, named), _status_of(error, named), quoted) from None
        except openai.APIConnectionError as error:
            was_sent = _was_sent(error)
            failure = EndpointFailure(Reason.UNAVAILABLE, retry=True, down=True, paid=was_sent)
            what = "the connection was cut" if was_sent else _NO_CONNECTION
            raise EndpointError(failure, what, repr(error.__cause__)) from None
        try:
            return read_completion(response.content)
        except UnreadableCompletionError as error:
            reason: Reason = Reason.CONTENT_FILTER if error.code == _CONTENT_FILTER else Reason.FAILED
            failure = EndpointFailure(reason, retry=reason == Reason.FAILED, down=True, paid=True)
            raise EndpointError(failure, "its response cannot be read", str(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _raise_timeout(self, error: Exception) -> NoReturn:
        if not _was_sent(error):
            raise EndpointError(EndpointFailure(Reason.UNAVAILABLE, retry=True, down=True), _NO_CONNECTION) from None
        failure = EndpointFailure(Reason.TIMEOUT, retry=True, busy=True, down=True, paid=True)
        message = f"no whole reply within {self._settings.timeout:g} s; a longer `timeout` may help"
        raise EndpointError(failure, message) from None

    def _failure(self, error: openai.APIStatusError, named: str | None) -> EndpointFailure:
        status, code = error.status_code, error.code
        if code == _CONTENT_FILTER:
            return EndpointFailure(Reason.CONTENT_FILTER)
        if status == 429 and code == "insufficient_quota":
            return EndpointFailure(Reason.UNAVAILABLE, down=True)
        if status == 429 or status == 503:
            wait = self._retry_after(error.response.headers)
            return EndpointFailure(Reason.UNAVAILABLE, retry=True, wait=wait, busy=True, down=status == 503)
        if status in (408, 504):
            return EndpointFailure(Reason.TIMEOUT, retry=True, busy=True, down=True, paid=True)
        if status >= 500 and status != 501:
            return EndpointFailure(Reason.UNAVAILABLE, retry=True, down=True)
        if status in (401, 403):
            return EndpointFailure(Reason.UNAVAILABLE, down=True)
        if status == 404:
            return EndpointFailure(Reason.UNAVAILABLE, down=True, other_format=True)
        is_unknown = str(code).startswith("unsupported") or not _TOO_MUCH.search(_said(error))
        refused = named if is_unknown else None
        other_format = status in _UNKNOWN_FORMAT and code not in _NEVER_FITS
        return EndpointFailure(Reason.FAILED, other_format=other_format, refused=refused)

    def _retry_after(self, headers: httpx2.Headers) -> float:
        now = self._wall_clock()
        if (milliseconds := retry_after(headers.get("retry-after-ms"), now)) is not None:
            return milliseconds / 1000
        return retry_after(headers.get("retry-after"), now) or 0.0


def _was_sent(error: BaseException) -> bool:
    """Whether a request may have reached its endpoint: not where there was no connection to send it over."""
    import aiohttp

    # What openai and httpx2 make of it calls a connection that was cut one that could not be made in time.
    unconnected = aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, unconnected):
        cause = cause.__cause__
    return cause is None


def _client(settings: JudgeSettings) -> openai.AsyncOpenAI:
    import openai

    # Without a key of its own a client would take one from the environment, and send it to whatever endpoint this is.
    key = settings.api_key.get_secret_value() if settings.api_key else _NO_KEY_IS_NEEDED
    address = settings.base_url.rstrip("/")
    common: dict[str, Any] = {"api_key": key, "timeout": settings.timeout, "max_retries": 0}
    # Its own transport takes so much of the processor that 64 calls at once wait for each other.
    common["http_client"] = openai.DefaultAioHttpClient(timeout=settings.timeout)
    if settings.deployment is None:
        return openai.AsyncOpenAI(base_url=address, **common)
    # DIAL Core logs them: then this call is none of an application. Other endpoints ignore them.
    headers = origin_headers(Origin.JUDGE)
    path = f"{address}/openai/deployments/{settings.deployment}"
    return openai.AsyncAzureOpenAI(base_url=path, api_version=settings.api_version, default_headers=headers, **common)


def _parameter(error: openai.APIStatusError, body: Mapping[str, Any]) -> str | None:
    """Return the parameter of a request that an endpoint names where it refuses one; the first of several."""
    if error.status_code not in (400, 404, 422) or error.code in _NEVER_FITS:
        return None
    sent = [name for name in _ADVICE if name in body]
    if error.param in sent:
        return str(error.param)
    found = re.search(rf"(?<!\w)({'|'.join(sent)})(?!\w)", _said(error))
    return found[1] if found else None


def _said(error: openai.APIStatusError) -> str:
    # Servers with pydantic have no message, but the place of what they refuse.
    return f"{error.message[:_QUOTED_CHARACTERS]} {str(error.body)[:_QUOTED_CHARACTERS]}"


def _status_of(error: openai.APIStatusError, named: str | None) -> str:
    code = str(error.code or "")
    status = f"status {error.status_code}{f' ({code})' if _CODE.fullmatch(code) else ''}"
    if error.status_code == 429:
        return f"{status}; a lower concurrency, or requests_per_minute and tokens_per_minute, may help"
    return status if named is None else f"{status}, which names {named}: {_ADVICE[named]}"
