"""The messages of a request: decoded as far as a row needs them, the rest left as JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct, UnsetType

from collector.parsing.json_text.value_limit import holds_more_values
from lake.spec.message_parts import text_or_none

_Json = Raw | UnsetType


class Message(Struct, gc=False, omit_defaults=True):
    """One message. Its members are those that make up a history, and `custom_content`."""

    role: str | UnsetType = UNSET
    content: _Json = UNSET
    tool_calls: _Json = UNSET
    function_call: _Json = UNSET
    tool_call_id: _Json = UNSET
    type: _Json = UNSET
    name: _Json = UNSET
    call_id: _Json = UNSET
    arguments: _Json = UNSET
    output: _Json = UNSET
    custom_content: _Json = UNSET


class RequestBody(Struct, gc=False):
    """The body of a request as far as a row needs it; `messages` are those of the Responses API too.

    With `previous_response_id` and `conversation` that API names earlier messages that are not sent again.
    """

    messages: list[Message] | UnsetType = UNSET
    input: _Json = UNSET
    instructions: _Json = UNSET
    system: _Json = UNSET
    prompt: _Json = UNSET
    previous_response_id: _Json = UNSET
    conversation: _Json = UNSET
    model: str | None = None
    stream: bool | None = None
    custom_fields: _Json = UNSET


_decode_body = msgspec.json.Decoder(RequestBody).decode
_decode_messages = msgspec.json.Decoder(list[Message]).decode
_encode = msgspec.json.Encoder().encode
_MEMBERS: Final = Message.__struct_fields__[1:-1]


def read_usual_body(text: str) -> RequestBody:
    """Decode a body whose members have the usual types.

    Raises msgspec.DecodeError, RecursionError or ValueError for any other, which `body_of` takes as decoded JSON.
    """
    if holds_more_values(text):
        raise ValueError("it holds too many values")
    body = _decode_body(text)
    if body.messages is UNSET and body.input is not UNSET:
        if json_of(body.input).startswith(b'"'):
            body.messages = [Message(role="user", content=body.input)]
        else:
            body.messages = _decode_messages(body.input)
    return body


def body_of(value: Mapping[str, Any]) -> RequestBody:
    """Read the members of the right types from a decoded body. Raises TypeError for more than 254 levels of nesting."""
    listed = [value[key] for key in ("messages", "input") if isinstance(value.get(key), list)]
    messages = [_message_of(message) for message in listed[0]] if listed else UNSET
    if not listed and isinstance(value.get("input"), str) and value["input"]:
        messages = [Message(role="user", content=_raw(value["input"]))]
    return RequestBody(
        messages=messages,
        instructions=_raw(value.get("instructions")),
        system=_raw(value.get("system")),
        prompt=_raw(value.get("prompt")),
        previous_response_id=_raw(value.get("previous_response_id")),
        conversation=_raw(value.get("conversation")),
        model=text_or_none(value.get("model")),
        stream=value["stream"] if isinstance(value.get("stream"), bool) else None,
        custom_fields=_raw(value.get("custom_fields")),
    )


def json_of(raw: _Json) -> bytes:
    """JSON text of a member; b"null" where it is absent."""
    return b"null" if raw is UNSET else bytes(raw)


def value_of(raw: _Json) -> Any:
    """Decode a member; None where it is absent. Raises orjson.JSONDecodeError."""
    return None if raw is UNSET else orjson.loads(memoryview(raw))


def said(messages: list[Message]) -> bytes:
    """Contents of messages as a JSON array; null is the same as absent."""
    text = _encode(messages)
    if b":null" not in text:
        return text
    for message in messages:
        for name in _MEMBERS:
            if json_of(getattr(message, name)) == b"null":
                setattr(message, name, UNSET)
    return _encode(messages)


def _message_of(value: object) -> Message:
    """A message of a decoded body; one that is none, or whose role is no text, is content that nobody said."""
    if not isinstance(value, dict) or not isinstance(value.get("role", ""), str):
        return Message(content=_raw(value))
    members = {name: _raw(value.get(name)) for name in (*_MEMBERS, "custom_content")}
    return Message(role=value.get("role", UNSET), **members)


def _raw(value: object) -> _Json:
    return UNSET if value is None else Raw(orjson.dumps(value))
