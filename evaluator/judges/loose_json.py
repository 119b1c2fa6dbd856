"""JSON as models write it: read as JSON where it is, else token by token as Python and JavaScript write an object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

_LONGEST_REWRITTEN = 200_000
_DEEPEST = 50
_DEPTH_OF_LIST = 2
"""A list that stands in the outermost object."""
_QUOTES = ('""', "''", "“”", "„“", "„”", "””", "‘’", "«»", "＂＂")
_BLANKS = r"(?:[\s>]|\\[nrt]|<br\s*/?>)*"
_ENDS = (
    _BLANKS + r"(?:[:：}\])]|//|/\*|\Z|[,，]" + _BLANKS + r"""(?:["'“„”‘«＂{\[}\])\d(/\#-]|"""
    r"(?:true|false|null|none|nan)\b|\w+\s*:))"
)
"""What follows the end of a string, so that a quotation mark within one is none."""


def _string(opening: str, closing: str) -> str:
    inner = re.escape(closing)
    return rf"{re.escape(opening)}(?:[^{inner}\\]|\\.|{inner}(?!{_ENDS}|\s*\n))*{inner}"


_TOKEN = re.compile(
    rf"""(?P<blank>[\s\u200b-\u200d\u2060\ufeff\0>]+|//[^\n]*|/\*.*?\*/|\#[^\n]*|\\[nrt]|\\(?=[\[\]{{}}])|<br\s*/?>)
    |(?P<string>{"|".join(_string(*quotes) for quotes in _QUOTES)})
    |(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>-?[A-Za-z_]\w*)
    |(?P<mark>[{{}}\[\]():,：，])""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_LITERALS: Mapping[str, str] = {
    "true": "true",
    "false": "false",
    **dict.fromkeys(("none", "null", "nan", "undefined", "infinity", "-infinity"), "null"),
}
_MARKS: Mapping[str, str] = {"(": "[", ")": "]", "：": ":", "，": ","}
_NO_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_BEFORE_COLON = re.compile(r"\s*[:：]")
_NO_NAME = re.compile(r"[{}\[\]\n]|\\n")
"""In a name of a value: an object began anew within it."""
_BEFORE_END = re.compile(r"\s*[,，}\]]")


class Contradiction(dict[str, Any]):
    """An object that gives a key twice, with different values: nobody knows which one is meant. It is empty."""


decoder = json.JSONDecoder(
    strict=False, parse_constant=lambda name: _no_number(name), object_pairs_hook=lambda pairs: _object(pairs)
)


def decoded(text: str) -> Any:
    """Return a text as JSON; None where it is none."""
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def rewritten(text: str, begin: int) -> tuple[Any, int]:
    """Read an object or a list that is not quite JSON, and say where it ends; None where there is none."""
    parts: list[str] = []
    for depth, at in _add_parts(parts, text, begin):
        if not depth:
            found = decoded("".join(parts))
            return (found, at) if isinstance(found, dict | list) else (None, begin + 1)
    return None, begin + 1


def closed(text: str, begin: int) -> Any:
    """Read an object that is cut, up to the last whole item of the list in it; None where there is none, or no cut."""
    parts: list[str] = []
    whole = 0
    for depth, _ in _add_parts(parts, text, begin):
        if not depth:
            return None
        if depth == _DEPTH_OF_LIST and parts[-1] == "}":
            whole = len(parts)
        elif depth < _DEPTH_OF_LIST and whole:
            break
    return decoded("".join((*parts[:whole], "]", "}"))) if whole else None


def _add_parts(parts: list[str], text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Add tokens as JSON writes them, and yield after each how deep it is in, and where it ends."""
    depth, at = 0, begin
    while at < begin + _LONGEST_REWRITTEN and (token := _TOKEN.match(text, at)):
        at = token.end()
        if token.lastgroup == "blank":
            continue
        part = _json_token(token)
        if part is None or depth > _DEEPEST or (part == ":" and parts and _NO_NAME.search(parts[-1])):
            return
        if part in ("}", "]") and parts[-1:] == [","]:
            del parts[-1]
        if _lacks_comma(parts, part):
            parts.append(",")
        parts.append(part)
        depth += (part in ("{", "[")) - (part in ("}", "]"))
        yield depth, at


def _lacks_comma(before: list[str], part: str) -> bool:
    return bool(before) and before[-1] not in ("{", "[", ":", ",") and part not in ("}", "]", ":", ",")


def _json_token(token: re.Match[str]) -> str | None:
    """Return a token as JSON writes it; None for a word that is no value and no name."""
    said = token[0]
    if token.lastgroup == "word":
        after = token.string[token.end() : token.end() + 20]
        if _BEFORE_COLON.match(after):
            return f'"{said}"'
        return _LITERALS.get(said.lower()) or (f'"{said}"' if _BEFORE_END.match(after) else None)
    if token.lastgroup == "mark":
        return _MARKS.get(said, said)
    if token.lastgroup == "number":
        return re.sub(r"^\+|(?<![\d.])0+(?=\d)", "", said)
    inner = said[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(?<!\\)"', r"\"", _escaped(inner)) + '"'


def _escaped(inner: str) -> str:
    return _ESCAPE.sub(lambda found: found[0] if not _NO_ESCAPE.match(inner, found.start()) else "\\" + found[0], inner)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its keys and values; it contradicts itself where one in it does."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if _contradicts(value) or not _is_same(found.setdefault(name, value), value):
            return Contradiction()
    return found


def _contradicts(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_contradicts, value))
    return isinstance(value, Contradiction)


def _is_same(one: Any, other: Any) -> bool:
    return one is other or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
