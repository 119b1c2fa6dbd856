"""Rows of tools, and which call of a turn each belongs to."""

import json
import random
from typing import Any

import pytest

from lake.spec.called_tools import CalledTool, called_tools, rows_of_calls, with_errors


def call(name: str | None = "f", arguments: str | None = "{}", is_error: bool | None = None) -> dict[str, Any]:
    return {"id": "1", "name": name, "arguments": arguments, "result": None, "is_error": is_error}


def mcp(name: str, arguments: Any, error: str | None = None) -> CalledTool:
    body = json.dumps({"method": "tools/call", "params": {"name": name, "arguments": arguments}})
    (row,) = called_tools("mcp", "toolsets/public/orders", body, error)
    return row


def test_a_row_of_a_tool_says_whether_its_call_failed() -> None:
    """Of an MCP server by its name and arguments in any spelling, of a deployment by its name; of others nothing."""
    called = [
        mcp("get", {"id": "1", "n": 2}, "tool error: away"),
        mcp("get", {"id": "2"}, "tool error: no"),
        mcp("order_get", {"id": "2"}),
        *called_tools("chat_completion", "applications/public/dial-rag", None, None),
    ]
    calls = [call("orders_get", '{"n": 2, "id": "1"}'), call("order_get", '{"id":"2"}'), call("dial_rag"),
             call("get", '{"id":"3"}'), call("rest"),
             call("orders_get", '{"n":2,"id":"1"}', is_error=False)]  # fmt: skip
    assert [one["is_error"] for one in with_errors(calls, called)] == [True, False, False, None, None, False]


def test_equal_calls_have_the_rows_in_their_order() -> None:
    """The first of two failed and the second did not; the last row counts for all that follow."""
    called = [mcp("get", {}, "tool error: away"), mcp("get", {})]
    assert [one["is_error"] for one in with_errors([call("get")] * 3, called)] == [True, False, False]


@pytest.mark.parametrize(
    ("rows", "calls", "expected"),
    [
        ("F.", 1, "."),
        ("FFF", 1, "F"),
        ("F..", 2, ".."),
        (".F.", 2, ".."),
        ("FF.", 2, "F."),
        ("F.", 2, "F."),
        ("...", 2, ".."),
    ],
)
def test_a_call_that_was_tried_again_has_the_row_of_its_last_attempt(rows: str, calls: int, expected: str) -> None:
    """More rows than calls: the application tries again before it tells its model. F is a failure."""
    called = [mcp("get", {}, "tool error: away" if row == "F" else None) for row in rows]
    found = with_errors([call("orders_get")] * calls, called)
    assert "".join("F" if one["is_error"] else "." for one in found) == expected


def test_calls_that_are_sent_at_once_have_one_row() -> None:
    """If it has an error, it does not say which of them failed."""
    body = json.dumps(
        [{"method": "tools/call", "params": {"name": "get", "arguments": {"id": one}}} for one in (1, 2)]
        + [{"method": "notifications/progress", "params": {}}, 5]
    )
    calls = [call("orders_get", '{"id": 2}'), call("orders_get", '{"id": 1}')]
    for error, expected in ((None, False), ("tool error: away", None)):
        rows = called_tools("mcp", "toolsets/public/orders", body, error)
        assert [one["is_error"] for one in with_errors(calls, rows)] == [expected, expected]
    (row,) = called_tools("mcp", "toolsets/public/orders", f"[{json.dumps(json.loads(body)[0])}]", "tool error: away")
    assert row.is_failed


def test_a_tool_is_found_by_the_name_that_a_model_may_write() -> None:
    """Models allow letters, digits, `_` and `-`; a published application is named without its version."""
    called = [
        mcp("orders.get/one", {"id": 1}, "tool error: away"),
        *called_tools("chat_completion", "applications/public/Dial%20RAG__1.2.0", None, "status 500"),
    ]
    names = ["crm_orders_get_one", "orders.get/one", "dial_rag", "dial_rag_1_2_0", "dial_rag_1_2"]
    found = with_errors([call(name, '{"id":1}') for name in names], called)
    assert [one["is_error"] for one in found] == [True, True, True, True, None]


