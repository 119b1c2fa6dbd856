"""The shapes that an answer's JSON has: OpenAI completions, OpenAI Responses, Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct, UnsetType

from collector.parsing.json_text.bodies import read_object
from collector.parsing.json_text.value_limit import holds_more_values
from lake.spec.message_parts import MessageParts, apart, objects, once, read_parts, text_or_none, thoughts_of
from lake.spec.vocabulary import NO_ID, FinishReason

_CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "mcp_approval_request",
)
"""Items of the Responses API that ask the client for something; `mcp_call` and `web_search_call` ran on the server."""
_PLAIN = frozenset(("role", "content", "custom_content", "refusal"))
"""Members of a message that is a text or a refusal, and what DIAL adds to it."""
_SAID = ("message", "reasoning")
_FINAL_PHASES = ("final_answer", "final")
_USUAL_REASONS = ("stop", "completed", "end_turn")
_NO_REASON = re.compile("(?:null|none)+", re.IGNORECASE)


class Body(Struct, frozen=True, gc=False):
    """Content of an answer's JSON. `missing` names the part of a whole answer that this one does not have.

    `model` is "" and `empty_text` is true if they are empty in the JSON: DIAL Core may have lost both, and the stream
    that it merged may have them. `is_glued` is true where Core has joined what each chunk repeats.
    `special` are the messages or items that call tools or show something.
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
    is_glued: bool = False
    special: tuple[dict[str, Any], ...] = ()


class _Object(Struct, gc=False):
    """Any object: what is in it is not decoded."""


class _Said(Struct, gc=False):
    content: str | None = None
    custom_content: Raw | UnsetType = UNSET
    tool_calls: list[Raw] | None = None
    function_call: _Object | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[Raw] | None = None
    thinking_blocks: list[Raw] | None = None
    audio: _Object | None = None
    images: list[Raw] | None = None
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
        if choice.message and choice.delta:
            return None
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
    if finish_reason != "stop":
        if finish_reason is UNSET:
            return None
        finish_reason = reason_of(finish_reason)
    return Body(
        text=said.content or choice.text or None,
        response_id=value.id,
        finish_reason=finish_reason,
        model=value.model,
        custom_content=custom_content if isinstance(custom_content, dict) else {},
        empty_text=said.content == "" and not choice.text,
        has_attachment=custom_content is not None and _has_attachment(custom_content),
    )


def _is_special(said: _Said) -> bool:
    """Whether a message has more than a text and what DIAL adds to it."""
    return bool(
        said.tool_calls
        or said.refusal
        or said.reasoning_content
        or said.function_call
        or said.reasoning
        or said.thinking
        or said.reasoning_text
        or said.reasoning_details
        or said.thinking_blocks
        or said.audio
        or said.images
        or said.error is not UNSET
    )


def _has_attachment(custom_content: object) -> bool:
    """Whether a person sees something beside the text: an attachment, or a form to fill in."""
    if not isinstance(custom_content, dict):
        return False
    attachments = custom_content.get("attachments")
    return bool((attachments and objects(attachments)) or custom_content.get("form_schema"))


def read_body(value: Mapping[str, Any]) -> Body | None:
    """Read an answer; None where the object has the shape of none."""
    if isinstance(value.get("choices"), list) and value["choices"]:
        return _completion(value, value["choices"])
    if isinstance(value.get("output"), list):
        return _response(value)
    if value.get("type") == "message" and isinstance(value.get("content"), list):
        return _message(value)
    return None


def reason_of(word: object) -> str | None:
    """The sender's finish reason; None where there is none.

    DIAL Core joins the words of several chunks: "stopstop" is one word. "null" and "None" are no reason, nor is "".
    """
    if word in _USUAL_REASONS or not isinstance(word, str):
        return word if isinstance(word, str) else None
    said = _NO_REASON.sub("", word) if word[:4].lower() in ("null", "none") else word
    return once(said.removesuffix("null")) or None


def _completion(value: Mapping[str, Any], choices: list[Any]) -> Body:
    choice = _first_choice(choices)
    message = message_of(choice)
    custom_content = message.get("custom_content")
    finish_reason = choice.get("finish_reason", UNSET)
    response_id, model = text_or_none(value.get("id")), value.get("model")
    missing: tuple[str, ...] = () if response_id else (NO_ID,)
    if not choice or (len(choice) == 1 and "index" in choice):
        missing += ("choice 0 is missing",)
    elif finish_reason is not None and not isinstance(finish_reason, str):
        missing += ("choice 0 has no finish_reason",)
    content = message.get("content")
    parts = read_parts(content)
    text = parts.text or text_or_none(choice.get("text"))
    body = Body(
        text=text,
        response_id=response_id,
        finish_reason=reason_of(finish_reason),
        model=model if isinstance(model, str) else None,
        custom_content=custom_content if isinstance(custom_content, dict) else {},
        missing=missing,
        empty_text=text is None and content == "",
        has_attachment=custom_content is not None and _has_attachment(custom_content),
        refusal=text_or_none(message.get("refusal")),
    )
    return body if isinstance(content, str) and message.keys() <= _PLAIN else _with_more(body, message, parts)


