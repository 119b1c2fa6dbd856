"""Dry run of a judge client: the calls that would be made, counted without making them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Spend
from evaluator.judges.request_formats import bound_of, content_of
from evaluator.judges.schema import Schema
from evaluator.judges.settings import JudgeSettings

COMPLETION_TOKENS = 300
"""A reply's, where none of the judge is kept."""

CALL_SECONDS = 5.0
"""What a call is taken to last: it is not kept."""


@dataclass(frozen=True)
class RequestCount:
    """Calls that would be made, with their prompts' tokens: an upper bound, most texts have a fifth less or so."""

    calls: int = 0
    prompt_tokens: int = 0

    def __sub__(self, other: RequestCount) -> RequestCount:
        return RequestCount(self.calls - other.calls, self.prompt_tokens - other.prompt_tokens)


class DryRunClient(JudgeClient):
    """Counts each different request once, and answers it so that what is asked next is counted too.

    The reply is the request's usual one, or else the least that fits.
    """

    def __init__(self, client: JudgeClient) -> None:
        super().__init__(client.judges, client.calls)
        self.counted = RequestCount()
        self._seen: set[str] = set()

    def ask_all(self, name: str, requests: Iterable[JudgeRequest]) -> list[JudgeReply | JudgeError]:  # noqa: ARG002
        """Count the requests, and reply to each as is usual."""
        return [self._counted(request) for request in requests]

    def _counted(self, request: JudgeRequest) -> JudgeReply:
        prompt = [[message.content, *message.images] for message in request.messages]
        key = json.dumps([prompt, request.schema, request.draw])
        if key not in self._seen:
            self._seen.add(key)
            tokens = bound_of(json.dumps(request.schema), map(content_of, request.messages))
            self.counted = RequestCount(self.counted.calls + 1, self.counted.prompt_tokens + tokens)
        usual = least(request.schema) if request.usual is None else request.usual
        return JudgeReply(usual, Spend())


def seconds_for(judge: JudgeSettings, calls: float, tokens: float, cost: float) -> float:
    """Return about how long so many calls take: by concurrency and what a minute allows, or waits for new budgets."""
    minutes = [calls * CALL_SECONDS / judge.concurrency / 60]
    minutes += [calls / judge.requests_per_minute] if judge.requests_per_minute else []
    minutes += [tokens / judge.tokens_per_minute] if judge.tokens_per_minute else []
    minutes += [60 * int(cost / judge.budget_per_hour)] if judge.budget_per_hour else []
    minutes += [24 * 60 * int(cost / judge.budget_per_day)] if judge.budget_per_day else []
    return 60 * max(minutes)


def least(schema: Schema) -> Any:
    """Return a small value that fits a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "null")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            parts: Mapping[str, Schema] = schema.get("properties", {})
            return {name: least(part) for name, part in parts.items()}
        case "array":
            return [least(schema.get("items", {}))] * schema.get("minItems", 0)
        case "string":
            return ""
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", min(0, schema.get("maximum", 0)))
        case _:
            return None
