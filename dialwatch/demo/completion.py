"""A chat completion as a deployment sends it, plain or as a stream, and as Core assembles the stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Delta = dict[str, Any]
"""A piece of a message as `choices[0].delta` carries it; objects in its arrays carry their `index`."""

Shape = Literal["delta", "message"]
"""Key of the merged answer in `assembled_response`: `delta` up to Core 0.22.0, `message` since."""


@dataclass(frozen=True)
class Completion:
    """A completion in pieces, in the order in which they are sent.

    `created` is in epoch seconds. `usage` is the token object of the last chunk. With `error` the stream
    breaks off after the pieces and ends in that error object.
    """

    response_id: str
    created: int
    model: str | None
    deltas: tuple[Delta, ...]
    usage: Mapping[str, int] | None = None
    error: Mapping[str, Any] | None = None

    def plain(self) -> str:
        """Give the JSON body of an answer that was not streamed; Core logs the same as assembled."""
        choice = {"index": 0, "message": self._message(), "finish_reason": "stop"}
        body = {"id": self.response_id, "object": "chat.completion", "created": self.created, "model": self.model}
        return _json({**body, "choices": [choice], "usage": self.usage})

    def events(self) -> str:
        """Give the body of the stream: one server-sent event a piece, then `[DONE]`."""
        chunks = [_json(self._chunk(delta)) for delta in self.deltas]
        if self.error is None:
            chunks.append(_json({**self._chunk({}, "stop"), "usage": self.usage}))
        else:
            chunks.append(_json({"error": self.error}))
        return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])

    def assembled(self, shape: Shape) -> str:
        """Give what Core merges the stream into; an error costs it the id and the time, which come last."""
        broken = self.error is not None
        head: dict[str, Any] = {
            "id": None if broken else self.response_id,
            "object": "chat.completion",
            "created": None if broken else self.created,
            "model": self.model,
        }
        if self.usage is not None and not broken:
            head["usage"] = self.usage
        choice: dict[str, Any] = {"index": 0} if shape == "message" else {}
        choice |= {"finish_reason": None if broken else "stop", shape: self._message()}
        return _json({**head, "choices": [choice]})

    def _chunk(self, delta: Delta, finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": finish_reason, "delta": delta}
        head = {"id": self.response_id, "object": "chat.completion.chunk", "created": self.created}
        model = {} if self.model is None else {"model": self.model}
        return {**head, **model, "choices": [choice], "usage": None}

    def _message(self) -> Any:
        merged: Any = {}
        for delta in self.deltas:
            merged = _merge(merged, delta)
        return _without_index(merged)


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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
