"""`ChatCompletion`: the parts of an endpoint's response that a judge's reply can be in, as they are kept."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from lake.spec.answer_kinds import finish_kind
from lake.spec.message_parts import PartKind, part_kind, read_parts, text_or_none
from lake.spec.vocabulary import FinishReason

Probabilities = Mapping[str, Mapping[str, float]]
"""By the name of a value, what its token was and what else it could have been, each with its probability (0 to 1)."""

_NAME = re.compile(r'"(\w+)"\s*:\s*"?$')
_VALUE = re.compile(r"[0-9]+|true|false|yes|no")
_LONGEST_NAME = 80
_LARGEST = 1e6
"""Of a logarithm: some endpoints write -9999 for never, and JSON has integers that no float can be."""
_ARGUMENTS = ("arguments", "input", "args", "json")


class UnreadableCompletionError(ValueError):
    """A body is no chat completion; `code` is the one of an error that came with status 200."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ChatCompletion:
    """The first choice of a chat completion. Tokens are None where the endpoint does not count them.

    `arguments` are those of the calls of tools, one after the other. `probabilities` are those of values that are
    numbers or truths, None where the endpoint gives none.
    """

    content: str | None
    arguments: str | None
    refusal: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_prompt_tokens: int
    completion_tokens: int | None
    probabilities: Probabilities | None = None

    @property
    def text(self) -> str:
        """The arguments of the tool calls, or else the content; a call may have none, `{}`."""
        has_arguments = (self.arguments or "{}").strip() != "{}"
        return (self.arguments if has_arguments else self.content or self.arguments) or ""

    @property
    def is_cut(self) -> bool:
        """Whether the reply ended at the limit of its tokens."""
        return finish_kind(self.finish_reason) == FinishReason.LENGTH

    def to_json(self) -> str:
        """Return what `completion_from_json` reads; ASCII, so that any text can be stored."""
        return json.dumps(asdict(self))


# As the module is imported: a type that msgspec first sees in several threads at once can crash the process.
msgspec.json.Decoder(ChatCompletion)


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
            "the endpoint replied with an error and status 200", text_or_none(_member(failure, "code"))
        )
    choices = _member(completion, "choices")
    if not isinstance(choices, list) or not choices:
        raise UnreadableCompletionError("the endpoint's reply has no choices")
    message = _member(choices[0], "message")
    parts = read_parts(_member(message, "content"))
    usage = _member(completion, "usage")
    return ChatCompletion(
        content=parts.text,
        arguments=_arguments(message),
        refusal=text_or_none(_member(message, "refusal")) or parts.refusal,
        finish_reason=text_or_none(_member(choices[0], "finish_reason")),
        prompt_tokens=_count(_member(usage, "prompt_tokens")),
        cached_prompt_tokens=_count(_member(_member(usage, "prompt_tokens_details"), "cached_tokens")) or 0,
        completion_tokens=_count(_member(usage, "completion_tokens")),
        probabilities=_probabilities(_member(_member(choices[0], "logprobs"), "content")),
    )


def _probabilities(tokens: Any) -> Probabilities | None:
    """Return the probabilities of the first token of each value, by its name; of several with one name, of the last."""
    found: dict[str, Mapping[str, float]] = {}
    before = ""
    for token in _items(tokens):
        text = text_or_none(_member(token, "token")) or ""
        name = _NAME.search((before + text[: len(text) - len(text.lstrip(' "'))])[-_LONGEST_NAME:])
        if name and _VALUE.fullmatch(_value(text)):
            found[name[1]] = _alternatives(token)
        before = (before + text)[-_LONGEST_NAME:]
    return found or None


def _alternatives(token: Any) -> Mapping[str, float]:
    """Return the probability of each number or truth that a token could be; the same in other writing is added up."""
    shown = _items(_member(token, "top_logprobs"))
    listed = [_member(one, "token") for one in shown]
    found: dict[str, float] = {}
    for one in shown if _member(token, "token") in listed else [token, *shown]:
        value, logprob = _value(text_or_none(_member(one, "token")) or ""), _member(one, "logprob")
        if _VALUE.fullmatch(value) and isinstance(logprob, (int, float)) and -_LARGEST <= logprob <= 0:
            found[value] = found.get(value, 0.0) + math.exp(logprob)
    return found


def _value(text: str) -> str:
    return text.strip().strip('"').lower()


def _arguments(message: Any) -> str | None:
    """Return the arguments of a message's calls, in whichever place and shape senders put them."""
    calls, content = _member(message, "tool_calls"), _member(message, "content")
    given = [_member(message, "function_call"), *(_member(call, "function") for call in _items(calls))]
    given += [*_items(content)] if isinstance(content, list) else [content]
    found = [text for one in given if (text := _arguments_of(one))]
    return "\n".join(dict.fromkeys(found)) or None


def _arguments_of(part: Any) -> str | None:
    """Return what a call or a part gives: in OpenAI's, Anthropic's and Gemini's words, or an object as it is."""
    inner = _member(part, "functionCall") or _member(part, "toolUse") or part
    for name in _ARGUMENTS:
        value = _member(inner, name)
        if isinstance(value, dict):
            return json.dumps(value)
        if isinstance(value, str):
            return value
    is_object = isinstance(part, dict) and "type" not in part and part_kind(part) is PartKind.TEXT
    return json.dumps(part) if is_object and not isinstance(_member(part, "text"), str) else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
