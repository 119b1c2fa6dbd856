"""Calls of tools and their results in one message, in the words of all senders.

A call is a dict as in `parsed_logs.tool_calls`: `id`, `name`, `arguments` (JSON text), `result` (text), `is_error`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from lake.spec.message_parts import is_said, objects, text_or_none

ToolCall = dict[str, Any]
Message = Mapping[str, Any]

_TEXT_PARTS: Final = (None, "text", "input_text", "output_text", "tool_reference")
_HOSTED_INPUTS: Final = ("action", "arguments", "input", "code", "queries")
_NOT_A_TOOL: Final = ("image_generation_call",)
_SHOWN: Final = ("image", "image_url", "input_image", "audio", "video")
"""Types of parts that a person sees or hears, and that are megabytes."""
_UNREADABLE: Final = ("encrypted_content", "encrypted_stdout")
"""Members that only the sender can read: they would fill all that is kept of a result."""
_OLD_COMMANDS: Final = ("run-addon", "run-plugin")
_TOOL: Final = ("tool", "function")
_LANGCHAIN_ROLES: Final[Mapping[object, str]] = {
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("tool", "ToolMessage", "ToolMessageChunk"), "tool"),
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk"), "user"),
}


class Result(NamedTuple):
    """Result of a call, and what it says of the call that it belongs to."""

    id: str | None
    name: str | None
    text: str | None
    is_error: bool | None


def is_of_person(message: Message) -> bool:
    """Return whether a person speaks."""
    message = _usual(message)
    return message.get("role") in ("user", "human") and is_said(message.get("content"))


def is_of_tool(message: Message) -> bool:
    """Return whether a message has the result of a tool."""
    return any(isinstance(found, Result) for found in found_in(message))


def _usual(message: Message) -> Message:
    """A message of LangChain as one of chat completions; any other as it is.

    LangChain writes it flat, within `data`, or as the keyword arguments of its class.
    """
    if message.get("role") is not None:
        return message
    kind, inner = message.get("type"), message.get("data")
    if kind == "constructor":
        path, inner = message.get("id"), message.get("kwargs")
        kind = path[-1] if isinstance(path, list) and path else None
    role = _LANGCHAIN_ROLES.get(kind) if isinstance(kind, str) else None
    return message if role is None else {"role": role} | (inner if isinstance(inner, dict) else dict(message))


def found_in(message: Message) -> Iterator[ToolCall | Result]:
    """Yield the calls that a message asks for, and the results that it has."""
    message = _usual(message)
    role, content, kind = message.get("role"), message.get("content"), message.get("type")
    if isinstance(kind, str) and role is None:
        yield from _of_item(message, kind)
        return
    if role is None and "request" in message:
        yield from _of_addons(message)
        return
    if role in _TOOL:
        yield Result(
            text_or_none(message.get("tool_call_id")),
            text_or_none(message.get("name")),
            _result_text(content),
            _has_failed(message.get("status")),
        )
        return
    asked = list(map(_of_chat, _asked(message)))
    # LangChain has the calls of Anthropic's models in the content too.
    repeated = {call["id"] for call in asked if call["id"] is not None}
    for part in objects(content):
        for found in _of_part(part):
            if isinstance(found, Result) or found["id"] not in repeated:
                yield found
    yield from asked


def _asked(message: Message) -> list[dict[str, Any]]:
    """The calls beside the content; older LangChain has them in `additional_kwargs` alone."""
    kept = message.get("additional_kwargs")
    for holder in (message, kept if isinstance(kept, dict) else {}):
        if found := objects(holder.get("tool_calls")) or objects([holder.get("function_call")]):
            return found
    return []


def _of_chat(call: Message) -> ToolCall:
    said = next((call[name] for name in ("function", "custom") if isinstance(call.get(name), dict)), call)
    arguments = next((said[name] for name in ("arguments", "args", "input") if name in said), None)
    return _call(call.get("id"), said.get("name"), arguments)


def _of_part(part: Message) -> Iterator[ToolCall | Result]:
    """A part of a message's content: of the Messages API, of Bedrock (`toolUse`, `toolResult`) or of Gemini."""
    kind = part.get("type")
    if isinstance(kind, str) and kind.endswith("tool_use"):
        # A stream leaves the input empty and has its pieces apart.
        yield _call(part.get("id"), part.get("name"), part.get("partial_json") or part.get("input"))
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        content = part.get("content")
        yield Result(text_or_none(part.get("tool_use_id")), None, _result_text(content), _is_error(part, content))
    elif isinstance(used := part.get("toolUse"), dict):
        yield _call(used.get("toolUseId"), used.get("name"), used.get("input"))
    elif isinstance(gave := part.get("toolResult"), dict):
        yield Result(
            text_or_none(gave.get("toolUseId")),
            None,
            _result_text(gave.get("content")),
            _has_failed(gave.get("status")),
        )
    elif isinstance(used := part.get("functionCall"), dict):
        yield _call(used.get("id"), used.get("name"), used.get("args"))


