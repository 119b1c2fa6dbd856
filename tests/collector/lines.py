"""Lines as Core writes them, for tests of what happens to lines."""

from __future__ import annotations

import json
from typing import Any


def chat_line(number: int, **changes: Any) -> bytes:
    """A whole chat completion of `rag-app`; `number` makes its ids, `changes` replace members of the line."""
    answer = {
        "id": f"r-{number}",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": f"Answer {number}."}, "finish_reason": "stop"}
        ],
    }
    request = {"messages": [{"role": "user", "content": f"Question {number}?"}], "stream": False}
    line = {
        "apiType": "DialOpenAI",
        "chat": {"id": f"chat-{number}"},
        "project": {"id": ""},
        "user": {"id": "u", "title": ""},
        "deployment": "rag-app",
        "execution_path": ["rag-app"],
        "assembled_response": json.dumps(answer),
        "trace": {"trace_id": f"{number + 1:032x}", "core_span_id": f"{number + 1:016x}"},
        "request": {
            "protocol": "HTTP/1.1",
            "method": "POST",
            "uri": "/openai/deployments/rag-app/chat/completions",
            "time": "2026-11-20T10:00:17.5",
            "body": json.dumps(request),
        },
        "response": {"status": "200", "body": json.dumps(answer)},
    }
    return json.dumps(line | changes).encode()


def rating_line(number: int, response_id: str, *, like: bool = True) -> bytes:
    """A person's like or dislike of an answer of `rag-app`."""
    request = {
        "protocol": "HTTP/1.1",
        "method": "POST",
        "uri": "/v1/rag-app/rate",
        "time": "2026-11-20T11:00:00",
        "body": json.dumps({"rate": like, "responseId": response_id}),
    }
    trace = {"trace_id": f"{number + 1:032x}", "core_span_id": f"{number + 1:016x}"}
    response = {"status": "200", "body": ""}
    return chat_line(number, request=request, response=response, assembled_response="", trace=trace)
