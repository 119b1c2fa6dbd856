"""A JSON object whose text ends too early: all members that can still be read."""

from __future__ import annotations

import json
import re
from typing import Any

# Core's own objects nest four deep; a limit bounds the time, since each level is read once more.
_DEPTH = 4
_LONGEST_ESCAPE = len(r"\u0000")
_LITERALS = ("true", "false", "null")
_NUMBER = re.compile(r"[-0-9][-+0-9.eE]*")
_ABSENT = object()


class BrokenText(ValueError):  # noqa: N818 - it says what the text is, not that a program failed
    """The text stops being JSON at `position`, and more text follows: it was not merely cut."""

    def __init__(self, position: int) -> None:
        super().__init__(f"the text is no JSON from character {position} on")
        self.position = position


def read_cut(text: str, decoder: json.JSONDecoder) -> dict[str, Any]:
    """Members of the object that `text` begins, where the text ends inside it.

    The mark `>>` of a cut line is not part of the text. Whole members are kept, an open string is closed,
    an open object or array keeps what it has so far; a number or a word at the very end is left out, since
    more of it may be missing. Raises BrokenText where the text is wrong before its end, RecursionError
    where it nests too deeply. Takes time linear in the length of the text.
    """
    text = text.removesuffix(">>")
    if not text.startswith("{"):
        raise BrokenText(0)
    return _object(text, 0, decoder, _DEPTH)


def _object(text: str, start: int, decoder: json.JSONDecoder, depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    position = _skip(text, start + 1, " \t\r\n")
    while position < len(text):
        if text[position] != '"':
            raise BrokenText(position)
        try:
            key, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            _require_end(text, error)
            break
        position = _skip(text, position, " \t\r\n")
        if position < len(text) and text[position] != ":":
            raise BrokenText(position)
        position = _skip(text, position + 1, " \t\r\n")
        if position >= len(text):
            break
        value, position = _value(text, position, decoder, depth)
        if value is not _ABSENT:
            members[key] = value
        position = _next(text, position)
    return members


def _array(text: str, start: int, decoder: json.JSONDecoder, depth: int) -> list[Any]:
    items = []
    position = _skip(text, start + 1, " \t\r\n")
    while position < len(text):
        value, position = _value(text, position, decoder, depth)
        if value is not _ABSENT:
            items.append(value)
        position = _next(text, position)
    return items


def _value(text: str, start: int, decoder: json.JSONDecoder, depth: int) -> tuple[Any, int]:
    """The value at `start` and where it ends; a value that is cut ends where the text ends."""
    if _NUMBER.fullmatch(text, start):
        return _ABSENT, len(text)
    try:
        return decoder.raw_decode(text, start)
    except json.JSONDecodeError:
        return _cut_value(text, start, decoder, depth), len(text)


def _cut_value(text: str, start: int, decoder: json.JSONDecoder, depth: int) -> Any:
    first = text[start]
    if first == '"':
        return _open_string(text, start, decoder)
    if first in "{[":
        if not depth:
            return _ABSENT
        return (_object if first == "{" else _array)(text, start, decoder, depth - 1)
    if any(word.startswith(text[start : start + 5]) for word in _LITERALS):
        return _ABSENT
    raise BrokenText(start)


def _open_string(text: str, start: int, decoder: json.JSONDecoder) -> str:
    """Close the string that opens at `start`; an escape that is cut at its end is left out."""
    for dropped in range(_LONGEST_ESCAPE):
        content = text[start : len(text) - dropped] + '"'
        try:
            value, end = decoder.raw_decode(content)
        except json.JSONDecodeError as error:
            _require_end(content, error)
            continue
        if end < len(content):
            raise BrokenText(start + end)
        return str(value)
    raise BrokenText(start)


def _require_end(text: str, error: json.JSONDecodeError) -> None:
    """Let an error pass that only says that the text ends inside a string."""
    if not error.msg.startswith("Unterminated") and error.pos < len(text) - 2 * _LONGEST_ESCAPE:
        raise BrokenText(error.pos) from None


def _next(text: str, position: int) -> int:
    position = _skip(text, position, " \t\r\n")
    if position < len(text) and text[position] != ",":
        raise BrokenText(position)
    return _skip(text, position + 1, " \t\r\n")


def _skip(text: str, position: int, characters: str) -> int:
    while position < len(text) and text[position] in characters:
        position += 1
    return position
