"""The shapes that an answer's JSON has: OpenAI completions, OpenAI Responses, Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from collector.parsing.bodies import objects, text_of, text_or_none


@dataclass(frozen=True, slots=True)
class Body:
    """What the JSON of an answer says. `missing` names what a whole answer would have and this has not."""

    text: str | None
    response_id: str | None
    finish_reason: str | None
    model: str | None
    custom_content: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def read_body(value: Mapping[str, Any]) -> Body | None:
    """Read an answer; None where the object has the shape of none."""
    if isinstance(value.get("choices"), list) and value["choices"]:
        return _completion(value, value["choices"])
    if isinstance(value.get("output"), list):
        return _response(value)
    if value.get("type") == "message" and isinstance(value.get("content"), list):
        return _message(value)
    return None


def once(reason: str | None) -> str | None:
    """Undo the repetition of a word: Core merges two chunks that both say stop to "stopstop"."""
    if reason is None:
        return None
    period = (reason + reason).find(reason, 1)
    return reason[:period]


def _completion(value: Mapping[str, Any], choices: list[Any]) -> Body:
    choice = _first_choice(choices)
    message = message_of(choice)
    custom_content = message.get("custom_content")
    finish_reason = choice.get("finish_reason", "")
    missing = []
    if not text_or_none(value.get("id")):
        missing.append("the answer has no id")
    if not choice or choice.keys() == {"index"}:
        missing.append("choice 0 is missing")
    elif finish_reason is not None and not text_or_none(finish_reason):
        missing.append("choice 0 has no finish_reason")
    return Body(
        text=text_of(message.get("content")) or text_or_none(choice.get("text")),
        response_id=text_or_none(value.get("id")),
        finish_reason=once(text_or_none(finish_reason)),
        model=text_or_none(value.get("model")),
        custom_content=custom_content if isinstance(custom_content, dict) else {},
        missing=tuple(missing),
    )


def _first_choice(choices: list[Any]) -> dict[str, Any]:
    for choice in objects(choices):
        if choice.get("index") == 0:
            return choice
    first = choices[0]
    # Without an index the position counts (Core before 0.22.1 takes the index away).
    return first if isinstance(first, dict) and not isinstance(first.get("index"), int) else {}


def message_of(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Message of a choice, which Core before 0.22.1 calls `delta`; {} if there is none."""
    for key in ("message", "delta"):
        message = choice.get(key)
        if isinstance(message, dict):
            return message
    return {}


def _response(value: Mapping[str, Any]) -> Body:
    contents = [item.get("content") for item in objects(value.get("output")) if item.get("type") == "message"]
    details, status = value.get("incomplete_details"), value.get("status")
    reason = details.get("reason") if isinstance(details, dict) else None
    return _of_blocks(
        value, [_block_text(content) for content in contents], reason or (None if status == "in_progress" else status)
    )


def _message(value: Mapping[str, Any]) -> Body:
    return _of_blocks(value, [_block_text(value.get("content"))], value.get("stop_reason"))


def _of_blocks(value: Mapping[str, Any], texts: list[str], finish_reason: object) -> Body:
    response_id = text_or_none(value.get("id"))
    return Body(
        text="".join(texts) or None,
        response_id=response_id,
        finish_reason=text_or_none(finish_reason),
        model=text_or_none(value.get("model")),
        missing=() if response_id else ("the answer has no id",),
    )


def _block_text(content: object) -> str:
    """Both vendors cut one text into blocks at their citations, so nothing goes between the blocks."""
    return "".join(text_of([block]) or "" for block in objects(content))
