"""One request to an endpoint, and what its failure means for the next."""

from __future__ import annotations

import asyncio
import email.utils
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from evaluator.judges.answer import Reason
from evaluator.judges.reply import Reply, UnreadableReplyError, read_reply
from evaluator.judges.settings import JudgeSettings

if TYPE_CHECKING:  # it takes a second to import, and most commands ask no judge
    import httpx2
    import openai

_QUOTED_CHARACTERS = 200
_NO_FORM = frozenset({400, 422, 501})
_CONTENT_FILTER = "content_filter"
_NEVER_FITS = frozenset({"context_length_exceeded", "string_above_max_length"})
_NO_CONNECTION = "no connection could be made; is base_url right, and does the endpoint run?"
_NO_KEY_IS_NEEDED = "none"
_CODE = re.compile(r"[A-Za-z0-9_.]{1,40}")


@dataclass(frozen=True)
class Failure:
    """What a failed request means.

    Once more (`again`) after `after` seconds at least; that the endpoint has too much to do (`busy`) or does not work
    (`down`); that the call may have to be paid (`paid`); that another form of request may be taken (`other_form`).
    """

    reason: Reason
    again: bool = False
    after: float = 0.0
    busy: bool = False
    down: bool = False
    paid: bool = False
    other_form: bool = False


class EndpointError(Exception):
    """A request failed; `failure` says what that means, and `told` what happened, in words that a log may have.

    The message has besides what was `quoted` of the endpoint, which may quote the prompt.
    """

    def __init__(self, failure: Failure, told: str, quoted: str = "") -> None:
        super().__init__(f"{told}: {quoted}" if quoted else told)
        self.failure = failure
        self.told = told


class Endpoint:
    """A client of one judge's endpoint; it tries everything once."""

    def __init__(self, settings: JudgeSettings, wall_clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._wall_clock = wall_clock
        self._client = _client(settings)

    async def send(self, body: Mapping[str, Any]) -> Reply:
        """Give the reply to a chat completion request. Raises EndpointError."""
        import httpx2
        import openai

        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except (TimeoutError, openai.APITimeoutError) as error:
            self._fail_late(error)
        except openai.APIStatusError as error:
            quoted = error.message[:_QUOTED_CHARACTERS]
            raise EndpointError(self._failure(error), _told(error), quoted) from None
        except openai.APIConnectionError as error:
            was_sent = _was_sent(error)
            failure = Failure("judge_unavailable", again=True, down=True, paid=was_sent)
            told = "the connection was cut" if was_sent else _NO_CONNECTION
            raise EndpointError(failure, told, repr(error.__cause__)) from None
        try:
            return read_reply(response.content)
        except UnreadableReplyError as error:
            reason: Reason = "judge_content_filter" if error.code == _CONTENT_FILTER else "judge_failed"
            failure = Failure(reason, again=reason == "judge_failed", down=True, paid=True)
            raise EndpointError(failure, "its response cannot be read", str(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _fail_late(self, error: Exception) -> NoReturn:
        if not _was_sent(error):
            raise EndpointError(Failure("judge_unavailable", again=True, down=True), _NO_CONNECTION) from None
        failure = Failure("judge_timeout", again=True, busy=True, down=True, paid=True)
        message = f"no whole reply within {self._settings.timeout:g} s; a longer `timeout` may help"
        raise EndpointError(failure, message) from None

    def _failure(self, error: openai.APIStatusError) -> Failure:
        status, code = error.status_code, error.code
        if code == _CONTENT_FILTER:
            return Failure("judge_content_filter")
        if status == 429 and code == "insufficient_quota":
            return Failure("judge_unavailable", down=True)
        if status == 429 or status == 503:
            after = self._retry_after(error.response.headers)
            return Failure("judge_unavailable", again=True, after=after, busy=True, down=status == 503)
        if status in (408, 504):
            return Failure("judge_timeout", again=True, busy=True, down=True, paid=True)
        if status >= 500 and status != 501:
            return Failure("judge_unavailable", again=True, down=True)
        if status in (401, 403):
            return Failure("judge_unavailable", down=True)
        if status == 404:
            return Failure("judge_unavailable", down=True, other_form=True)
        return Failure("judge_failed", other_form=status in _NO_FORM and code not in _NEVER_FITS)

    def _retry_after(self, headers: httpx2.Headers) -> float:
        milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
        if (waited := _number(milliseconds)) is not None:
            return waited / 1000
        if (waited := _number(seconds)) is not None:
            return waited
        date = email.utils.parsedate_tz(seconds or "")
        return 0.0 if date is None else max(0.0, email.utils.mktime_tz(date) - self._wall_clock())


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
    return openai.AsyncAzureOpenAI(
        base_url=f"{address}/openai/deployments/{settings.deployment}", api_version=settings.api_version, **common
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _told(error: openai.APIStatusError) -> str:
    code = str(error.code or "")
    return f"status {error.status_code}{f' ({code})' if _CODE.fullmatch(code) else ''}"
