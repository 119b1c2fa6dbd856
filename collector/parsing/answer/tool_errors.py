"""Errors of calls of tools (MCP) that were answered with status 200: JSON-RPC, as JSON or server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from collector.parsing.answer.errors import error_message
from collector.parsing.answer.sse import events, is_stream
from collector.parsing.json_text.bodies import CUT_MARK, read_cut_object, read_objects, text_of
from lake.spec.message_parts import objects


def tool_error(body: str) -> str | None:
    """Message of the first response that is an error; None where none is.

    A response is a JSON-RPC `error`, or a `result` with `isError`. Notifications and requests of the server (progress,
    logs, sampling), which may come before it, are no responses. Older servers answer several requests with an array.
    """
    if "rror" not in body:
        return None
    for message in _messages(body):
        if "method" not in message and (found := _error(message)) is not None:
            return found
    return None


def _messages(body: str) -> Iterator[dict[str, Any]]:
    for text in (data for _, data in events(body)) if is_stream(body) else (body,):
        cut = read_cut_object(text) if text.endswith(CUT_MARK) else None
        yield from read_objects(text) if cut is None else [cut]


def _error(message: Mapping[str, Any]) -> str | None:
    error, result = message.get("error"), message.get("result")
    if error:
        return error_message(error)
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    content, structured = result.get("content"), result.get("structuredContent")
    resources = [part["resource"] for part in objects(content) if isinstance(part.get("resource"), dict)]
    return error_message(text_of(content) or text_of(resources) or structured)
