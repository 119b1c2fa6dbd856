"""Calls of tools of an answer's turn, from Core's line to the row."""

from __future__ import annotations

import json
from typing import Any

from collector.parsing import LogRecord, parse_line
from tests.collector.lines import chat_line


def calls(line: bytes) -> tuple[list[tuple[Any, ...]], str | None, str | None, str | None]:
    """Each call's name, arguments, result and error; its origin, the question and the kind of the answer."""
    row = parse_line(line)
    assert isinstance(row, LogRecord)
    found = [(one["name"], one["arguments"], one["result"], one["is_error"]) for one in row.tool_calls or ()]
    return found, row.tool_calls_origin, row.question, row.answer_kind


def message_line(answer: str | dict[str, Any], messages: list[dict[str, Any]] | None = None) -> bytes:
    """A line of the Messages API; an answer that is a text is a stream, which Core logs as it is."""
    body = answer if isinstance(answer, str) else json.dumps(answer)
    asked = {"messages": messages or [{"role": "user", "content": "What?"}]}
    request = {
        "method": "POST",
        "uri": "/anthropic/v1/messages",
        "time": "2026-11-20T10:00:17",
        "body": json.dumps(asked),
    }
    return chat_line(1, assembled_response=body, request=request, response={"status": "200", "body": body})


def message(*blocks: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Messages API."""
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": list(blocks), "stop_reason": "end_turn"}


def test_a_search_on_anthropic_s_server_is_a_call_of_the_answer() -> None:
    """The client is asked for nothing: the answer stays a text."""
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
    }
    line = message_line(message(search, result, {"type": "text", "text": "Nothing."}))
    failure = '{"error_code":"unavailable","type":"web_search_tool_result_error"}'
    assert calls(line) == ([("web_search", '{"query":"x"}', failure, True)], "answer", "What?", "text")


def test_a_streamed_call_has_its_arguments() -> None:
    """The Messages API sends the input in pieces, behind an empty one."""
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": text} for text in ('{"city":', '"Bern"}')]
    events = [
        {"type": "message_start", "message": message() | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    assert calls(message_line(stream))[0] == [("f", '{"city":"Bern"}', None, None)]


def test_a_reminder_beside_a_result_is_not_the_question() -> None:
    """A coding agent adds it; the turn goes on."""
    used = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "4", "is_error": False}
    reminder = {"type": "text", "text": "<system-reminder>Go on.</system-reminder>"}
    asked = [
        {"role": "user", "content": "What?"},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result, reminder]},
    ]
    line = message_line(message({"type": "text", "text": "4."}), asked)
    assert calls(line) == ([("f", "{}", "4", False)], "request", "What?", "text")


def test_a_turn_that_nobody_asked_for_has_its_calls() -> None:
    """An agent on a schedule has its task in the system's message."""
    asked = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "stock", "arguments": "{}"}}]}
    messages = [{"role": "system", "content": "Look."}, asked, {"role": "tool", "tool_call_id": "a", "content": "12"}]
    request = {**json.loads(chat_line(1))["request"], "body": json.dumps({"messages": messages})}
    assert calls(chat_line(1, request=request))[:3] == ([("stock", "{}", "12", None)], "request", None)


def test_results_whose_calls_an_earlier_response_has_are_named() -> None:
    """With `previous_response_id` the calls are not sent again."""
    output = {"type": "function_call_output", "call_id": "c", "output": "3"}
    body = json.dumps({"previous_response_id": "resp_1", "input": [output]})
    request = json.loads(chat_line(1))["request"] | {"uri": "/openai/v1/responses", "body": body}
    row = parse_line(chat_line(1, request=request))
    assert isinstance(row, LogRecord)
    assert (row.tool_calls, row.repairs) == ([], ["1 result of tools without a call left out"])
