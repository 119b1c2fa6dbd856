"""A response of DIAL that was not logged but received: its answer and contexts, read as those of a log line are."""

from __future__ import annotations

from typing import Any

import msgspec

from collector.parsing.answer.answer import read_answer
from collector.parsing.contexts import read_contexts
from collector.parsing.json_text.bodies import read_object
from lake.spec.vocabulary import ContextsOrigin, has_known_contexts

_OK = 200


class Completion(msgspec.Struct, frozen=True):
    """What a response with status 200 holds.

    `contexts` are rows of `parsed_logs.contexts` in rank order, None where they are not known. `cited_only` says that
    they are those that the answer refers to. Tokens are None where they are not counted.
    """

    answer: str | None
    response_id: str | None
    contexts: list[dict[str, Any]] | None
    cited_only: bool
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


def read_completion(body: bytes) -> Completion:
    """Read the body of a chat completion, streamed or whole; never raises."""
    text = body.decode("utf-8", "replace")
    answer = read_answer(text, text, status=_OK)
    contexts, origin = read_contexts(answer.custom_content, ())
    usage = (read_object(answer.assembled) or {}).get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return Completion(
        answer=answer.text,
        response_id=answer.response_id,
        contexts=[msgspec.structs.asdict(one) for one in contexts] if has_known_contexts(origin) else None,
        cited_only=origin == ContextsOrigin.CITED,
        error=answer.error,
        prompt_tokens=_count(tokens.get("prompt_tokens")),
        completion_tokens=_count(tokens.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
