"""Calls of tools of a turn, in the words of all senders."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.called_tools import called_tools, with_errors
from lake.spec.tool_calls import (
    LONGEST_RESULT,
    MOST_CALLS,
    ToolCallsOrigin,
    after_person,
    bounded,
    call_line,
    canonical,
    messages_of_turn,
    read_turn,
    readable,
    turn_of_child,
    turn_of_state,
)


def call(name: str = "f", arguments: str | None = "{}", call_id: str | None = "1", **more: Any) -> dict[str, Any]:
    """A call of a tool as a row holds it."""
    return {"id": call_id, "name": name, "arguments": arguments, "result": None, "is_error": None} | more


def chat(*names: str) -> dict[str, Any]:
    """A message of an assistant that calls tools, whose ids are their names."""
    functions = ({"name": name, "arguments": "{}"} for name in names)
    return {"role": "assistant", "tool_calls": [{"id": one["name"], "function": one} for one in functions]}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([chat("f"), {"role": "tool", "tool_call_id": "f", "content": "4"}], call(call_id="f", result="4")),
        (
            [{"role": "assistant", "function_call": {"name": "f", "arguments": "no JSON"}},
             {"role": "function", "name": "f", "content": [{"type": "text", "text": "4"}]}],
            call(arguments="no JSON", call_id=None, result="4"),
        ),
        (
            [{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
             {"type": "function_call_output", "call_id": "1", "output": {"b": 1, "a": 2}}],
            call(result='{"a":2,"b":1}'),
        ),
        ([{"type": "custom_tool_call", "call_id": "1", "name": "f", "input": "x y"}], call(arguments="x y")),
        ([{"type": "file_search_call", "id": "1", "queries": ["x"]}],
         call(name="file_search", arguments='{"queries":["x"]}')),
        (
            [{"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "output": None, "error": "away"}],
            call(result="away", is_error=True),
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "4",
                                           "is_error": True}]}],
            call(result="4", is_error=True),
        ),
        (
            [{"type": "ai", "data": {"tool_calls": [{"name": "f", "args": {}, "id": "1"}]}},
             {"type": "tool", "data": {"content": "4", "tool_call_id": "1", "status": "error"}}],
            call(result="4", is_error=True),
        ),
        ([{"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]}], call()),
        ([{"role": "assistant", "content": [{"functionCall": {"name": "f", "args": {}}}]}], call(call_id=None)),
    ],
)  # fmt: skip
def test_each_sender_writes_a_call_and_its_result_in_its_own_way(
    messages: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    """Chat completions (old and new), responses, the Messages API, LangChain, Bedrock and Gemini give the same."""
    assert read_turn(messages).calls == [expected]


@pytest.mark.parametrize("status", ["success", None])
def test_what_says_nothing_of_an_error_leaves_it_open(status: str | None) -> None:
    """LangChain's status says that it went well; without one, and in the Messages API without is_error, it is null."""
    said = {} if status is None else {"status": status}
    turn = read_turn([chat("f"), {"role": "tool", "tool_call_id": "f", "content": "Error: away"} | said])
    assert turn.calls[0]["is_error"] is (False if status else None)
    result = {"type": "tool_result", "tool_use_id": "f", "content": "x"}
    assert read_turn([chat("f"), {"role": "user", "content": [result]}]).calls[0]["is_error"] is None


def test_the_state_of_dial_s_assistant_has_what_addons_gave() -> None:
    """Both sides are JSON texts; older conversations name the addon among its arguments."""
    commands = [
        {"command": "weather", "arguments": {"query": "Bern"}},
        {"command": "run-addon", "args": ["news", "DIAL"]},
        {"command": "late", "arguments": {}},
    ]
    responses = [{"status": "SUCCESS", "response": "3 C"}, {"status": "ERROR", "response": "timeout"}]
    invocation = {"request": json.dumps({"commands": commands}), "response": json.dumps({"responses": responses})}
    turn = turn_of_state({"invocations": [invocation, {"request": "no JSON", "response": None}, {"request": "[]"}]})
    assert turn is not None
    assert turn.calls == [
        call("weather", '{"query":"Bern"}', None, result="3 C", is_error=False),
        call("news", '{"query":"DIAL"}', None, result="timeout", is_error=True),
        call("late", "{}", None),
    ]


