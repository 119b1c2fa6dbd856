"""Lenient reading of JSON in replies: what models write around it, and how they write its values."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from lake.thoughts import without_thoughts

_MOST_OBJECTS = 1_000
"""Places at which an object is looked for in a reply, so that no reply keeps a judge busy."""

_THOUGHTS = "think|thinking|thought|reasoning"
_THOUGHT = re.compile(rf"\s*<(?:{_THOUGHTS})>", re.IGNORECASE)
_END_OF_THOUGHT = re.compile(rf"</(?:{_THOUGHTS})>", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?\d{1,18}(?:\.0+)?\s*")
_TRUTH: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
_VERDICTS: Mapping[str, tuple[str, ...]] = {
    "S": ("supported", "supports", "fully supported", "entailed", "entailment"),
    "C": ("contradicted", "contradicts", "contradiction"),
    "N": ("neither", "neutral", "none", "not supported", "unsupported", "not mentioned"),
}
_IN_WORDS: Mapping[str, str] = {word: letter for letter, words in _VERDICTS.items() for word in words}


class Contradiction(dict[str, Any]):
    """An object that gives a key twice, with different values: nobody knows which one is meant. It is empty."""


_decoder = json.JSONDecoder(
    strict=False, parse_constant=lambda name: _no_number(name), object_pairs_hook=lambda pairs: _object(pairs)
)


def values_in(text: str) -> list[Any]:
    """Give what a reply may say: the whole text as JSON, else each JSON object in it, wherever it begins.

    Thoughts before it, and what stands before the end of a block of thoughts (`</think>`), are not said. An object
    within another is none of its own. One that contradicts itself anywhere in it is a `Contradiction`.
    """
    try:
        whole = _decoder.decode(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return [whole]
    text = without_thoughts(text)
    found = list(_objects(text))
    ends = [one.end() for one in _END_OF_THOUGHT.finditer(text)]
    ended = next((end for end in reversed(ends) if not _is_inside(end, found)), None)
    if ended is None and _THOUGHT.match(text):
        return []
    said = [value for begin, _, value in found if begin >= (ended or 0)]
    return said or ([] if whole is None else [whole])


def _is_inside(place: int, found: Sequence[tuple[int, int, Any]]) -> bool:
    at = bisect_left(found, place, key=lambda one: one[0]) - 1
    return at >= 0 and place <= found[at][1]


def plain(value: Any, schema: Mapping[str, Any]) -> Any:
    """Give a value in the types that a schema asks for, where it is plain what is meant; what fits stays as it is.

    A property that was not asked for is left out, null for a list is an empty one, `"1"` and `1.0` are 1, `"yes"` is
    true, and a word of a list of words may be written otherwise: `"s"` and `"Supported"` are S. All else is left to
    whoever checks it.
    """
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else tuple(types)
    if isinstance(value, dict):
        return _plain_object(value, schema)
    if isinstance(value, list):
        return [plain(item, schema["items"]) for item in value] if "items" in schema else value
    if value is None:
        return [] if "array" in types and "null" not in types else None
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    return _plain_word(value, types, schema) if isinstance(value, str) else value


def _plain_object(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    is_closed = "additionalProperties" in schema
    return {
        name: plain(item, properties[name]) if name in properties else item
        for name, item in value.items()
        if name in properties or not is_closed
    }


def _plain_word(word: str, types: tuple[str, ...], schema: Mapping[str, Any]) -> Any:
    allowed = schema.get("enum")
    if allowed is not None:
        return word if word in allowed else _one_of(allowed, word)
    if not types or "string" in types:
        return word
    if "integer" in types and _WHOLE.fullmatch(word):
        return int(word.strip().partition(".")[0])
    return _TRUTH.get(word.strip().lower(), word) if "boolean" in types else word


def _one_of(allowed: list[Any], word: str) -> str:
    said = " ".join(word.strip(" \t\r\n.!*\"'`").lower().replace("_", " ").replace("-", " ").split())
    meant = [one for one in allowed if isinstance(one, str) and said in (one.lower(), one.lower().replace("_", " "))]
    if not meant and set(_VERDICTS) == set(allowed) and said in _IN_WORDS:
        meant = [_IN_WORDS[said]]
    return str(meant[0]) if len(meant) == 1 else word


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


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Give each object with where it begins and ends."""
    begin = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if begin < 0:
            return
        try:
            found, end = _decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            end = begin + 1
        else:
            yield begin, end, found
        begin = text.find("{", end)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
