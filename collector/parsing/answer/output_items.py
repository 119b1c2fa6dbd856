"""Output of a streamed response (OpenAI Responses API), put together from its events where no object ends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple


class _Place(NamedTuple):
    """Where the pieces of an event belong: the type of their item, the list in it, the part in that, its member."""

    item: str
    parts: str
    part: str
    member: str


_PARTS: Final[Mapping[str, _Place]] = {
    "response.output_text": _Place("message", "content", "output_text", "text"),
    "response.refusal": _Place("message", "content", "refusal", "refusal"),
    "response.reasoning_text": _Place("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning_summary_text": _Place("reasoning", "summary", "summary_text", "text"),
    "response.reasoning_summary": _Place("reasoning", "summary", "summary_text", "text"),
    "response.reasoning": _Place("reasoning", "content", "reasoning_text", "text"),
}
_MEMBERS: Final[Mapping[str, tuple[str, str]]] = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}


def output_items(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items in their order. An item that ended stands as its event says it, others have the pieces that came."""
    items: dict[int, dict[str, Any]] = {}
    pieces: dict[tuple[int, str, int], list[str]] = {}
    ended = set()
    for event in events:
        name, _, step = str(event.get("type")).rpartition(".")
        at = _number(event.get("output_index"))
        item, delta = event.get("item"), event.get("delta")
        if name == "response.output_item" and isinstance(item, dict):
            items[at] = dict(item)
            if step == "done":
                ended.add(at)
        elif step == "delta" and isinstance(delta, str) and (name in _PARTS or name in _MEMBERS):
            part = _number(event.get("content_index", event.get("summary_index")))
            pieces.setdefault((at, name, part), []).append(delta)
    for (at, name, _), found in sorted(pieces.items()):
        if at not in ended:
            _add(items.setdefault(at, {}), name, "".join(found))
    return [items[at] for at in sorted(items)]


def _add(item: dict[str, Any], name: str, text: str) -> None:
    if name in _MEMBERS:
        kind, member = _MEMBERS[name]
        item.setdefault("type", kind)
        item[member] = text
        return
    place = _PARTS[name]
    item.setdefault("type", place.item)
    parts = item.get(place.parts)
    item[place.parts] = [*(parts if isinstance(parts, list) else []), {"type": place.part, place.member: text}]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
