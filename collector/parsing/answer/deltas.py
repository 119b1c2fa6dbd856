"""Deltas of a chat completion: what senders cut into parts, repeat in each chunk or leave out, put together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from collector.parsing.answer.apis import message_of, reason_of
from collector.parsing.answer.chunk_merge import ChunkMerge
from collector.parsing.json_text.bodies import read_object, write_json
from lake.spec.message_parts import PartKind, part_kind, read_parts, text_of_part, text_or_none

_LARGEST_INDEX: Final = 999
_LONGEST_NAME: Final = 1_000
_MOST_LOOKS: Final = 8
_JOINED: Final = (PartKind.TEXT, PartKind.THOUGHT, PartKind.REFUSAL)


class Deltas:
    """The choices of all chunks. `misfits` counts the contents that are neither a text nor parts."""

    def __init__(self) -> None:
        self.misfits = 0
        self._choices: dict[int, _Choice] = {}

    def take(self, choices: object) -> object:
        """Take contents, calls and messages out of a chunk's choices; returns the rest, to be merged by Core's rules.

        The choices are changed by it. A choice without an index takes its position. None where nothing is left.
        """
        if not isinstance(choices, list):
            return None
        rest = []
        for position, choice in enumerate(choices):
            if not isinstance(choice, dict):
                rest.append(choice)
            elif (left := self._take(choice, position)) is not None:
                rest.append(left)
        return rest if rest or not choices else None

    def put_back(self, choices: list[Any]) -> list[Any]:
        """The merged choices with what was taken out, each with its index and a `message`."""
        return [
            self._whole(index, choice) if isinstance(choice, dict) and (choice or index in self._choices) else choice
            for index, choice in enumerate(choices)
        ]

    def _take(self, choice: dict[str, Any], position: int) -> dict[str, Any] | None:
        """The rest of a choice; None where it is known and nothing but nulls is left, as in most chunks."""
        index = choice.get("index")
        if type(index) is not int:
            choice, index = {**choice, "index": position}, position
        if not 0 <= index <= _LARGEST_INDEX:
            return choice
        found = self._choices.get(index)
        if is_new := found is None:
            found = self._choices[index] = _Choice()
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason != "stop" and reason_of(reason) is None:
            choice["finish_reason"] = None
        if isinstance(choice.get("message"), dict):
            found.messages.append(choice.pop("message"))
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self.misfits += found.take(delta)
            if not delta:
                del choice["delta"]
        if is_new:
            return choice
        for key, value in choice.items():
            if value is not None and key != "index":
                return choice
        return None

    def _whole(self, index: int, choice: dict[str, Any]) -> dict[str, Any]:
        if (found := self._choices.get(index)) is None:
            return {"index": index, **choice}
        if found.has_delta:
            delta = choice.get("delta")
            choice["delta"] = delta | found.taken() if isinstance(delta, dict) else found.taken()
        if found.messages:
            choice["message"] = _joined(found.messages)
        message = message_of(choice)
        choice.pop("delta", None)
        return {"index": index, **choice, **({"message": message} if message or found.has_delta else {})}


class _Choice:
    """What was taken out of the deltas of one choice."""

    __slots__ = ("_calls", "_contents", "_function", "_has_content", "_has_parts", "has_delta", "messages")

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.has_delta = False
        self._contents: list[Any] = []
        self._has_content = False
        self._has_parts = False
        self._calls: _Calls | None = None
        self._function: _Calls | None = None

    def take(self, delta: dict[str, Any]) -> int:
        """Take what is ours of a delta; returns the number of values that fit nowhere."""
        self.has_delta = True
        if "content" in delta:
            self._has_content = True
            content = delta.pop("content")
            if isinstance(content, str):
                self._contents.append(content)
            elif isinstance(content, list) or (isinstance(content, dict) and ("type" in content or "text" in content)):
                self._contents.append(content)
                self._has_parts = True
            elif content is not None:
                return 1
        if delta and "tool_calls" in delta:
            self._calls = self._calls or _Calls()
            calls = delta.pop("tool_calls")
            for place, call in enumerate(calls if isinstance(calls, list) else [calls]):
                if isinstance(call, dict):
                    self._calls.add(call, place)
        if delta and "function_call" in delta and isinstance(function := delta.pop("function_call"), dict):
            self._function = self._function or _Calls()
            self._function.add({"index": 0, "function": function}, 0)
        return 0

    def taken(self) -> dict[str, Any]:
        """The members of the message that the deltas are."""
        found: dict[str, Any] = {}
        if self._has_parts:
            found["content"] = _parts(self._contents)
        elif self._has_content:
            found["content"] = "".join(self._contents) if self._contents else None
        if self._calls is not None and (calls := self._calls.result()):
            found["tool_calls"] = calls
        if self._function is not None:
            found["function_call"] = self._function.result()[0]["function"]
        return found


def _joined(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One message of those that stand in place of deltas, or beside them.

    Where each has all that was said before it, the later ones count; else they are pieces.
    """
    texts = [read_parts(message.get("content")).text or "" for message in messages]
    if all(later.startswith(earlier) for earlier, later in pairwise(texts)):
        whole: dict[str, Any] = {}
        for message in messages:
            whole |= {key: value for key, value in message.items() if value or key not in whole}
        return whole
    merge = ChunkMerge()
    for message in messages:
        merge.add(message)
    return merge.result()


