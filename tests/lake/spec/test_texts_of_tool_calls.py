"""Texts of calls of tools: arguments that are compared, results that are read, calls that people write."""

from __future__ import annotations

import orjson
import pytest

from lake.spec.called_tools import CalledTool, called_tools
from lake.spec.tool_calls import call_line, call_of_line, canonical, readable


def test_arguments_are_compared_whatever_their_spelling() -> None:
    """The order of members and white space do not matter; none at all is an empty object."""
    assert canonical('{"b": 1, "a": [1, 2]}') == canonical('{"a":[1,2],"b":1}')
    assert canonical(None) == canonical("") == canonical(" {} ")
    assert canonical("x y") == "x y"


@pytest.mark.parametrize("depth", [250, 254, 995, 5_000])
def test_arguments_that_are_nested_too_deep_stay_as_they_are(depth: int) -> None:
    """They are read 1,024 levels deep and written 254; a line of a tool with such ones says nothing."""
    lists = "[" * depth + "]" * depth
    arguments = f'{{"b": 1, "a": {lists}}}'
    body = f'{{"params": {{"name": "get", "arguments": {arguments}}}}}'
    if depth == 250:
        assert canonical(arguments) == f'{{"a":{lists},"b":1}}'
        assert called_tools("mcp", "orders", body, None) == [CalledTool("get", canonical(arguments), is_failed=False)]
    else:
        assert canonical(arguments) == arguments
        assert called_tools("mcp", "orders", body, None) == []


def test_long_arguments_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a mebibyte arguments stay as they are and the line of a tool says nothing: lists fill memory."""
    long = '{"b":1, "a":"' + "x" * (1 << 20) + '"}'
    short = '{"b":1, "a":"' + "x" * ((1 << 20) - 100) + '"}'
    assert canonical(short) != short
    assert called_tools("mcp", "f", f'{{"params":{{"name":"f","arguments":{short}}}}}', None) != []

    def is_decoded(text: str) -> None:
        raise AssertionError(f"{len(text)} characters were decoded")

    monkeypatch.setattr(orjson, "loads", is_decoded)
    assert canonical(long) == long
    assert called_tools("mcp", "f", f'{{"params":{{"name":"f","arguments":{long}}}}}', None) == []


def test_a_result_of_json_is_read_line_by_line() -> None:
    """A key and a value each, so that an answer in words can be compared with it; all else stays as it is."""
    assert readable('{"id":"4711","ships":"2026-11-27"}') == "id: 4711\nships: 2026-11-27"
    assert readable('[{"a": {"b": 1}}, {"a": {"b": [true, null, 2.5]}}, "x"]') == "a.b: 1\na.b: true\na.b: 2.5\nx"
    assert readable("{broken") == "{broken"
    assert readable("-3.5 C, snow") == "-3.5 C, snow"
    assert readable("") == ""


@pytest.mark.parametrize("line", ['get_order {"id": "4711"}', "now"])
def test_a_call_is_a_line(line: str) -> None:
    """As people read and write it."""
    assert call_line(call_of_line(f"  {line} ")) == line


@pytest.mark.parametrize("line", ["", "get_order [1]", "get_order 4711", '{"id": 1}', "f {", '"f" 1'])
def test_a_line_that_is_no_call_is_refused(line: str) -> None:
    """With what to write."""
    with pytest.raises(ValueError, match="write the name of the tool"):
        call_of_line(line)