def _is_error(part: Message, content: object) -> bool | None:
    """Whether a result of the Messages API says that the tool failed; a tool of the server says it in its content."""
    if isinstance(said := part.get("is_error"), bool):
        return said
    if part.get("type") == "tool_result":
        return None
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _of_item(item: Message, kind: str) -> Iterator[ToolCall | Result]:
    """An item of the Responses API; the tools that the server runs have their results with them."""
    call_id = item.get("call_id") or item.get("id")
    if kind.endswith("_output"):
        yield Result(text_or_none(call_id), None, _result_text(item.get("output")), None)
    elif kind == "mcp_call":
        error = item.get("error")
        result = item.get("output") if error is None else error
        has_failed = error is not None or item.get("status") == "failed"
        is_known = has_failed or (item.get("status") or "completed") == "completed"
        arguments, text = item.get("arguments"), _result_text(result)
        yield _call(call_id, item.get("name"), arguments, text, has_failed if is_known else None)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments") if "arguments" in item else item.get("input")
        yield _call(call_id, item.get("name"), arguments)
    elif kind.endswith("_call") and kind not in _NOT_A_TOOL:
        name = kind.removesuffix("_call")
        given = {member: item[member] for member in _HOSTED_INPUTS if item.get(member) is not None}
        arguments = given["action"] if given.keys() == {"action"} else given
        result = next((item[member] for member in ("outputs", "results") if item.get(member)), None)
        yield _call(call_id, name, arguments, _logs(result))


def _of_addons(invocation: Message) -> Iterator[ToolCall]:
    """Calls of addons that DIAL's assistant made at once, each with what it gave; both lists are JSON texts."""
    done = _listed(invocation.get("response"), "responses")
    for place, command in enumerate(_listed(invocation.get("request"), "commands")):
        name, arguments = command.get("command"), command.get("arguments")
        given = command.get("args")
        if name in _OLD_COMMANDS and isinstance(given, list) and len(given) > 1:
            name, arguments = given[0], {"query": given[1]}
        gave = done[place] if place < len(done) else {}
        result, is_error = _result_text(gave.get("response")), _has_failed(gave.get("status"))
        yield _call(None, name, arguments, result, is_error)


def _has_failed(status: object) -> bool | None:
    """Whether a status says that a tool failed; None where there is none."""
    return status.lower() == "error" if isinstance(status, str) else None


def _listed(text: object, member: str) -> list[dict[str, Any]]:
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return []
    return objects(value.get(member)) if isinstance(value, dict) else []


def _call(
    call_id: object, name: object, arguments: object, result: str | None = None, is_error: bool | None = None
) -> ToolCall:
    written = arguments if isinstance(arguments, str) or arguments is None else json_text(arguments)
    return {
        "id": text_or_none(call_id),
        "name": text_or_none(name),
        "arguments": written,
        "result": result,
        "is_error": is_error,
    }


def _result_text(content: object) -> str | None:
    """A text, those of a list of parts, or the JSON of anything else; None where that is nested too deep.

    Images and sounds beside texts are left out, and what is encrypted.
    """
    if content is None or isinstance(content, str):
        return content
    parts = [part for part in objects(content) if part.get("type") not in _SHOWN]
    texts = [part["text"] for part in parts if part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)]
    if texts and len(texts) == len(parts):
        return "\n".join(texts)
    return json_text(list(map(_readable, content)) if isinstance(content, list) else _readable(content))


def _readable(value: object) -> object:
    if not isinstance(value, dict) or not value.keys() & set(_UNREADABLE):
        return value
    return {name: inner for name, inner in value.items() if name not in _UNREADABLE}


def _logs(outputs: object) -> str | None:
    """What a program printed, or the JSON of other results."""
    texts = [one["logs"] for one in objects(outputs) if isinstance(one.get("logs"), str)]
    return "\n".join(texts) if texts else _result_text(outputs)


def json_text(value: object) -> str | None:
    """Encode a decoded JSON value; None where it is nested too deep for that (254 levels)."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return None
