"""Reader of what an answer is made of beside its text: calls of tools in its turn, and attachments that it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from collector.parsing.answer.answer import Answer
from collector.parsing.contexts import RETRIEVAL_RESPONSES
from collector.parsing.json_text.bodies import read_object
from collector.parsing.request.request import Request
from lake.spec.message_parts import PartKind, objects, part_kind, text_or_none
from lake.spec.tool_calls import MOST_CALLS, ToolCallsOrigin, Turn, messages_of_turn, read_turn, turn_of_state
from lake.spec.tool_messages import ToolCall

_NO_TURN = Turn([])
_NOT_CALLED = ToolCallsOrigin.NONE
"""Looked up once: a member of an enumeration takes long to look up, and this is done for each line."""


class ToolCalls(NamedTuple):
    """Values of the columns of these names, and what was left out. `calls` is None where they are not known."""

    calls: list[ToolCall] | None
    origin: ToolCallsOrigin | None
    repairs: tuple[str, ...] = ()


def read_tool_calls(request_body: str | None, request: Request, answer: Answer, *, is_entry: bool) -> ToolCalls:
    """Read the calls of tools of an answer's turn, of another one's call those that it asks for alone.

    The results are as long as they are. They are cut only after the redaction: half of a secret is not found.
    """
    content = answer.custom_content
    state = content.get("state") if content and isinstance(content, dict) else None
    is_unknown = answer.is_cut or answer.assembled is None or request.error is not None
    if answer.is_cut or not (state or answer.special or request.is_followed):  # most lines: no more is asked of them
        return ToolCalls(None if is_unknown else [], _NOT_CALLED)
    if state and (turn := turn_of_state(state)) is not None and turn.calls:
        return _tool_calls(turn, ToolCallsOrigin.STATE)
    earlier: list[dict[str, Any]] = []
    if request.is_followed and (body := read_object(request_body)) is not None:
        earlier = messages_of_turn(body)
    before = read_turn(earlier) if earlier else _NO_TURN
    asked = read_turn(answer.special) if answer.special else _NO_TURN
    if is_entry:
        origin = _origin(first=(asked, ToolCallsOrigin.ANSWER), second=(before, ToolCallsOrigin.REQUEST))
        whole = read_turn([*earlier, *answer.special]) if before.calls or before.strays else asked
    else:
        origin = _origin(first=(before, ToolCallsOrigin.REQUEST), second=(asked, ToolCallsOrigin.ANSWER))
        whole = asked
    if is_unknown and not whole.calls:
        return ToolCalls(None, origin)
    return _tool_calls(whole, origin)


def _origin(first: tuple[Turn, ToolCallsOrigin], second: tuple[Turn, ToolCallsOrigin]) -> ToolCallsOrigin:
    return next((origin for turn, origin in (first, second) if turn.calls), ToolCallsOrigin.NONE)


def _tool_calls(turn: Turn, origin: ToolCallsOrigin) -> ToolCalls:
    repairs = []
    if turn.strays:
        repairs.append(f"{turn.strays} {'result' if turn.strays == 1 else 'results'} of tools without a call left out")
    if len(turn.calls) > MOST_CALLS:
        repairs.append(f"the first {MOST_CALLS} of {len(turn.calls)} calls of tools were kept")
    return ToolCalls(turn.calls[:MOST_CALLS], origin, tuple(repairs))


def read_attachments(answer: Answer) -> list[dict[str, Any]] | None:
    """Read what an answer made: `type`, `title`, `url`, and `size` in bytes where it is in the log itself.

    Chunks of documents that the answer refers to are contexts. None where the answer is not known.
    """
    if answer.is_cut or answer.assembled is None:
        return None
    content = answer.custom_content
    attached = content.get("attachments") if content and isinstance(content, dict) else None
    if not (attached or answer.special):
        return []
    attached = objects(attached)
    made = [_attachment(one) for one in attached if one and _is_made(one)]
    return [*made, *(one for message in answer.special for one in _media(message))] if answer.special else made


def _is_made(attachment: Mapping[str, Any]) -> bool:
    return not text_or_none(attachment.get("reference_url")) and attachment.get("type") not in RETRIEVAL_RESPONSES


def _attachment(attachment: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: text_or_none(attachment.get(name)) for name in ("type", "title", "url")}
    return names | {"size": _size(attachment.get("data"))}


def _media(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Images, sounds and files of a message that are no attachments of DIAL, or of an item of a response."""
    if message.get("type") == "image_generation_call":
        yield _made("image", data=message.get("result"))
        return
    if isinstance(sound := message.get("audio"), dict):
        yield _made("audio", data=sound.get("data"))
    parts = [part for part in objects(message.get("content")) if part_kind(part) is PartKind.ATTACHMENT]
    for part in (*objects(message.get("images")), *parts):
        shown = part.get("image_url")
        url = text_or_none(shown.get("url") if isinstance(shown, dict) else shown)
        source = part.get("source") or part.get("inlineData")
        data = source.get("data") if isinstance(source, dict) else None
        kind = (text_or_none(part.get("type")) or "file").split("_")[0]
        is_inline = url is not None and url.startswith("data:")
        yield _made(kind, url=None if is_inline else url, data=url if is_inline else data)


def _made(kind: str, url: str | None = None, data: object = None) -> dict[str, Any]:
    return {"type": kind, "title": None, "url": url, "size": _size(data)}


def _size(data: object) -> int | None:
    return len(data.encode("utf-8", "replace")) if isinstance(data, str) else None
