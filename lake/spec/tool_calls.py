"""Calls of tools within one turn of a conversation, each with its result and whether it failed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson

from lake.spec.message_parts import objects
from lake.spec.tool_messages import Message, Result, ToolCall, found_in, is_of_person, is_of_tool, json_text

MOST_CALLS: Final = 200
"""The most calls that are kept of one answer: the first."""
LONGEST_RESULT: Final = 16 << 10
"""The most bytes (UTF-8) that are kept of a result."""
_LONGEST_JSON: Final = 1 << 20
"""The most characters of arguments that are decoded, and of the body of a call of an MCP server."""
_NAMES_IN_STATE: Final = ("tool_execution_history", "messages", "invocations")


class ToolCallsOrigin(StrEnum):
    """`parsed_logs.tool_calls_origin`: where the calls of tools of an answer's turn were found, the best source first.

    `state`: the application's own state in the answer. `answer`: what the answer itself calls, with what the request
    has of the turn. `child_call`: the application's last model call. `request`: the request, as the client runs the
    tools. A call that an application made has `request` where the calls of the turn so far stand in its request.
    """

    STATE = "state"
    ANSWER = "answer"
    CHILD_CALL = "child_call"
    REQUEST = "request"
    NONE = "none"


CALLS_OUTRANKED_BY_CHILD = (ToolCallsOrigin.REQUEST, ToolCallsOrigin.NONE)
"""Origins of calls of tools that those of the application's own model call replace."""

CALLS_OF_CHILD = (ToolCallsOrigin.REQUEST, ToolCallsOrigin.ANSWER)
"""Origins of the calls of tools of a model call from which those of its caller's turn are known."""


class Turn(NamedTuple):
    """Calls of a turn in their order, and how many results belong to none of them."""

    calls: list[ToolCall]
    strays: int = 0


def read_turn(messages: Iterable[Message]) -> Turn:
    """Read the calls that messages ask for, each with the result that a later message has for it.

    The messages are in the words of any sender that `lake.spec.tool_messages` knows.
    """
    calls = _Calls()
    strays = 0
    for message in messages:
        for found in found_in(message):
            if not isinstance(found, Result):
                calls.add(found)
            elif (call := calls.of(found)) is None:
                strays += 1
            else:
                call["result"] = found.text
                call["is_error"] = found.is_error
    return Turn(calls.all, strays)


class _Calls:
    """Calls of a turn, found by their id, or where they have no result by their name or place."""

    def __init__(self) -> None:
        self.all: list[ToolCall] = []
        self._by_id: dict[str, ToolCall] = {}
        self._open: dict[str | None, deque[ToolCall]] = defaultdict(deque)
        """By name; under None those without an id."""
        self._answered: set[int] = set()
        """Identities of calls that have a result, which may say nothing."""

    def add(self, call: ToolCall) -> None:
        self.all.append(call)
        if call["id"] is not None:
            self._by_id[call["id"]] = call
        else:
            self._open[None].append(call)
        if call["name"] is not None:
            self._open[call["name"]].append(call)

    def of(self, result: Result) -> ToolCall | None:
        """The call that a result belongs to: by its id, else the first of its name that has no result.

        A result without an id and a name belongs to the first call without an id that has no result.
        """
        call = self._first_open(result.name) if result.id is None else self._by_id.get(result.id)
        if call is not None:
            self._answered.add(id(call))
        return call

    def _first_open(self, name: str | None) -> ToolCall | None:
        same = self._open.get(name)
        while same and id(same[0]) in self._answered:
            same.popleft()
        return same[0] if same else None


def messages_of_turn(body: Message) -> list[dict[str, Any]]:
    """Return the messages of a request that follow what its user said last."""
    messages: object = next((body[name] for name in ("messages", "input") if isinstance(body.get(name), list)), [])
    return after_person(messages)


def after_person(messages: object) -> list[dict[str, Any]]:
    """Return the messages after the last one of a person; all where no person speaks."""
    some = objects(messages)
    said = (place for place in range(len(some) - 1, -1, -1) if is_of_person(some[place]))
    return some[next(said, -1) + 1 :]


