"""Calls of tools within one turn of a conversation, in the words of all senders, and whether they failed.

A call is a dict as in `parsed_logs.tool_calls`: `id`, `name`, `arguments` (JSON text), `result` (text), `is_error`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson

from lake.spec.message_parts import objects, text_or_none

MOST_CALLS: Final = 200
"""The most calls that are kept of one answer: the first."""
LONGEST_RESULT: Final = 16 << 10
"""The most bytes (UTF-8) that are kept of a result."""
_LONGEST_JSON: Final = 1 << 20
"""The most characters of arguments that are decoded, and of the body of a call of an MCP server."""


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

ToolCall = dict[str, Any]
Message = Mapping[str, Any]

_TEXT_PARTS = (None, "text", "input_text", "output_text", "tool_reference")
_PERSON = ("user", "human")
_HOSTED_INPUTS = ("action", "arguments", "input", "code", "queries")
_NOT_A_TOOL = ("image_generation_call",)
_OF_LANGCHAIN = ("ai", "tool")


class Turn(NamedTuple):
    """Calls of a turn in their order, and how many results belong to none of them."""

    calls: list[ToolCall]
    strays: int = 0


class _Result(NamedTuple):
    id: str | None
    name: str | None
    text: str | None
    is_error: bool | None


def read_turn(messages: Iterable[Message]) -> Turn:
    """Read the calls that messages ask for, each with the result that a later message has for it.

    The messages are those of chat completions (also the older `function_call`), items of the Responses API, messages of
    the Messages API, or those of LangChain.
    """
    calls = _Calls()
    strays = 0
    for message in messages:
        for found in _found_in(message):
            if not isinstance(found, _Result):
                calls.add(found)
            elif (call := calls.of(found)) is None:
                strays += 1
            else:
                call["result"] = found.text
                call["is_error"] = found.is_error
    return Turn(calls.all, strays)


class _Calls:
    """Calls of a turn, found by their id, or by their name where they have no result."""

    def __init__(self) -> None:
        self.all: list[ToolCall] = []
        self._by_id: dict[str, ToolCall] = {}
        self._open: dict[str, deque[ToolCall]] = defaultdict(deque)
        self._answered: set[int] = set()
        """Identities of calls that have a result, which may say nothing."""

    def add(self, call: ToolCall) -> None:
        self.all.append(call)
        if call["id"] is not None:
            self._by_id[call["id"]] = call
        if call["name"] is not None:
            self._open[call["name"]].append(call)

    def of(self, result: _Result) -> ToolCall | None:
        """The call that a result belongs to: by its id, else the first of its name that has no result."""
        call = self._first_open(result.name) if result.id is None else self._by_id.get(result.id)
        if call is not None:
            self._answered.add(id(call))
        return call

    def _first_open(self, name: str | None) -> ToolCall | None:
        same = self._open.get(name) if name is not None else None
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
    said = (place for place in range(len(some) - 1, -1, -1) if _is_of_person(some[place]))
    return some[next(said, -1) + 1 :]


def turn_of_state(state: object) -> Turn | None:
    """Read the turn as Quick Apps 2 or Deep Research (LangChain) keep it in an answer's state; None where none is."""
    kept = [state.get(name) for name in ("tool_execution_history", "messages")] if isinstance(state, Mapping) else []
    turns = [read_turn(after_person(messages)) for messages in kept if isinstance(messages, list)]
    return next((turn for turn in turns if turn.calls), turns[0] if turns else None)


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


def _found_in(message: Message) -> Iterator[ToolCall | _Result]:
    data, kind = message.get("data"), message.get("type")
    if isinstance(data, dict) and kind in _OF_LANGCHAIN:
        message = {"role": "assistant" if kind == "ai" else "tool"} | data
        kind = None
    role, content = message.get("role"), message.get("content")
    if isinstance(kind, str) and role is None:
        yield from _of_item(message, kind)
        return
    if role in ("tool", "function"):
        status = message.get("status")
        is_error = status == "error" if isinstance(status, str) else None
        yield _Result(
            text_or_none(message.get("tool_call_id")),
            text_or_none(message.get("name")),
            _result_text(content),
            is_error,
        )
        return
    for part in objects(content):
        yield from _of_part(part)
    asked = objects(message.get("tool_calls")) or objects([message.get("function_call")])
    yield from map(_of_chat, asked)


