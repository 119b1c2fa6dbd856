"""`ChatCompletion`: the parts of an endpoint's response that a judge's reply can be in, as they are kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from lake.spec.message_parts import read_parts


class UnreadableCompletionError(ValueError):
    """A body is no chat completion; `code` is the one of an error that came with status 200."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ChatCompletion:
    """The first choice of a chat completion. Tokens are None where the endpoint does not count them."""

    content: str | None
    arguments: str | None
    refusal: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_prompt_tokens: int
    completion_tokens: int | None

    @property
    def text(self) -> str:
        """The arguments of the tool call, or else the content."""
        return self.arguments or self.content or ""

    def to_json(self) -> str:
        """Return what `completion_from_json` reads; ASCII, so that any text can be stored."""
        return json.dumps(asdict(self))


def completion_from_json(text: str | bytes) -> ChatCompletion:
    """Return the completion that was kept. Raises ValueError for text that is none."""
    # Not msgspec's own JSON: it refuses halves of surrogate pairs, which models write.
    return msgspec.convert(json.loads(text), ChatCompletion)


def read_completion(body: bytes) -> ChatCompletion:
    """Read the body of a response with status 200. Raises UnreadableCompletionError."""
    try:
        completion = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableCompletionError(f"the endpoint's reply is no JSON: {error}") from None
    if failure := _member(completion, "error"):
        raise UnreadableCompletionError(
            "the endpoint replied with an error and status 200", _text(_member(failure, "code"))
        )
    choices = _member(completion, "choices")
    if not isinstance(choices, list) or not choices:
        raise UnreadableCompletionError("the endpoint's reply has no choices")
    message = _member(choices[0], "message")
    parts = read_parts(_member(message, "content"))
    usage = _member(completion, "usage")
    return ChatCompletion(
        content=parts.text,
        arguments=_arguments(_member(message, "tool_calls")),
        refusal=_text(_member(message, "refusal")) or parts.refusal,
        finish_reason=_text(_member(choices[0], "finish_reason")),
        prompt_tokens=_count(_member(usage, "prompt_tokens")),
        cached_prompt_tokens=_count(_member(_member(usage, "prompt_tokens_details"), "cached_tokens")) or 0,
        completion_tokens=_count(_member(usage, "completion_tokens")),
    )


def _arguments(tool_calls: Any) -> str | None:
    if not isinstance(tool_calls, list) or not tool_calls:
        return None
    arguments = _member(_member(tool_calls[0], "function"), "arguments")
    # Ollama's own shape has an object here.
    return json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