def turn_of_state(state: object) -> Turn | None:
    """Read the turn as an application keeps it in an answer's state; None where none is.

    Quick Apps 2, Deep Research (LangChain) and DIAL's assistant name it `tool_execution_history`, `messages` and
    `invocations`. Under any other name it is the first list that has a result of a tool, in the state or in an object
    of it.
    """
    if not isinstance(state, Mapping):
        return None
    kept = [found for name in _NAMES_IN_STATE if isinstance(found := state.get(name), list)]
    turns = [read_turn(after_person(messages)) for messages in kept]
    if not any(turn.calls for turn in turns):
        turns += [read_turn(after_person(one)) for one in _lists_in(state) if any(map(is_of_tool, objects(one)))]
    return next((turn for turn in turns if turn.calls), turns[0] if kept else None)


def _lists_in(state: Mapping[str, Any]) -> Iterator[list[Any]]:
    for value in state.values():
        for found in value.values() if isinstance(value, dict) else (value,):
            if isinstance(found, list):
                yield found


def turn_of_child(
    origin: str | None, request_body: str | None, asked: Sequence[ToolCall] | None
) -> list[ToolCall] | None:
    """Return the calls of the turn in which an application made a model call; None where that call has none.

    `origin`, `request_body` and `asked` are `tool_calls_origin`, `request_body` and `tool_calls` of the model call.
    """
    if origin not in CALLS_OF_CHILD:
        return None
    earlier: list[ToolCall] = []
    if origin == ToolCallsOrigin.REQUEST:
        try:
            body = orjson.loads(request_body or "")
        except orjson.JSONDecodeError:
            return None
        earlier = read_turn(messages_of_turn(body)).calls if isinstance(body, dict) else []
    return bounded([*earlier, *map(dict, asked or ())]) or None


def bounded(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return at most `MOST_CALLS` calls, with results of at most `LONGEST_RESULT` bytes."""
    return [call | {"result": _cut(call["result"])} for call in calls[:MOST_CALLS]]


def canonical(arguments: str | None) -> str:
    """Return arguments in one spelling: the order of members and white space do not matter; no JSON stays as it is.

    So does JSON that `decoded` refuses.
    """
    if not arguments:
        return "{}"
    try:
        return json_text(decoded(arguments)) or arguments
    except ValueError:
        return arguments


def decoded(text: str) -> Any:
    """Decode JSON; raises ValueError where it is none, too long, or nested too deep to be written again."""
    if len(text) > _LONGEST_JSON or json_text(value := orjson.loads(text)) is None:
        raise ValueError("the text is too long, or nested too deep")
    return value


def expected_calls(calls: Sequence[ToolCall] | None) -> list[ToolCall] | None:
    """Return the calls as a case has them: what was called with which arguments, in the order of the turn."""
    return None if calls is None else [{name: call[name] for name in ("name", "arguments")} for call in calls]


def call_line(call: ToolCall) -> str:
    """Return a call in one line, as people read and write it: `get_order {"id": "4711"}`."""
    name, arguments = call["name"] or "", " ".join((call["arguments"] or "").splitlines())
    return f"{name} {arguments}".strip()


def call_of_line(line: str) -> ToolCall:
    """Read a line of `call_line`; raises ValueError that says what is wrong."""
    name, _, arguments = line.strip().partition(" ")
    arguments = arguments.strip()
    try:
        is_object = not arguments or isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        is_object = False
    if not name or not is_object:
        raise ValueError('write the name of the tool and its arguments as a JSON object: get_order {"id": "4711"}')
    return {"name": name, "arguments": arguments or None}


def readable(result: str) -> str:
    """Return a result as text that an answer can be compared with: of JSON a line `key: value` for each value.

    The keys of an object within another are joined by dots; elements of a list follow each other.
    """
    if result.lstrip()[:1] not in ("{", "["):
        return result
    try:
        return "\n".join(_lines(orjson.loads(result), ""))
    except (orjson.JSONDecodeError, RecursionError):
        return result


def _lines(value: object, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _lines(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, key)
    elif value is not None:
        said = value if isinstance(value, str) else orjson.dumps(value).decode()
        yield f"{key}: {said}" if key else said


def _cut(text: str | None) -> str | None:
    if text is None or len(text) * 4 <= LONGEST_RESULT:
        return text
    return text.encode("utf-8", "replace")[:LONGEST_RESULT].decode("utf-8", "ignore")
