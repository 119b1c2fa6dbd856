"""Calls of tools that are joined with the lines of the tools: no line of them stops a collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline import tool_calls
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

FILE = Partition("file", "/logs/a.log", "a")
DEEP = '{"a":' + "[" * 995 + "]" * 995 + "}"
TRACE = "1".zfill(32)
CALLED = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "get", "arguments": DEEP}}]}
TURN = json.dumps([{"role": "user", "content": "q"}, CALLED, {"role": "tool", "tool_call_id": "1", "content": "4"}])


def line(number: int, deployment: str, body: str, uri: str | None = None) -> bytes:
    """A line of one trace: of the application, number 1, or of a call that it made."""
    trace = {"trace_id": TRACE, "core_span_id": f"{number:016x}"}
    trace |= {"core_parent_span_id": f"{1:016x}"} if number > 1 else {}
    members = json.loads(chat_line(number, deployment=deployment, trace=trace))
    members["request"] |= {"body": body, "uri": uri or f"/openai/deployments/{deployment}/chat/completions"}
    return json.dumps(members).encode()


def chat(number: int, deployment: str, messages: str) -> bytes:
    return line(number, deployment, f'{{"messages": {messages}}}')


def mcp(number: int, arguments: str) -> bytes:
    body = f'{{"method": "tools/call", "params": {{"name": "get", "arguments": {arguments}}}}}'
    return line(number, "toolsets/public/orders", body, "/v1/toolset/toolsets/public/orders/mcp")


def collect(lake: Lake, *lines: bytes) -> list[dict[str, Any]]:
    """Store each line, start anew after each, and return the rows of the application."""
    for number, raw in enumerate(lines):
        collector = Collector(lake, CollectorSettings())
        collector.add(Piece(FILE, raw, number + 1, number))
        assert collector.flush().stored == 1
    Collector(lake, CollectorSettings())
    return lake.table(PARSED_LOGS, "rag-app").read(["tool_calls", "repairs"]).to_pylist()


def test_arguments_that_are_nested_deep_stop_no_collector(tmp_path: Path) -> None:
    """Neither in a conversation that goes to an application and its model, nor in the line of a tool's server."""
    (row,) = collect(Lake(str(tmp_path)), mcp(3, DEEP), chat(2, "gpt-4o", TURN), chat(1, "rag-app", TURN))
    (call,) = row["tool_calls"]
    assert (call["name"], call["arguments"], call["result"]) == ("get", DEEP, "4")
    assert row["repairs"] is None


def test_a_row_that_cannot_be_joined_is_stored_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the join stops no collector, at no line and at no start; the row's `repairs` say so."""

    def is_broken(*_: object) -> None:
        raise RecursionError("a text of a person")

    monkeypatch.setattr(tool_calls, "turn_of_child", is_broken)
    monkeypatch.setattr(tool_calls, "with_errors", is_broken)
    lake = Lake(str(tmp_path))
    (row,) = collect(lake, mcp(3, "{}"), chat(2, "gpt-4o", TURN), chat(1, "rag-app", TURN))
    assert [call["result"] for call in row["tool_calls"]] == ["4"]
    model = lake.table(PARSED_LOGS, "gpt-4o").read(["repairs"]).to_pylist()
    assert model == [{"repairs": ["calls of tools not joined with their lines: RecursionError"]}]


def test_what_is_remembered_of_tools_is_bounded() -> None:
    """Their arguments count; the oldest calls are dropped."""
    recent = tool_calls.RecentToolCalls(max_bytes=3_000)
    for number in range(10):
        body = json.dumps({"params": {"name": "get", "arguments": {"a": "x" * 500}}})
        child = {"trace_id": TRACE, "parent_span_id": f"{number:016x}", "kind": "mcp", "deployment": "orders"}
        recent.remember(**child, error=None, tool_calls=None, tool_calls_origin=None, request_body=body)
    assert [int(span, 16) for _, span in recent._children] == [7, 8, 9]