def test_an_image_beside_the_text_of_a_result_is_left_out() -> None:
    """It says nothing to who reads the result; alone it is all that there is."""
    image = {"type": "image", "source": {"type": "base64", "data": "iVBO"}}
    texts = [{"type": "text", "text": "a chart"}, {"type": "text", "text": "of sales"}]
    for content, expected in (
        ([texts[0], image, texts[1]], "a chart\nof sales"),
        ([image], orjson.dumps([image], option=orjson.OPT_SORT_KEYS).decode()),
    ):
        used = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "1", "content": content}
        (found,) = read_turn([{"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]).calls
        assert found["result"] == expected


def test_results_without_a_call_are_counted_and_left_out() -> None:
    """A result belongs to the call with its id, else to the first of its name, or of no name and id, without one."""
    stray = {"role": "tool", "tool_call_id": "other", "content": "4"}
    nameless = {"role": "function", "content": "4"}
    named = [{"role": "function", "name": "f", "content": text} for text in ("1", "2", "3")]
    twice = [{"role": "assistant", "function_call": {"name": "f"}}] * 2
    turn = read_turn([chat("g"), *twice, stray, nameless, *named])
    assert [one["result"] for one in turn.calls] == [None, "4", "1"]
    assert turn.strays == 3
    assert read_turn([chat("g"), nameless]).strays == 1


def test_calls_and_results_without_ids_stand_in_the_same_order() -> None:
    """Gemini behind a chat completion gives each call the id ""."""
    asked = [{"id": "", "type": "function", "function": {"name": "f", "arguments": {"n": n}}} for n in (1, 2)]
    results = [{"role": "tool", "tool_call_id": "", "content": text} for text in "ab"]
    turn = read_turn([{"role": "assistant", "tool_calls": asked}, *results])
    assert [(one["arguments"], one["result"]) for one in turn.calls] == [('{"n":1}', "a"), ('{"n":2}', "b")]


def in_class(name: str, **members: Any) -> dict[str, Any]:
    """A message as LangChain writes an object of one of its classes."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": members}


@pytest.mark.parametrize("write", ["flat", "class"])
def test_messages_of_langchain_are_read_however_they_are_written(write: str) -> None:
    """Flat as `model_dump` gives them, or as objects of their classes; what the person said begins the turn."""
    asked = [{"name": "f", "args": {}, "id": "1", "type": "tool_call"}]
    members: list[tuple[str, str, dict[str, Any]]] = [
        ("ai", "AIMessage", {"content": "", "tool_calls": [asked[0] | {"id": "0"}]}),
        ("human", "HumanMessage", {"content": "And now?"}),
        ("ai", "AIMessage", {"content": "", "tool_calls": asked}),
        ("tool", "ToolMessage", {"content": "4", "tool_call_id": "1", "status": "error"}),
    ]
    kept = [{"type": kind} | of if write == "flat" else in_class(name, **of) for kind, name, of in members]
    turn = turn_of_state({"messages": kept})
    assert turn is not None
    assert turn.calls == [call(result="4", is_error=True)]


def test_a_call_that_langchain_has_twice_is_one() -> None:
    """Calls of Anthropic's models stand in the content and beside it; older versions have them in another member."""
    said = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    other = {"type": "tool_use", "id": "2", "name": "g", "input": {}}
    message = {"content": [said, other], "tool_calls": [{"name": "f", "args": {}, "id": "1"}]}
    result = {"type": "tool", "data": {"content": "4", "tool_call_id": "1"}}
    assert read_turn([{"type": "ai", "data": message}, result]).calls == [call("g", call_id="2"), call(result="4")]
    kept = {"tool_calls": [], "additional_kwargs": {"tool_calls": chat("f")["tool_calls"]}}
    assert read_turn([{"type": "ai", "data": kept}]).calls == [call(call_id="f")]


@pytest.mark.parametrize(
    ("content", "result", "is_error"),
    [
        (
            [{"type": "web_search_result", "url": "u", "encrypted_content": "Eo8" * 9_000}] * 2,
            '[{"type":"web_search_result","url":"u"},{"type":"web_search_result","url":"u"}]',
            False,
        ),
        ({"type": "x_tool_result_error", "code": "away"}, '{"code":"away","type":"x_tool_result_error"}', True),
    ],
)
def test_tools_that_ran_on_anthropic_s_server(content: Any, result: str, is_error: bool) -> None:
    """Their call and their result are blocks of the answer; an error is the type of the content."""
    parts = [
        {"type": "server_tool_use", "id": "1", "name": "f", "input": {}, "partial_json": '{"q": 1}'},
        {"type": "web_search_tool_result", "tool_use_id": "1", "content": content},
        {"type": "mcp_tool_use", "id": "2", "name": "g", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "2", "content": "4", "is_error": True},
    ]
    assert read_turn([{"role": "assistant", "content": parts}]).calls == [
        call(arguments='{"q": 1}', result=result, is_error=is_error),
        call("g", call_id="2", result="4", is_error=True),
    ]


@pytest.mark.parametrize(
    ("status", "is_error"),
    [
        ({}, False),
        ({"status": None}, False),
        ({"status": "completed"}, False),
        ({"status": "failed"}, True),
        ({"status": "incomplete"}, None),
    ],
)
def test_a_call_of_a_response_s_own_server_may_not_have_ended(status: dict[str, Any], is_error: bool | None) -> None:
    """Such as one that was cut with the response: nothing failed, and nothing succeeded."""
    item = {"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "output": None, "error": None} | status
    assert read_turn([item]).calls == [call(is_error=is_error)]


def test_a_custom_tool_of_a_chat_completion() -> None:
    """Its input is any text."""
    asked = [{"id": "1", "type": "custom", "custom": {"name": "f", "input": "select 1"}}]
    assert read_turn([{"role": "assistant", "tool_calls": asked}]).calls == [call(arguments="select 1")]


def test_the_state_may_have_the_turn_under_any_name() -> None:
    """A list, also within an object, in which a result of a tool stands; others have nothing to do with tools."""
    messages = [chat("f"), {"role": "tool", "tool_call_id": "f", "content": "4"}]
    for state in ({"history": messages}, {"notes": [1], "agent": {"steps": messages}}, {"messages": [], "h": messages}):
        turn = turn_of_state(state)
        assert turn is not None
        assert turn.calls == [call(call_id="f", result="4")]
    items = [
        {"role": "user", "content": "What?"},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "4"},
    ]
    bedrock = [
        {"role": "user", "content": [{"text": "What?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "4"}], "status": "error"}}],
        },
        {"role": "assistant", "content": [{"text": "4."}]},
    ]
    for kept, is_error in ((items, None), (bedrock, True)):
        assert turn_of_state({"items": kept}) == ([call(result="4", is_error=is_error)], 0)
    assert turn_of_state({"contacts": [{"type": "phone_call", "id": "1"}], "h": [chat("f")]}) is None
    assert turn_of_state({"messages": []}) == ([], 0)
    assert turn_of_state([messages]) is None


def test_a_result_without_an_id_belongs_to_the_first_open_call_of_its_name() -> None:
    """Of calls of one name, in their order; a call that has its result by its id is open no more."""
    asked = [{"function_call": {"name": "f", "arguments": str(number)}} for number in (1, 2)]
    messages = [chat("f"), *asked, {"role": "tool", "tool_call_id": "f", "content": "a"}]
    messages += [{"role": "function", "name": "f", "content": text} for text in "bcd"]
    turn = read_turn(messages)
    assert ([one["result"] for one in turn.calls], turn.strays) == (["a", "b", "c"], 1)
    silent = read_turn([*asked, {"role": "function", "name": "f", "content": None}, messages[-1]])
    assert [one["result"] for one in silent.calls] == [None, "d"]


def test_a_result_belongs_to_the_last_call_before_it_that_has_its_id() -> None:
    """Some agents count their calls anew in each step."""
    answers = [{"role": "tool", "tool_call_id": "f", "content": text} for text in "ab"]
    turn = read_turn([chat("f"), answers[0], chat("f"), answers[1], chat("f")])
    assert [one["result"] for one in turn.calls] == ["a", "b", None]


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python a function runs, each turn of a loop and of a generator counted."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(("member", "word"), [("tool_call_id", "f"), ("name", "f"), ("name", "g")])
def test_the_work_of_a_turn_grows_with_its_calls(member: str, word: str) -> None:
    """Four times the calls, each with a result, of one name or with unknown ids, take four times the work."""

    def work(most: int) -> int:
        calls = [{"function_call": {"name": "f", "arguments": "{}"}}] * most
        return lines_run(lambda: read_turn([*calls, *[{"role": "tool", member: word, "content": "4"}] * most]))

    assert work(400) < 5 * work(100)


def test_odd_messages_have_no_calls() -> None:
    """Whatever clients send as messages, nothing is raised."""
    odd = [{}, {"role": 5, "type": 7}, {"type": "ai", "data": 5}, {"role": "assistant", "tool_calls": "no"},
           {"content": [1, None, {"type": "tool_result"}]},
           {"type": "image_generation_call", "result": "x"}]  # fmt: skip
    assert read_turn(odd).calls == []
    assert after_person("no") == messages_of_turn({"input": "What?"}) == []


def test_a_turn_begins_after_the_last_words_of_a_person() -> None:
    """A result in the name of the user is none; LangChain calls a person human."""
    user, result = {"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "tool_result"}]}
    assert messages_of_turn({"messages": [chat("f"), user, chat("g"), result]}) == [chat("g"), result]
    assert after_person([{"type": "human", "data": {"content": "a"}}, {"type": "ai"}]) == [{"type": "ai"}]


@pytest.mark.parametrize(("text", "begins"), [("<system-reminder>Go on.</system-reminder>", False), ("Stop!", True)])
def test_what_a_coding_agent_adds_to_results_is_not_the_user_s(text: str, begins: bool) -> None:
    """Words of the user beside a result begin a turn; a reminder does not, unless it stands alone."""
    parts = [{"type": "tool_result", "tool_use_id": "f"}, {"type": "text", "text": text}]
    messages = [chat("f"), {"role": "user", "content": parts}]
    assert after_person(messages) == ([] if begins else messages)
    assert after_person([chat("f"), {"role": "user", "content": parts[1:]}]) == []


def test_the_bounds_keep_whole_characters() -> None:
    """At most 200 calls, and 16 KiB of a result."""
    kept = bounded([call(result="€" * LONGEST_RESULT)] + [call(result="a" * LONGEST_RESULT)] * MOST_CALLS)
    assert len(kept) == MOST_CALLS
    assert kept[0]["result"] == "€" * (LONGEST_RESULT // 3)
    assert kept[1]["result"] == "a" * LONGEST_RESULT


def test_the_turn_of_a_child_is_its_request_and_what_it_asks_for() -> None:
    """The results stand in the request alone; a body that is gone or broken says nothing."""
    messages = [{"role": "user", "content": "a"}, chat("f"), {"role": "tool", "tool_call_id": "f", "content": "4"}]
    body, asked = json.dumps({"messages": messages}), [call("g")]
    earlier = call("f", call_id="f", result="4")
    assert turn_of_child(ToolCallsOrigin.REQUEST, body, asked) == [earlier, *asked]
    assert turn_of_child(ToolCallsOrigin.ANSWER, body, asked) == asked
    assert turn_of_child(ToolCallsOrigin.REQUEST, None, asked) is None
    assert turn_of_child(ToolCallsOrigin.STATE, body, asked) is None
    assert turn_of_child(ToolCallsOrigin.NONE, body, []) is None


NAMES = ("role", "type", "content", "id", "call_id", "tool_call_id", "tool_use_id", "name", "data", "input", "output",
         "arguments", "args", "function", "function_call", "tool_calls", "toolUse", "functionCall", "toolUseId",
         "error", "status", "is_error", "outputs", "results", "logs", "text", "action", "messages")  # fmt: skip
WORDS = ("assistant", "user", "human", "tool", "function", "ai", "tool_use", "tool_result", "function_call", "mcp_call",
         "function_call_output", "web_search_call", "custom_tool_call", "text", "error", "1", "")  # fmt: skip


def nested(value: Any, depth: int) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"content": value}
    return value


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
    | st.integers(10**30, 10**40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
)  # fmt: skip
TEXTS = st.sampled_from(
    ['{"a":1,"a":2}', '{"a":NaN}', '{"a":1e999}', '{"a":' + "9" * 400 + "}", '"\\ud800"', "\ud800", "[" * 3_000,
     '{"a":' * 900 + "1" + "}" * 900, "[" * 600 + "]" * 600]
) | st.text(max_size=20)  # fmt: skip


@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6), max_size=4),
    TEXTS,
    VALUES,
    st.sampled_from((0, 2, 300, 5_000)),
)
def test_no_input_raises(messages: list[dict[str, Any]], text: str, value: Any, depth: int) -> None:
    """Whatever stands in messages, arguments, results and the bodies of calls, at any depth."""
    value = nested(value, depth)
    odd = [{"type": "function_call", "call_id": "1", "name": "f", "arguments": value},
           {"type": "function_call_output", "call_id": "1", "output": value}]  # fmt: skip
    read = [call for some in (messages, odd, after_person(value)) for call in read_turn(some).calls]
    calls = bounded([*read, call("f", text), call("f", text, result=text)])
    bodies = (text, f'{{"params": {{"name": "f", "arguments": {text}}}}}', f'{{"messages": [{text}]}}')
    called = [one for body in bodies for one in called_tools("mcp", "f", body, None)]
    assert [one["name"] for one in with_errors(calls, called)] == [one["name"] for one in calls]
    for body in bodies:
        turn_of_child("request", body, calls)
        assert isinstance(readable(body), str)
    assert all(isinstance(canonical(one["arguments"]), str) and call_line(one) is not None for one in calls)