def _parts(contents: Sequence[Any]) -> list[Any]:
    """Parts of a content that came as texts, parts and lists of parts: those that go on are one.

    A text is a part `text`, thoughts of any form are a part `thinking`.
    """
    merge = ChunkMerge()
    begun: dict[int, tuple[int, PartKind]] = {}
    last, count = PartKind.OTHER, 0
    for content in contents:
        for part in content if isinstance(content, list) else [content]:
            if not part or not isinstance(part, (dict, str)):
                continue
            kind = part_kind(part)
            index = part.get("index") if isinstance(part, dict) else None
            number = count
            if type(index) is int and index in begun and begun[index][1] is kind:
                number = begun[index][0]
            elif type(index) is not int and kind is last and kind in _JOINED:
                number = count - 1
            count += number == count
            if type(index) is int:
                begun[index] = number, kind
            last = kind
            merge.add({"content": [{**_plain(part, kind), "index": number}]})
    parts: list[Any] = merge.result().get("content", [])
    return parts


def _plain(part: Any, kind: PartKind) -> dict[str, Any]:
    if kind not in _JOINED:
        return dict(part)
    name = "thinking" if kind is PartKind.THOUGHT else kind.value
    members = {} if isinstance(part, str) else {key: part[key] for key in ("signature", "annotations") if key in part}
    return {"type": name, name: text_of_part(part, kind), **members}


class _Calls:
    """Calls of tools that come in pieces.

    A call is known by its index, else by its id, else by its place in a chunk, of which the first may go on with the
    last call. A name that comes again is the same name; arguments are appended. Calls that share an index (Gemini) are
    told by their ids, without ids by their whole arguments. Arguments that are an object (Ollama) become their text.
    """

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}
        self._by_id: dict[str, dict[str, Any]] = {}

    def add(self, piece: dict[str, Any], place: int) -> None:
        """Take one piece of a call, with its place among those of its chunk."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        name, call_id = text_or_none(function.get("name")), text_or_none(piece.get("id"))
        call = self._call(piece, call_id, name, place)
        known = call["function"]
        for key, value in function.items():
            if key == "arguments":
                known[key].add(value)
            elif key != "name":
                known[key] = value
            elif name is not None:
                known[key] = _name(known[key], name)
        for key, value in piece.items():
            if key != "index" and key != "function" and value is not None and (key != "id" or not call.get("id")):
                call[key] = value

    def result(self) -> list[dict[str, Any]]:
        """The whole calls, in the order in which they began."""
        return [
            {**call, "function": {**call["function"], "arguments": call["function"]["arguments"].text}}
            for call in self._calls
        ]

    def _call(self, piece: dict[str, Any], call_id: str | None, name: str | None, place: int) -> dict[str, Any]:
        index = piece.get("index")
        if type(index) is int:
            call = self._by_index.get(index)
        elif call_id is not None:
            call = self._by_id.get(call_id)
        else:
            call = self._calls[-1] if self._calls and not (place and name) else None
        if call is None or (name is not None and _is_another(call, call_id, name, piece)):
            call = {"function": {"name": "", "arguments": _Arguments()}}
            self._calls.append(call)
            if type(index) is int:
                self._by_index[index] = call
        if call_id is not None:
            self._by_id[call_id] = call
        return call


def _is_another(call: dict[str, Any], call_id: str | None, name: str, piece: dict[str, Any]) -> bool:
    """Whether a piece with this name begins another call at the place of this one."""
    known = call["function"]
    if not known["name"]:
        return False
    arguments: _Arguments = known["arguments"]
    if call_id is None or not call.get("id"):
        return (
            call_id is None
            and arguments.is_whole()
            and (name != known["name"] or arguments.differ(piece["function"].get("arguments")))
        )
    return call_id != call["id"] and (name != known["name"] or not arguments or arguments.is_whole())


def _name(known: str, piece: str) -> str:
    if len(known) > _LONGEST_NAME:
        return known
    return piece if piece.startswith(known) else known + piece


class _Arguments:
    """Arguments of a call, in pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._looks = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def text(self) -> str:
        """What came so far."""
        return "".join(self._pieces)

    def add(self, arguments: object) -> None:
        """Append a piece; but one that comes behind a whole object takes its place: it is the same object again."""
        if arguments := _written(arguments):
            if arguments[0] == "{" and self.is_whole():
                self._pieces, self._looks = [], 0
            self._pieces.append(arguments)

    def differ(self, arguments: object) -> bool:
        """Whether these are a whole object, and another one than the whole one that came so far; that may be empty."""
        written = _written(arguments)
        return bool(written) and self.text not in ("{}", written) and read_object(written) is not None

    def is_whole(self) -> bool:
        """Whether they are a whole JSON object: looked at a few times, so that no answer keeps the collector busy."""
        if not self._pieces or self._looks == _MOST_LOOKS or not self._pieces[-1].endswith("}"):
            return False
        self._looks += 1
        return read_object(self.text) is not None


def _written(arguments: object) -> str | None:
    """Arguments as text; None where they are neither a text nor can be written as one."""
    if isinstance(arguments, (dict, list)):
        return write_json(arguments)
    return arguments if isinstance(arguments, str) else None
