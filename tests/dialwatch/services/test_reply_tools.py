"""Calls of tools in the reply to a case that is asked again."""

import json
from typing import Any

import pytest

from dialwatch.services.replaying import read_reply

CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"id": 1}'}}


def reply(state: Any) -> bytes:
    message = {"role": "assistant", "content": "Yes.", "custom_content": {"state": state}}
    return json.dumps({"id": "r", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}).encode()


def test_the_calls_of_a_reply_are_those_of_its_state() -> None:
    """Of Quick Apps with the results, of LangChain also whether they failed."""
    history = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "no"}]
    found = {"id": "c1", "name": "get", "arguments": '{"id": 1}', "result": "no", "is_error": None}
    assert read_reply(reply({"tool_execution_history": history})).tool_calls == [found]
    asked = {"type": "ai", "data": {"tool_calls": [{"id": "c1", "name": "get", "args": {"id": 1}}]}}
    told = {"type": "tool", "data": {"tool_call_id": "c1", "content": "no", "status": "error"}}
    assert read_reply(reply({"messages": [asked, told]})).tool_calls == [
        found | {"arguments": '{"id":1}', "is_error": True}
    ]


@pytest.mark.parametrize(
    ("state", "calls"),
    [({"tool_execution_history": []}, []), ({"messages": []}, []), ({}, None), ("odd", None), ({"messages": 5}, None)],
)
def test_a_state_without_calls_says_that_there_were_none_only_where_it_keeps_them(state: Any, calls: Any) -> None:
    """Another state says nothing."""
    assert read_reply(reply(state)).tool_calls == calls


def test_a_broken_reply_has_no_calls() -> None:
    assert read_reply(b"{").tool_calls is None
