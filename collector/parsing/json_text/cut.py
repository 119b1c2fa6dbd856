"""A JSON object whose text ends too early: all members that can still be read."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

# Core's own objects nest four deep; a limit bounds the time, since each level is read once more.
_DEPTH = 4
_LONGEST_ESCAPE = len(r"\u0000")
_LITERALS = ("true", "false", "null")
_NUMBER = re.compile(r"[-0-9][-+0-9.eE]*")
_BLANKS = re.compile(r"[ \t\r\n]*")
_ABSENT = object()


class BrokenText(ValueError):  # noqa: N818 - it says what the text is, not that a program failed
    """The text stops being JSON at `position`, and more text follows: it was not merely cut."""

    def __init__(self, position: int) -> None:
        super().__init__(f"the text is no JSON from character {position} on")
        self.position = position


def read_cut(text: str, decoder: json.JSONDecoder, texts: Container[str] | None = None) -> dict[str, Any]:
    """Members of the object that `text` begins, where the text ends inside it.

    The mark `>>` of a cut line is not part of the text. Whole members are kept, an open object or array keeps
    what it has so far. An open string is closed if its member's name is in `texts` (None: every one), else
    left out like a number or a word at the very end: half of it would say something else. Raises BrokenText
    where the text is wrong before its end, RecursionError where it nests too deeply. Takes time linear in
    the length of the text.
    """
    text = text.removesuffix(">>")
    if not text.startswith("{"):
        raise BrokenText(0)
    return _CutText(text, decoder, texts).object(0, _DEPTH)


@dataclass(frozen=True, slots=True)
class _CutText:
    text: str
    decoder: json.JSONDecoder
    texts: Container[str] | None

    def object(self, start: int, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        position = self._skip(start + 1)
        while position < len(self.text):
            if self.text[position] != '"':
                raise BrokenText(position)
            try:
                key, position = self.decoder.raw_decode(self.text, position)
            except json.JSONDecodeError as error:
                self._require_end(error)
                break
            position = self._after(":", position)
            if position >= len(self.text):
                break
            value, position = self._value(position, depth, key)
            if value is not _ABSENT:
                members[key] = value
            position = self._after(",", position)
        return members

    def _array(self, start: int, depth: int) -> list[Any]:
        items = []
        position = self._skip(start + 1)
        while position < len(self.text):
            value, position = self._value(position, depth, None)
            if value is not _ABSENT:
                items.append(value)
            position = self._after(",", position)
        return items

    def _value(self, start: int, depth: int, name: str | None) -> tuple[Any, int]:
        """The value at `start` and where it ends; a value that is cut ends where the text ends."""
        if _NUMBER.fullmatch(self.text, start):
            return _ABSENT, len(self.text)
        try:
            return self.decoder.raw_decode(self.text, start)
        except json.JSONDecodeError:
            return self._cut_value(start, depth, name), len(self.text)

    def _cut_value(self, start: int, depth: int, name: str | None) -> Any:
        first = self.text[start]
        if first == '"':
            value = self._open_string(start)
            return value if self.texts is None or name in self.texts else _ABSENT
        if first in "{[":
            if not depth:
                return _ABSENT
            return self.object(start, depth - 1) if first == "{" else self._array(start, depth - 1)
        if any(word.startswith(self.text[start : start + 5]) for word in _LITERALS):
            return _ABSENT
        raise BrokenText(start)

    def _open_string(self, start: int) -> str:
        """Close the string that opens at `start`; an escape that is cut at its end is left out."""
        for dropped in range(_LONGEST_ESCAPE):
            try:
                return str(self.decoder.raw_decode(self.text[start : len(self.text) - dropped] + '"')[0])
            except json.JSONDecodeError as error:
                self._require_end(error, start)
        raise BrokenText(start)

    def _require_end(self, error: json.JSONDecodeError, start: int = 0) -> None:
        """Let an error pass that only says that the text ends inside a string."""
        position = start + error.pos
        if not error.msg.startswith("Unterminated") and position < len(self.text) - 2 * _LONGEST_ESCAPE:
            raise BrokenText(position) from None

    def _after(self, separator: str, position: int) -> int:
        position = self._skip(position)
        if position < len(self.text) and self.text[position] != separator:
            raise BrokenText(position)
        return self._skip(position + 1)

    def _skip(self, position: int) -> int:
        match = _BLANKS.match(self.text, position)
        return match.end() if match else position