def _with_more(body: Body, message: Mapping[str, Any], parts: MessageParts) -> Body:
    """The body with what a message has beside its text."""
    called, function = message.get("tool_calls"), message.get("function_call")
    calls = objects(called) or objects([function])
    audio = message.get("audio")
    shows = bool(audio or message.get("images")) or parts.has_attachment
    calls_tool = bool(called or function) or parts.calls_tool
    return msgspec.structs.replace(
        body,
        text=body.text or (text_or_none(audio.get("transcript")) if isinstance(audio, dict) else None),
        calls_tool=calls_tool,
        has_attachment=body.has_attachment or shows,
        special=({"role": "assistant"} | dict(message),) if calls_tool or shows else (),
        refusal=body.refusal or parts.refusal,
        reasoning=thoughts_of(message) or parts.thoughts,
        is_glued=any(map(_is_glued, calls)),
    )


def _is_glued(call: Mapping[str, Any]) -> bool:
    """Whether DIAL Core has joined a call of a tool that came whole in each chunk, or several that share an index."""
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    for word in (call.get("type"), call.get("id"), function.get("name")):
        if word != "function" and isinstance(word, str) and once(word) != word:
            return True
    arguments = function.get("arguments")
    return isinstance(arguments, str) and "}{" in arguments and read_object(arguments) is None


def _first_choice(choices: list[Any]) -> dict[str, Any]:
    first = choices[0]
    if isinstance(first, dict) and first.get("index") == 0:
        return first
    for choice in objects(choices):
        if choice.get("index") == 0:
            return choice
    # Without an index the position counts (Core before 0.22.1 takes the index away).
    return first if isinstance(first, dict) and not isinstance(first.get("index"), int) else {}


def message_of(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Message of a choice, which Core before 0.22.1 calls `delta`; {} if there is none.

    A message beside a delta is what a chunk repeats of all that was said so far: what the delta has counts.
    """
    message, delta = choice.get("message"), choice.get("delta")
    if not isinstance(delta, dict):
        return message if isinstance(message, dict) else {}
    if not isinstance(message, dict):
        return delta
    return message | {key: value for key, value in delta.items() if value or key not in message}


def _response(value: Mapping[str, Any]) -> Body:
    items = objects(value.get("output"))
    texts: dict[object, list[str]] = {}
    thoughts: list[str] = []
    refusals: list[str] = []
    has_attachment = has_call = False
    for item in items:
        kind = item.get("type")
        if kind == "message":
            text, thought, refusal, shows, _ = read_parts(item.get("content"))
            phase = item.get("phase")
            texts.setdefault("final" if phase in _FINAL_PHASES else str(phase or ""), []).append(text or "")
            if thought:
                thoughts.append(thought)
            if refusal:
                refusals.append(refusal)
            has_attachment = has_attachment or shows
        elif kind == "reasoning":
            thoughts.append(thoughts_of({"reasoning": item}) or "")
        elif kind == "image_generation_call":
            has_attachment = True
        elif kind in _CALLS:
            has_call = True
    details, status = value.get("incomplete_details"), value.get("status")
    reason = details.get("reason") if isinstance(details, dict) else None
    calls_tool = has_call and _calls_tool(items)
    if calls_tool and status == "completed":
        status = FinishReason.TOOL_CALLS.value
    said = texts.get("final") or texts.get("") or [text for found in texts.values() for text in found]
    return _of_parts(
        value,
        reason or (None if status == "in_progress" else status),
        text=apart(said) or text_or_none(value.get("output_text")),
        refusal=apart(refusals) if refusals else None,
        reasoning=apart(thoughts) if thoughts else None,
        calls_tool=calls_tool,
        has_attachment=has_attachment,
        special=tuple(item for item in items if item.get("type") not in _SAID),
    )


def _calls_tool(items: list[dict[str, Any]]) -> bool:
    """Whether an item of a response calls a tool of the client, whose output is not there yet."""
    calls = [item.get("call_id") for item in items if item.get("type") in _CALLS]
    done = [item.get("call_id") for item in items if str(item.get("type")).endswith("_output")]
    return not done or any(call not in done for call in calls)


def _message(value: Mapping[str, Any]) -> Body:
    parts = read_parts(value.get("content"))
    return _of_parts(
        value,
        value.get("stop_reason"),
        text=parts.text,
        refusal=parts.refusal,
        reasoning=parts.thoughts,
        calls_tool=parts.calls_tool,
        has_attachment=parts.has_attachment,
        special=(dict(value),) if parts.calls_tool or parts.has_attachment or _has_hosted_call(value) else (),
    )


def _has_hosted_call(value: Mapping[str, Any]) -> bool:
    """Whether a message calls a tool that ran on the server, such as `server_tool_use`; it asks for nothing."""
    return any(str(part.get("type")).endswith("tool_use") for part in objects(value.get("content")))


def _of_parts(
    value: Mapping[str, Any],
    finish_reason: object,
    *,
    text: str | None,
    refusal: str | None,
    reasoning: str | None,
    calls_tool: bool,
    has_attachment: bool,
    special: tuple[dict[str, Any], ...],
) -> Body:
    response_id = text_or_none(value.get("id"))
    return Body(
        text=text,
        response_id=response_id,
        finish_reason=reason_of(finish_reason),
        model=text_or_none(value.get("model")),
        missing=() if response_id else (NO_ID,),
        calls_tool=calls_tool,
        has_attachment=has_attachment,
        refusal=refusal,
        reasoning=reasoning,
        special=special,
    )
