"""A streamed chat completion as a deployment sends it, and as Core assembles the stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Delta = dict[str, Any]
"""A piece of a message as `choices[0].delta` carries it; objects in its arrays carry their `index`."""

Shape = Literal["delta", "message"]
"""Key of the merged answer in `assembled_response`: `delta` up to Core 0.22.0, `message` since."""

_DATA = re.compile(r"^data: (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True)
class StreamedCompletion:
    """A streamed completion in pieces, in the order in which they are sent.

    `created` is in epoch seconds. `usage` is the token object of the last chunk.
    """

    response_id: str
    created: int
    model: str
    deltas: tuple[Delta, ...]
    usage: Mapping[str, int]

    def events(self) -> str:
        """Return the body of the stream: one server-sent event a piece, then `[DONE]`."""
        chunks = [self._chunk(delta) for delta in self.deltas]
        return _events(compact_json(chunk) for chunk in [*chunks, {**self._chunk({}, "stop"), "usage": self.usage}])

    def _chunk(self, delta: Delta, finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": finish_reason, "delta": delta}
        head = {"id": self.response_id, "object": "chat.completion.chunk", "created": self.created}
        return {**head, "model": self.model, "choices": [choice], "usage": None}


def assembled(events: str, shape: Shape) -> str:
    """Return what Core merges the events of a stream into; an error costs it the id and the time, which come last."""
    chunks = [json.loads(data) for data in _DATA.findall(events)]
    last: Mapping[str, Any] = chunks[-1] if chunks else {}
    head: dict[str, Any] = {
        "id": last.get("id"),
        "object": "chat.completion",
        "created": last.get("created"),
        "model": next((chunk["model"] for chunk in chunks if chunk.get("model")), None),
    }
    usage = _merged(chunk.get("usage") for chunk in chunks)
    if usage:
        head["usage"] = usage
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    finish = next((choice["finish_reason"] for choice in choices if choice["finish_reason"]), None)
    choice: dict[str, Any] = {"index": 0} if shape == "message" else {}
    message = _without_index(_merged(choice["delta"] for choice in choices))
    return compact_json({**head, "choices": [choice | {"finish_reason": finish, shape: message}]})


def broken_off(events: str, error: Mapping[str, Any], lost: int) -> str:
    """Return a stream that lost its last `lost` events and ends in an error object."""
    return _events([*_DATA.findall(events)[:-lost], compact_json({"error": error})])


def _events(chunks: Iterable[str]) -> str:
    return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])


def _merged(parts: Iterable[Any]) -> Any:
    merged: Any = {}
    for part in parts:
        merged = _merge(merged, part)
    return merged


def _merge(target: Any, source: Any) -> Any:
    """Merge a piece into what came before: texts are joined, objects merged, arrays merged by `index`."""
    if source is None:
        return target
    if isinstance(target, dict) and isinstance(source, dict):
        return {**target, **{key: _merge(target.get(key), value) for key, value in source.items()}}
    if isinstance(target, str) and isinstance(source, str):
        return target + source
    if isinstance(target, list) and isinstance(source, list):
        by_index = {item["index"]: item for item in target}
        for item in source:
            by_index[item["index"]] = {**_merge(by_index.get(item["index"], {}), item), "index": item["index"]}
        return [by_index[index] for index in sorted(by_index)]
    return source


def _without_index(value: Any, in_array: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _without_index(item) for key, item in value.items() if not (in_array and key == "index")}
    if isinstance(value, list):
        return [_without_index(item, in_array=True) for item in value]
    return value


def compact_json(value: Any) -> str:
    """Return a value as JSON without blanks, as DIAL Core writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def token_count(text: str) -> int:
    """Return about how many tokens a text has."""
    return max(1, len(text) // 4)
