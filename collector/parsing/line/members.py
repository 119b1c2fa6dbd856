"""Members of a line's object: each is removed when it is read, so that the members without a column remain."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from collector.parsing.line.line import DEEPEST, Unreadable
from lake.spec.service_vocabulary import RejectionReason

_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?\s*", re.ASCII)
_Value = TypeVar("_Value")


class Members:
    """A nested JSON object from which members are taken by their path.

    A value that fits is taken out and returned. Null and the empty string mean absent: they are taken out
    as None. A value that does not fit gives None too, but stays, so that `left` still has it.
    """

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = members

    def peek(self, *path: str) -> Any:
        """The value at `path`, which stays; None where there is none."""
        value: Any = self._members
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """A string."""
        return self._take(path, lambda value: value if isinstance(value, str) else None)

    def matching(self, pattern: re.Pattern[str], *path: str) -> str | None:
        """A string that `pattern` matches as a whole."""
        return self._take(path, lambda value: value if isinstance(value, str) and pattern.fullmatch(value) else None)

    def body(self, *path: str) -> str | None:
        """A body: text, or the JSON text of an object or array that was not put into a string."""
        return self._take(path, _body)

    def texts(self, *path: str) -> list[str] | None:
        """An array of strings."""
        return self._take(path, lambda value: value if _is_texts(value) else None)

    def integer(self, *path: str, bits: int = 64) -> int | None:
        """A whole number, as a number or as text, that a signed integer of `bits` bits can hold."""
        return self._take(path, lambda value: _integer(value, bits))

    def number(self, *path: str) -> float | None:
        """A finite number, as a number or as text."""
        return self._take(path, _number)

    def left(self) -> dict[str, Any]:
        """All that was not taken; objects that became empty are left out."""
        return {key: value for key, value in self._members.items() if value != {}}

    def _take(self, path: tuple[str, ...], convert: Callable[[Any], _Value | None]) -> _Value | None:
        parent = self.peek(*path[:-1])
        if not isinstance(parent, dict) or path[-1] not in parent:
            return None
        value = parent[path[-1]]
        converted = None if value is None else convert(value)
        if converted is not None or value is None or value == "":
            del parent[path[-1]]
        return converted if converted != "" else None


def json_text(value: dict[str, Any] | list[Any]) -> str:
    """JSON text of what was read from a line. Raises Unreadable (`too_deep`)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise Unreadable(RejectionReason.TOO_DEEP, f"the line nests more than {DEEPEST} levels deep: {error}") from None


def _body(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return json_text(value) if isinstance(value, (dict, list)) else None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _integer(value: Any, bits: int) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,40}", value.strip(), re.ASCII):
        value = int(value)
    elif not isinstance(value, int):
        value = _number(value)
    if value is None or isinstance(value, bool) or value != math.floor(value):
        return None
    return int(value) if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None
