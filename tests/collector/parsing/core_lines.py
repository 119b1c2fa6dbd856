"""Lines in DIAL Core's own form, for tests: one good call, and the same with single members changed."""

from __future__ import annotations

import copy
import json
from typing import Any

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "a000000000000001"
REMOVED = object()

REQUEST = {"messages": [{"role": "user", "content": "What is the refund window?"}], "stream": False}
ANSWER = {
    "id": "r-100",
    "object": "chat.completion",
    "created": 1785742217,
    "model": "rag-app",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "30 days [1]."}, "finish_reason": "stop"}],
}


def members(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Members of a good chat completion; `changes` maps dotted paths to values or REMOVED."""
    line: dict[str, Any] = {
        "apiType": "DialOpenAI",
        "chat": {"id": "c1"},
        "project": {"id": ""},
        "user": {"id": "9f1c", "title": "Analyst"},
        "token_usage": {"completion_tokens": 9, "prompt_tokens": 412, "total_tokens": 421, "price": 0.0031},
        "deployment": "rag-app",
        "execution_path": ["rag-app"],
        "assembled_response": json.dumps(ANSWER),
        "trace": {"trace_id": TRACE, "core_span_id": SPAN},
        "request": {
            "protocol": "HTTP/1.1",
            "method": "POST",
            "uri": "/openai/deployments/rag-app/chat/completions?api-version=2024-02-01",
            "time": "2026-08-03T10:00:17.5",
            "body": json.dumps(REQUEST),
        },
        "response": {"status": "200", "upstream_uri": "http://rag/x", "body": json.dumps(ANSWER)},
    }
    for path, value in (changes or {}).items():
        *parents, name = path.split(".")
        place = line
        for parent in parents:
            place = place[parent]
        if value is REMOVED:
            del place[name]
        else:
            place[name] = copy.deepcopy(value)
    return line


def core_line(changes: dict[str, Any] | None = None) -> bytes:
    """The line's bytes: no blanks between members, `/` escaped, other than ASCII written as it is."""
    return json.dumps(members(changes), ensure_ascii=False, separators=(",", ":")).replace("/", "\\/").encode()


def rating_line(body: object, changes: dict[str, Any] | None = None) -> bytes:
    """The line of a rating; a `body` that is no text is written as JSON, REMOVED leaves it out."""
    written = body if body is REMOVED or isinstance(body, str) else json.dumps(body)
    response_body = REMOVED if body is REMOVED else ""
    rating: dict[str, Any] = {
        "token_usage": REMOVED,
        "execution_path": REMOVED,
        "assembled_response": response_body,
        "request.uri": "/v1/rag-app/rate",
        "request.body": written,
        "response.body": response_body,
        "response.upstream_uri": REMOVED,
        "trace.core_span_id": "a000000000000009",
    }
    return core_line(rating | (changes or {}))


def envelope(line: bytes, **more: object) -> bytes:
    """The line as Vector's json codec wraps it."""
    event = {"file": "/app/log/aidial.log", "host": "core-0", "message": line.decode(), "source_type": "file", **more}
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