def _of_chat(call: Message) -> ToolCall:
    function = call.get("function")
    said = function if isinstance(function, dict) else call
    return _call(call.get("id"), said.get("name"), next((said[n] for n in ("arguments", "args") if n in said), None))


def _of_part(part: Message) -> Iterator[ToolCall | _Result]:
    """A part of a message's content: of the Messages API, of Bedrock (`toolUse`) or of Gemini (`functionCall`)."""
    kind = part.get("type")
    if kind == "tool_use":
        yield _call(part.get("id"), part.get("name"), part.get("input"))
    elif kind == "tool_result":
        is_error = part.get("is_error")
        text = _result_text(part.get("content"))
        yield _Result(
            text_or_none(part.get("tool_use_id")), None, text, is_error if isinstance(is_error, bool) else None
        )
    elif isinstance(used := part.get("toolUse"), dict):
        yield _call(used.get("toolUseId"), used.get("name"), used.get("input"))
    elif isinstance(used := part.get("functionCall"), dict):
        yield _call(used.get("id"), used.get("name"), used.get("args"))


def _of_item(item: Message, kind: str) -> Iterator[ToolCall | _Result]:
    """An item of the Responses API; the tools that the server runs have their results with them."""
    call_id = item.get("call_id") or item.get("id")
    if kind.endswith("_output"):
        yield _Result(text_or_none(call_id), None, _result_text(item.get("output")), None)
    elif kind == "mcp_call":
        error = item.get("error")
        result = item.get("output") if error is None else error
        yield _call(call_id, item.get("name"), item.get("arguments"), _result_text(result), error is not None)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments") if "arguments" in item else item.get("input")
        yield _call(call_id, item.get("name"), arguments)
    elif kind.endswith("_call") and kind not in _NOT_A_TOOL:
        name = kind.removesuffix("_call")
        given = {member: item[member] for member in _HOSTED_INPUTS if item.get(member) is not None}
        arguments = given["action"] if given.keys() == {"action"} else given
        result = next((item[member] for member in ("outputs", "results") if item.get(member)), None)
        yield _call(call_id, name, arguments, _logs(result))


def _call(
    call_id: object, name: object, arguments: object, result: str | None = None, is_error: bool | None = None
) -> ToolCall:
    written = arguments if isinstance(arguments, str) or arguments is None else json_text(arguments)
    return {
        "id": text_or_none(call_id),
        "name": text_or_none(name),
        "arguments": written,
        "result": result,
        "is_error": is_error,
    }


def _is_of_person(message: Message) -> bool:
    if message.get("role") not in _PERSON and message.get("type") not in _PERSON:
        return False
    parts = objects(message.get("content"))
    # The Messages API gives a tool's result in the name of the user.
    return not parts or any(part.get("type") != "tool_result" for part in parts)


def _result_text(content: object) -> str | None:
    """A text, those of a list of parts, or the JSON of anything else; None where that is nested too deep."""
    if content is None or isinstance(content, str):
        return content
    parts = objects(content)
    texts = [part["text"] for part in parts if part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(parts) else json_text(content)


def _logs(outputs: object) -> str | None:
    """What a program printed, or the JSON of other results."""
    texts = [one["logs"] for one in objects(outputs) if isinstance(one.get("logs"), str)]
    return "\n".join(texts) if texts else _result_text(outputs)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) * 4 <= LONGEST_RESULT:
        return text
    return text.encode("utf-8", "replace")[:LONGEST_RESULT].decode("utf-8", "ignore")


def json_text(value: object) -> str | None:
    """Encode a decoded JSON value; None where it is nested too deep for that (254 levels)."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return None
