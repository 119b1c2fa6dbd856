"""Questions of cases, asked of a deployment behind DIAL: a few at once, each in a trace of its own."""

from __future__ import annotations

import asyncio
import mimetypes
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from evaluator.replays.settings import ReplaySettings
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import Origin, origin_headers

if TYPE_CHECKING:  # it takes a second to import, and most commands ask nobody
    import openai

_RETRIES = 2
_QUOTED_CHARACTERS = 300


@dataclass(frozen=True)
class Reply:
    """What a deployment answered. `contexts` are rows of `lake.CONTEXT` in rank order, None where they are not known.

    `cited_only` says that they are only what the answer refers to, and not all that was retrieved. `tool_calls` are
    those that the answer itself tells, None where it tells of none.
    """

    answer: str | None
    response_id: str | None
    contexts: list[dict[str, Any]] | None
    error: str | None = None
    cited_only: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tool_calls: list[ToolCall] | None = None


ReadReply = Callable[[bytes], Reply]
"""Reads the body of DIAL's response with status 200."""


@dataclass(frozen=True)
class Asked:
    """A case that was asked, and what came of it."""

    case: Mapping[str, Any]
    trace_id: str
    asked_at: datetime
    duration_ms: int
    reply: Reply


class Deployment(Protocol):
    """What cases are asked of."""

    async def ask(self, question: str, documents: Sequence[str], trace_id: str) -> Reply:
        """Ask a question about these documents; what goes wrong stands in the reply."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class DialDeployment:
    """A deployment behind DIAL Core, asked with a key of its own."""

    def __init__(self, name: str, settings: ReplaySettings, read_reply: ReadReply) -> None:
        """Raises KeyError where no key is set for the deployment, ValueError where no address is."""
        if settings.base_url is None:
            raise ValueError("evaluator.replay.base_url is not set: give the address of DIAL Core")
        self._name = name
        self._settings = settings
        self._key = settings.deployments[name].api_key.get_secret_value()
        self._read_reply = read_reply
        self._client: openai.AsyncAzureOpenAI | None = None

    async def ask(self, question: str, documents: Sequence[str], trace_id: str) -> Reply:
        """Ask a question about these documents; what goes wrong stands in the reply."""
        import httpx2
        import openai

        message: dict[str, Any] = {"role": "user", "content": question}
        if documents:
            message["custom_content"] = {"attachments": [_attachment(url) for url in documents]}
        headers = origin_headers(Origin.REPLAY) | {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"}
        try:
            response = await self._opened().post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body={"messages": [message], "stream": False},
                options={"headers": headers},
            )
        except openai.APIStatusError as error:
            return Reply(None, None, None, f"status {error.status_code}: {error.message[:_QUOTED_CHARACTERS]}")
        except openai.APITimeoutError:
            return Reply(None, None, None, f"no whole answer within {self._settings.timeout:g} s")
        except openai.APIConnectionError as error:
            return Reply(None, None, None, f"no connection: {error.__cause__ or error}"[:_QUOTED_CHARACTERS])
        return self._read_reply(response.content)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _opened(self) -> openai.AsyncAzureOpenAI:
        import openai

        if self._client is None:
            address = (self._settings.base_url or "").rstrip("/")
            self._client = openai.AsyncAzureOpenAI(
                base_url=f"{address}/openai/deployments/{self._name}",
                api_version=self._settings.api_version,
                api_key=self._key,
                timeout=self._settings.timeout,
                max_retries=_RETRIES,
            )
        return self._client


def ask_all(
    deployment: Deployment,
    cases: Sequence[Mapping[str, Any]],
    settings: ReplaySettings,
    is_stopping: Callable[[], bool] = lambda: False,
) -> list[Asked]:
    """Ask the cases in their order, `settings.concurrency` at once, until all are asked or `most_tokens` are taken."""
    return asyncio.run(_ask_all(deployment, cases, settings, is_stopping))


async def _ask_all(
    deployment: Deployment,
    cases: Sequence[Mapping[str, Any]],
    settings: ReplaySettings,
    is_stopping: Callable[[], bool],
) -> list[Asked]:
    left, asked, taken = iter(cases), list[Asked](), 0

    async def work() -> None:
        nonlocal taken
        while taken < settings.most_tokens and not is_stopping() and (case := next(left, None)) is not None:
            one = await _ask(deployment, case)
            taken += (one.reply.prompt_tokens or 0) + (one.reply.completion_tokens or 0)
            asked.append(one)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.concurrency):
                group.create_task(work())
    finally:
        await deployment.close()
    return asked


async def _ask(deployment: Deployment, case: Mapping[str, Any]) -> Asked:
    trace_id, at, begun = secrets.token_hex(16), datetime.now(UTC), perf_counter()
    reply = await deployment.ask(case["question"], case["documents"] or (), trace_id)
    return Asked(case, trace_id, at, round(1000 * (perf_counter() - begun)), reply)


def _attachment(url: str) -> dict[str, str]:
    kind, _ = mimetypes.guess_type(url)
    return {"type": kind or "application/octet-stream", "title": url.rsplit("/", 1)[-1], "url": url}
