"""Calls of tools (MCP) that failed with status 200, in each way that their answers are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.parsing.answer.tool_errors import tool_error

OK = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "isError: error"}]}}
FAILED = {"jsonrpc": "2.0", "id": 2, "result": {"isError": True, "content": [{"type": "text", "text": "no index"}]}}
ERROR = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no index"}}
NOTICES = [
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1, "message": "error"}},
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "error"}},
    {"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {}, "error": {"message": "x"}},
    {"jsonrpc": "2.0", "method": "x", "result": {"isError": True}},
]


def sse(*messages: Any, end: str = "\n", indent: int | None = None) -> str:
    events = [json.dumps(one, indent=indent).split("\n") for one in messages]
    lines = [["id: 1", "event: message", *(f"data: {line}" for line in event), "", ""] for event in events]
    return end.join([": ping", "", *("\n".join(event).replace("\n", end) for event in lines)])


LAYOUTS = {
    "json": json.dumps(FAILED),
    "json-rpc error": json.dumps(ERROR),
    "batch": json.dumps([OK, FAILED]),
    "batch with notices": json.dumps([*NOTICES, OK, ERROR]),
    "blank before": "\ufeff \n" + json.dumps([OK, FAILED]),
    "sse": sse(FAILED),
    "sse, notices before": sse(*NOTICES, FAILED),
    "sse, notices after": sse(ERROR, *NOTICES),
    "sse, one batch": sse([*NOTICES, OK, FAILED]),
    "sse, several responses": sse(OK, FAILED),
    "sse, several lines": sse(*NOTICES, FAILED, indent=1),
    "sse, batch of several lines": sse([OK, ERROR], indent=1),
    "sse, crlf": sse(*NOTICES, FAILED, end="\r\n"),
    "sse, no blank line at the end": sse(*NOTICES, FAILED).rstrip("\n"),
    "cut": json.dumps(FAILED)[:-3] + ">>",
    "sse, cut": sse(*NOTICES) + "data: " + json.dumps(FAILED)[:-3] + ">>",
}


@pytest.mark.parametrize("body", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_each_layout(body: str) -> None:
    """Alone, in an array, behind progress, and over several lines of an event."""
    assert tool_error(body) == "no index"


@pytest.mark.parametrize(
    "body",
    ["", "[]", "error", "[error", json.dumps(OK), json.dumps([OK, *NOTICES]), json.dumps("isError"),
     json.dumps({"id": 1, "error": None, "result": {}}), json.dumps({"id": 1, "result": {"isError": False}}),
     json.dumps({"id": 1, "result": [{"isError": True}]}), sse(*NOTICES, OK), sse([OK, *NOTICES])],
)  # fmt: skip
def test_whole_answers(body: str) -> None:
    """A word in a text, a notice of a log and a request of the server are no errors."""
    assert tool_error(body) is None


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"error": {"code": -32603, "message": "", "data": "down"}}, "down"),
        ({"error": {"code": -32603}}, "no message"),
        ({"error": "down"}, "down"),
        ({"result": {"isError": True}}, "no message"),
        ({"result": {"isError": True, "content": []}}, "no message"),
        ({"result": {"isError": True, "content": [{"type": "text", "text": one} for one in "ab"]}}, "a\nb"),
        ({"result": {"isError": True, "content": [{"type": "resource", "resource": {"text": "down"}}]}}, "down"),
        ({"result": {"isError": True, "content": [], "structuredContent": {"error": "down"}}}, "down"),
        ({"result": {"isError": True, "content": [{"type": "text", "text": "x" * 600}]}}, "x" * 500),
    ],
)  # fmt: skip
def test_messages(message: dict[str, Any], error: str) -> None:
    """The words of the sender, at most 500 characters."""
    assert tool_error(json.dumps({"jsonrpc": "2.0", "id": 1} | message)) == error
