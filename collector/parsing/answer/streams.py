"""Putting the chunks of a stream together to the JSON that would have come without streaming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from collector.parsing.answer.chunk_merge import ChunkMerge
from collector.parsing.answer.deltas import Deltas
from collector.parsing.answer.output_items import output_items
from lake.spec.message_parts import text_or_none

_FINAL_EVENTS: Final = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_MESSAGE: Final = '"message":'
_BEGINNING: Final = 1_000
_ABSENT: Final = object()
_BLOCK_DELTAS: Final = ("text", "thinking", "partial_json", "signature")


def repeats_message(body: str) -> bool:
    """Whether the chunks of a chat completion may have a `message`, which holds all that was said so far.

    The first chunk shows it; without decoding.
    """
    return body.find(_MESSAGE, 0, _BEGINNING) != -1


def assemble(chunks: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """Merge decoded chunks; also the number of values that fitted nowhere and were left out.

    The shape is what DIAL Core 0.22.1 and later writes: choices with `index` and `message`. `id` is the last one
    that is not empty, `model` the first. Chunks of the Responses and Messages APIs become their objects.
    """
    first = next((text_or_none(chunk.get("type")) for chunk in chunks if chunk.get("type") != "ping"), None) or ""
    if first.startswith("response."):
        return _final_response(chunks), 0
    if first in ("message_start", "content_block_start", "content_block_delta"):
        return _assemble_message(chunks)
    return _assemble_completion(chunks)


def _assemble_completion(chunks: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    merge, deltas = ChunkMerge(), Deltas()
    whole: dict[str, Any] = {"id": None, "object": "chat.completion", "created": None, "model": None}
    for chunk in chunks:
        nested = {}
        for key, value in chunk.items():
            if key == "choices":
                left = deltas.take(value)
                if left is not None or not isinstance(value, list):
                    nested[key] = left
            elif (known := whole.get(key, _ABSENT)) == value and type(known) is type(value):
                continue  # most members: each chunk repeats them
            elif isinstance(value, (dict, list)):
                nested[key] = value
            elif key not in ("id", "model", "error"):
                whole[key] = whole.get(key) if value is None else value
            elif key != "error" and text_or_none(value) and not (key == "model" and whole[key]):
                whole[key] = value
        if nested:
            merge.add(nested)
    merged = merge.result()
    merged.pop("error", None)
    if isinstance(choices := merged.get("choices"), list):
        merged["choices"] = deltas.put_back(choices)
    if whole["object"] == "chat.completion.chunk":
        whole["object"] = "chat.completion"
    return whole | merged, merge.misfits + deltas.misfits


def _final_response(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The whole object that ends the stream.

    Without it, or where it has no output, the last object that there is, with the items that came so far.
    """
    last: dict[str, Any] = {}
    for chunk in reversed(chunks):
        if chunk.get("type") in _FINAL_EVENTS and isinstance(chunk.get("response"), dict):
            last = chunk["response"]
            break
    if last.get("output"):
        return dict(last)
    begun = last or next((response for chunk in chunks if isinstance(response := chunk.get("response"), dict)), {})
    return {**begun, "output": output_items(chunks)}


def _assemble_message(chunks: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    merge = ChunkMerge()
    # Some gateways begin each block with the same index.
    places: dict[object, int] = {}
    count = 0
    for chunk in chunks:
        kind, index = chunk.get("type"), chunk.get("index")
        index = index if isinstance(index, int) else 0
        delta = chunk.get("delta")
        if kind == "message_start" and isinstance(chunk.get("message"), dict):
            merge.add(chunk["message"])
        elif kind == "content_block_start" and isinstance(chunk.get("content_block"), dict):
            places[index], count = count, count + 1
            merge.add({"content": [{**chunk["content_block"], "index": places[index]}]})
        elif kind == "content_block_delta" and isinstance(delta, dict):
            if index not in places:
                places[index], count = count, count + 1
            texts = {key: delta[key] for key in _BLOCK_DELTAS if isinstance(delta.get(key), str)}
            merge.add({"content": [{**texts, "index": places[index]}]})
        elif kind == "message_delta" and isinstance(delta, dict):
            merge.add({**delta, "usage": chunk.get("usage")})
    return {"type": "message", "content": [], **merge.result()}, merge.misfits