@pytest.mark.parametrize("body", [None, "", "no", "[]", "{}", '{"params":[]}', '{"params":{"name":5}}',
                                   '{"method":"prompts/get","params":{"name":"get"}}'])  # fmt: skip
def test_an_mcp_row_without_the_call_of_a_tool_says_nothing(body: str | None) -> None:
    """Such as a list of tools."""
    assert called_tools("mcp", "orders", body, None) == []
    assert called_tools("embedding", "ada", body, None) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["deep_research"], [None]),
        (["crm_search"], [True]),
        (["crm.search"], [True]),
        (["crm__search", "other"], [True, None]),
        (["deep_search", "search"], [None, True]),
        (["search", "search"], [True, True]),
    ],
)
def test_a_row_is_of_the_call_of_its_name_or_with_a_word_before_it(names: list[str], expected: list[bool]) -> None:
    """`search` is another tool than `deep_research`, and than `deep_search` where both were called."""
    called = [CalledTool("search", '{"q":"x"}', True)]
    calls = [call(name, '{"q":"x"}') for name in names]
    assert [one["is_error"] for one in with_errors(calls, called)] == expected


def test_rows_are_found_as_by_looking_at_each() -> None:
    """The rows of a server whose name is the longest, else those of a deployment that has the tool's name."""
    rng = random.Random(4)
    names, deployments = ["get", "order_get", "s_order_get", "_get"], ["dial-rag", "apps/dial-rag", "apps/rag", "--"]
    for _ in range(300):
        called = [CalledTool(rng.choice(names), rng.choice(["{}", '{"a":1}']), False, n) for n in range(6)]
        called += [CalledTool(rng.choice(deployments), None, False, n) for n in range(6, 9)]
        asked = call(
            rng.choice(["x_order_get", "dial_rag", "rag", "get", "", "DIAL RAG", None]), rng.choice(["{}", None])
        )
        rng.shuffle(called)
        name = asked["name"] or ""
        same = [one for one in called if one.arguments == "{}" and name.endswith(one.name)]
        same = [one for one in same if len(one.name) == max(len(other.name) for other in same)]
        word = name.lower().replace(" ", "_")
        of_deployments = {"dial_rag": deployments[:2], "rag": deployments[:3]}.get(word, [])
        same = same or [one for one in called if one.arguments is None and one.name in of_deployments]
        expected = same[:1] + same[1:2] + same[-1:] if len(same) > 1 else same * 3
        assert rows_of_calls([asked] * 3, called) == (
            [*expected[:2], same[min(2, len(same) - 1)]] if same else [None] * 3
        )


def test_many_calls_and_many_rows_take_as_long_as_both() -> None:
    """No row is looked at again for each call: an agent may make thousands of calls, of servers with as many tools."""
    seen = 0

    class Counted(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal seen
            seen += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    called = [CalledTool(Counted(f"get{n}"), "{}", False) for n in range(3_000)]
    called += [CalledTool("apps/dial-rag", None, False)] * 3_000
    found = rows_of_calls([call("s_get7"), call("dial_rag")] * 100, called)
    assert None not in found
    assert seen <= 1_000


def test_a_row_says_how_long_it_took() -> None:
    """Of an MCP server and of a deployment."""
    body = json.dumps({"params": {"name": "get", "arguments": {}}})
    rows = [*called_tools("mcp", "t", body, None, 30), *called_tools("chat_completion", "rag", None, None, 40)]
    assert [one.duration_ms for one in rows] == [30, 40]
    # A name of thousands of words is found by all of it, and by its last ones.
    long = CalledTool("a-" * 5_000 + "rag", None, False)
    assert rows_of_calls([call("a_" * 5_000 + "rag"), call("rag"), call("a_" * 4_000 + "rag")], [long]) == [
        long,
        long,
        None,
    ]
