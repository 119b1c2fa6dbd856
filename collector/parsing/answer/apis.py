"""The shapes that an answer's JSON has: OpenAI completions, OpenAI Responses, Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct, UnsetType

from collector.parsing.json_text.bodies import objects, text_of, text_or_none
from collector.parsing.json_text.value_limit import holds_more_values
from lake import NO_ID

_CALLS = ("function_call", "custom_tool_call", "tool_use")


class Body(Struct, frozen=True, gc=False):
    """Content of an answer's JSON. `missing` names the part of a whole answer that this one does not have.

    `model` is "" and `empty_text` is true if they are empty in the JSON: DIAL Core may have lost both, and the stream
    that it merged may have them.
    """

    text: str | None
    response_id: str | None
    finish_reason: str | None
    model: str | None
    custom_content: dict[str, Any] = msgspec.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    empty_text: bool = False
    calls_tool: bool = False
    has_attachment: bool = False
    refusal: str | None = None
    reasoning: str | None = None


class _Said(Struct, gc=False):
    content: str | None = None
    custom_content: Raw | UnsetType = UNSET
    tool_calls: list[Raw] | None = None
    function_call: Raw | UnsetType = UNSET
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: Raw | UnsetType = UNSET
    audio: Raw | UnsetType = UNSET
    images: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Choice(Struct, gc=False):
    index: int | UnsetType = UNSET
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | UnsetType | None = UNSET
    text: str | None = None
    error: Raw | UnsetType = UNSET


class _Completion(Struct, gc=False):
    id: str
    choices: list[_Choice]
    model: str | None = None
    error: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Completion).decode


def read_whole_completion(text: str) -> Body | None:
    """Read a chat completion that is whole and says no error; None for any other text, which `read_body` may know.

    It decodes only the members that it returns.
    """
    if holds_more_values(text):
        return None
    try:
        value = _decode(text)
        choice = value.choices[0] if value.choices else _Choice()
        said = choice.message or choice.delta
        # Without an index the position counts (Core before 0.22.1 takes the index away).
        is_first = choice.index == 0 or (choice.index is UNSET and len(value.choices) == 1)
        if not value.id or said is None or not is_first or _is_special(said):
            return None
        if not (value.error is choice.error is UNSET):
            return None
        custom_content = None if said.custom_content is UNSET else orjson.loads(memoryview(said.custom_content))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    finish_reason = choice.finish_reason
    if finish_reason is UNSET or finish_reason == "":
        return None
    return Body(
        text=said.content or choice.text or None,
        response_id=value.id,
        finish_reason=once(finish_reason),
        model=value.model,
        custom_content=custom_content if isinstance(custom_content, dict) else {},
        empty_text=said.content == "" and not choice.text,
        has_attachment=custom_content is not None and _has_attachment(custom_content),
    )


def _is_special(said: _Said) -> bool:
    """Whether a message has more than a text and what DIAL adds to it."""
    if said.tool_calls or said.refusal or said.reasoning_content:
        return True
    return not (said.function_call is said.reasoning is said.audio is said.images is said.error is UNSET)


def _has_attachment(custom_content: object) -> bool:
    attachments = custom_content.get("attachments") if isinstance(custom_content, dict) else None
    return bool(attachments and objects(attachments))


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
        missing.append(NO_ID)
    if not choice or choice.keys() == {"index"}:
        missing.append("choice 0 is missing")
    elif finish_reason is not None and not text_or_none(finish_reason):
        missing.append("choice 0 has no finish_reason")
    text = text_of(message.get("content")) or text_or_none(choice.get("text"))
    model = value.get("model")
    return Body(
        text=text,
        response_id=text_or_none(value.get("id")),
        finish_reason=once(text_or_none(finish_reason)),
        model=model if isinstance(model, str) else None,
        custom_content=custom_content if isinstance(custom_content, dict) else {},
        missing=tuple(missing),
        empty_text=text is None and message.get("content") == "",
        calls_tool=bool(message.get("tool_calls") or message.get("function_call")),
        has_attachment=_has_attachment(custom_content) or bool(message.get("audio") or message.get("images")),
        refusal=text_or_none(message.get("refusal")),
        reasoning=text_or_none(message.get("reasoning_content")) or text_or_none(message.get("reasoning")),
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
    kinds = [item.get("type") for item in objects(value.get("output") or value.get("content"))]
    return Body(
        text="".join(texts) or None,
        response_id=response_id,
        finish_reason=text_or_none(finish_reason),
        model=text_or_none(value.get("model")),
        missing=() if response_id else (NO_ID,),
        calls_tool=any(kind in _CALLS for kind in kinds),
        has_attachment="image_generation_call" in kinds,
    )


def _block_text(content: object) -> str:
    """Both vendors cut one text into blocks at their citations, so nothing goes between the blocks."""
    return "".join(text_of([block]) or "" for block in objects(content))
