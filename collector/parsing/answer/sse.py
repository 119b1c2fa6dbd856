"""Server-sent events of a streamed answer: its events and chunks, and quickly the ids that they carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any, Final

import msgspec
import numpy as np
import orjson

from collector.parsing.answer.errors import NO_MESSAGE, error_of
from collector.parsing.json_text.bodies import BLANK, read_array, read_object
from collector.parsing.json_text.value_limit import holds_more_values
from lake.spec.message_parts import text_or_none

_FIELD: Final = "data:"
_DATA: Final = f"\n{_FIELD}"
_SPACED: Final = "data: "
_NAME: Final = "event: "
_DONE: Final = "[DONE]"
_BEGINNINGS: Final = (_FIELD, ":", "event:", "id:", "retry:", "error:")
_SKIPPED: Final = ("", "id", "retry")
_ERROR_NAMES: Final = ("error", "exception")
_HOLDERS: Final = ("response", "message")
_TYPED: Final = ("response.", "message_", "content_block_")
_END: Final = "\n\n"
_NEXT: Final = f"}}{_END}{_FIELD}"
_LAST: Final = f"{_END}{_FIELD} {_DONE}{_END}"
_NO_ID: Final = '"id":""'
_NO_CHOICES: Final = '"choices":[]'
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_ERROR: Final = '"error"'
_SOME_ERROR: Final = re.compile(r'"error"(?!\s*:\s*null)')
_NO_FIELD: Final = re.compile(r"\n(?!event:|id:|retry:|error:|:|\n|\Z)")
_TAIL: Final = 64
_LONGEST_END: Final = 1_024
_MOST_LINES: Final = 64
_SHORT: Final = 6_000
_LONGEST_SPLIT: Final = 8_000_000
_NAMED: Final = re.compile(r"^event: (.*)\ndata: (.*)\n\n", re.MULTILINE)
_FIRST_EVENTS: Final = 2


def is_stream(body: str) -> bool:
    """Whether a response body is the text of server-sent events."""
    return body.lstrip(BLANK).startswith(_BEGINNINGS)


def is_ended(body: str) -> bool:
    """Whether the events end with the mark `[DONE]`."""
    return _DONE in body[-_TAIL:]


def events(body: str) -> Iterable[tuple[str, str]]:
    """Name ("" without one) and data of each event, by the standard of WHATWG.

    Lines end in LF, CRLF or CR; comments and other fields are skipped; the lines `data` of an event are joined by a
    line feed. What senders do beside the standard is read too: the last event lacks its blank line; one line end stands
    between events that are JSON each; JSON text holds a line feed that was not escaped; JSON stands between the events
    without a field; llama.cpp has a field `error`, which is an event of this name here.
    """
    text = body.lstrip(BLANK)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > _LONGEST_SPLIT:
        return _odd_events("\n" + text)
    return _usual_events(text) or _mixed_events(text)


def _usual_events(text: str) -> Iterable[tuple[str, str]] | None:
    """Events of which each is a line of data, or a name and a line of data, as most senders write them; else None."""
    if not text.endswith(_END):
        return None
    count = text.count("\n")
    if text.startswith(_SPACED):
        found = text[len(_SPACED) : -len(_END)].split(_END + _SPACED)
        return zip(repeat(""), found, strict=False) if count == 2 * len(found) else None
    named = _NAMED.findall(text) if text.startswith(_NAME) else []
    return named if count == 3 * len(named) else None


def _mixed_events(text: str) -> Iterable[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    blocks, last = text.split(_END), 0
    for number, block in enumerate(blocks):
        if block.startswith(_FIELD) and "\n" not in block:
            found.append(("", block[len(_FIELD) :].removeprefix(" ")))
        else:
            head, field, data = block.partition(_DATA)
            if field and head.startswith(_NAME) and "\n" not in head and "\n" not in data:
                found.append((head[len(_NAME) :], data.removeprefix(" ")))
            elif not block or (block.startswith(":") and "\n" not in block):
                continue
            elif field and (event := _event(block)):
                found.append(event)
            else:
                # It may be the rest of the event before it.
                return chain(found[:-1], _odd_events("\n" + _END.join(blocks[last:])))
        last = number
    return found


def chunks(body: str) -> Iterator[dict[str, Any] | None]:
    """Decoded `data` of each event up to `[DONE]`; None for one that is no JSON object.

    An event of the name `error` is an object that says so, whatever its data is, and so is an array of errors (Gemini).
    Where events of the Responses and Messages APIs have no `type`, it is their name.
    """
    for name, data in events(body):
        if not name and data.startswith(_DONE):
            return
        chunk = read_object(data)
        if name and (chunk is None or chunk.get("type") != name):
            chunk = _named(name, chunk, data)
        if chunk is not None:
            yield chunk
        elif data.lstrip().startswith(_DONE):
            return
        elif data.strip():
            yield next(filter(error_of, read_array(data)), None)


def _named(name: str, chunk: dict[str, Any] | None, data: str) -> dict[str, Any] | None:
    if name in _ERROR_NAMES:
        return chunk if chunk and error_of(chunk) else {"error": chunk or data.strip() or NO_MESSAGE}
    if chunk is not None and "type" not in chunk and name.startswith(_TYPED):
        chunk["type"] = name
    return chunk


def _event(block: str) -> tuple[str, str] | None:
    """The event of a block that has one line of data and nothing beside known fields; None for any other block."""
    name, found = "", None
    for line in block.split("\n"):
        field, colon, value = line.partition(":")
        if field == "event":
            name = value.removeprefix(" ")
        elif field == "data" and colon and found is None:
            found = value.removeprefix(" ")
        elif field not in _SKIPPED:
            return None
    return None if found is None else (name, found)


def _odd_events(text: str) -> Iterator[tuple[str, str]]:
    """Events of any layout, one by one."""
    event, end = _OpenEvent(), 0
    while (at := text.find(_DATA, end)) != -1:
        if at != end:
            yield from event.read_between(text[end : at + 1])
        start = at + len(_DATA)
        start += text.startswith(" ", start)
        end = text.find("\n", start)
        if end == -1:
            end = len(text)
        event.lines.append(text[start:end])
    yield from event.read_between(text[end:] + _END)


class _OpenEvent:
    """The event that is being read: its name and the lines of its data so far."""

    __slots__ = ("lines", "name")

    def __init__(self) -> None:
        self.name = ""
        self.lines: list[str] = []

    def read_between(self, gap: str) -> Iterator[tuple[str, str]]:
        """Read what stands between two lines `data`; yields the events that end in it."""
        if gap == _END:
            yield from self._end()
            return
        lines, is_rest = self.lines, False
        if lines and _NO_FIELD.search(gap) and read_object(lines[-1]) is None:
            is_rest = read_object(lines[-1] + gap) is not None
        if is_rest:
            lines[-1] += gap
        start, is_one = 0, _END not in gap
        while start != -1:
            end = gap.find(_END, start)
            fields = _fields(gap[start : end if end != -1 else None])
            # A name after data is that of the same event, unless the lines of all events follow each other.
            is_next = is_one and fields.name is not None and len(self.lines) <= _MOST_LINES
            if start or (is_next and _is_json("\n".join(self.lines))):
                yield from self._end()
            self.name = self.name if fields.name is None else fields.name
            self.lines += [""] * fields.empty_data
            yield from (("error", error) for error in fields.errors)
            other = "" if is_rest else "\n".join(fields.others)
            if read_object(other) is not None:
                yield "", other
            start = end + len(_END) if end != -1 else -1

    def _end(self) -> list[tuple[str, str]]:
        over = _whole(self.name, self.lines or ([""] if self.name in _ERROR_NAMES else []))
        self.name, self.lines = "", []
        return over


def _whole(name: str, lines: list[str]) -> list[tuple[str, str]]:
    """The event that these lines are; several, if each is one by itself."""
    if len(lines) == 1:
        return [(name, lines[0])]
    done = next((number for number, line in enumerate(lines) if line.startswith(_DONE)), len(lines))
    lines, rest = lines[:done], lines[done:]
    joined = "\n".join(lines)
    if len(lines) > 1 and (_is_json(joined) or not any(map(_is_json, lines))):
        lines = [joined]
    return [(name, line) for line in lines] + [("", line) for line in rest]


def _is_json(text: str) -> bool:
    if holds_more_values(text):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


class _Fields(msgspec.Struct, gc=False):
    """What stands between two blank lines beside data: `others` are lines that are no field."""

    name: str | None = None
    empty_data: int = 0
    errors: list[str] = msgspec.field(default_factory=list)
    others: list[str] = msgspec.field(default_factory=list)


def _fields(block: str) -> _Fields:
    found = _Fields()
    for line in block.split("\n"):
        field, _, value = line.partition(":")
        if field == "event":
            found.name = value.removeprefix(" ")
        elif field == "error":
            found.errors.append(value.removeprefix(" "))
        elif line == "data":
            found.empty_data += 1
        elif field not in _SKIPPED:
            found.others.append(line)
    return found


def chunk_id(chunk: dict[str, Any]) -> str | None:
    """Response id of a chunk: its own, or in the Responses and Messages APIs that of the object it announces."""
    if found := text_or_none(chunk.get("id")):
        return found
    for key in _HOLDERS:
        if key in chunk and isinstance(holder := chunk[key], dict) and (found := text_or_none(holder.get("id"))):
            return found
    return None


def all_chunks_have(body: str, response_id: str) -> bool:
    """Whether every event but `[DONE]` carries this id.

    Found by counting, without decoding: True only where each `data:` is followed by just what follows the first, up to
    and with the id. A first event with an empty id and no choices is passed over: Azure begins with its prompt's filter
    results. False also where counting does not decide: odd ids, other members before the id, a text with `data:` in it,
    a cut end, events without a blank line between them.
    """
    if not body.startswith(_FIELD) or not body.endswith(_END) or not _PLAIN_ID.fullmatch(response_id):
        return False
    start, end = 0, body.find("\n")
    if body.find(_NO_ID, start, end) != -1 and body.find(_NO_CHOICES, start, end) != -1:
        start = end + len(_END)
        end = body.find("\n", start)
    needle = f'"id":"{response_id}"'
    found = body.find(needle, start, end)
    if found == -1:
        needle = needle.replace(":", ": ")
        found = body.find(needle, start, end)
    if found == -1:
        return False
    beginning = body[start : found + len(needle)]
    if beginning.rfind(_FIELD) != 0:
        return False
    expected = 1 + body.count(_END + beginning) + body.endswith(_LAST)
    # Of a short text the word is counted faster.
    return (len(body) > _SHORT and _holds_just(body, expected)) or expected == body.count(_FIELD)


def may_end_in_error(body: str) -> bool:
    """Whether an error may stand at the end of the events, in one that has the answer's id; without decoding.

    An error in an event of its own is found by its missing id.
    """
    found = body.find(_ERROR, -_LONGEST_END)
    return found != -1 and _SOME_ERROR.search(body, found) is not None


def first_model(body: str) -> str | None:
    """Model that the first event with one names.

    Azure names none in its first event and one in all others, so more than the first few are seldom decoded.
    """
    end = -1
    for _ in range(_FIRST_EVENTS):
        end = body.find(_NEXT, end + 1)
        if end == -1:
            break
    if end != -1 and (model := _model_in(body[: end + 1])):
        return model
    return _model_in(body)


def _model_in(body: str) -> str | None:
    return next((model for chunk in chunks(body) if (model := text_or_none((chunk or {}).get("model")))), None)


def _holds_just(body: str, events: int) -> bool:
    """Whether a body has no events but these, of which each ends with a blank line; False where that is not sure.

    It counts single characters, much faster than words: either all line ends are those of the events, or what has three
    characters of `data:` is no more than they are.
    """
    codes = np.frombuffer(body.encode("utf-8", "replace"), np.uint8)
    if np.count_nonzero(codes == ord("\n")) == len(_END) * events and "\r" not in body:
        return True
    found = codes[:-4] == ord("d")
    found &= codes[2:-2] == ord("t")
    found &= codes[4:] == ord(":")
    return int(np.count_nonzero(found)) == events
