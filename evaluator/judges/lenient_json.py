"""Lenient reading of JSON in replies: what models write around it, and how they write its values."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, NoReturn

from lake.spec.thoughts import without_thoughts

_MOST_OBJECTS = 1_000
"""Places at which an object is looked for in a reply, so that no reply keeps a judge busy."""
_MOST_REWRITTEN = 20
"""Those of them at which one is looked for that is not quite JSON."""
_LONGEST_REWRITTEN = 200_000
_DEEPEST = 50
_DEEPEST_WRAPPER = 3

_THOUGHTS = "think|thinking|thought|reasoning"
_END_OF_THOUGHT = re.compile(rf"</(?:{_THOUGHTS})>", re.IGNORECASE)
_FINAL = re.compile(r"\b(?:final|corrected|correction|revised)\b", re.IGNORECASE)
"""What a model writes between a draft and what it means."""
_LAST_LINES = re.compile(r"[\s`]*\Z")
_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.|"(?!\s*[,:}\]]))*"|'(?:[^'\\]|\\.|'(?!\s*[,:}\]]))*'|“[^”]*”)
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE | re.DOTALL,
)
_LITERALS: Mapping[str, str] = {"true": "true", "false": "false", "none": "null", "null": "null"}
_WHOLE = re.compile(
    r"\s*(?:(?:chunk|context|document|doc|source|passage|text|sentence|fact|claim)s?)?\s*[#\[(]?"
    r"\s*([+-]?\d{1,18})(?:\.0+)?\s*[\])]?\s*",
    re.IGNORECASE,
)
_TRUTH: Mapping[str, bool] = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
_VERDICTS: Mapping[str, tuple[str, ...]] = {
    "S": ("supported", "supports", "fully supported", "entailed", "entailment"),
    "C": ("contradicted", "contradicts", "contradiction"),
    "N": ("neither", "neutral", "none", "not supported", "unsupported", "not mentioned"),
}
_IN_WORDS: Mapping[str, str] = {word: letter for letter, words in _VERDICTS.items() for word in words}
_EXPLAINED = re.compile(r"\s*([A-Za-z_ ]+?)\s*(?:[-–—:(,]|\.\s).*", re.DOTALL)
"""A word, and what is said of it: `S - stated in chunk 1`."""


class Contradiction(dict[str, Any]):
    """An object that gives a key twice, with different values: nobody knows which one is meant. It is empty."""


_decoder = json.JSONDecoder(
    strict=False, parse_constant=lambda name: _no_number(name), object_pairs_hook=lambda pairs: _object(pairs)
)


@dataclass(frozen=True)
class Found:
    """A value that a reply may mean; `is_final` says that the reply calls it so, after others."""

    value: Any
    is_final: bool = False


def values_in(text: str) -> list[Found]:
    """Return what a reply may say: the whole text as JSON, else each JSON object in it, wherever it begins.

    Thoughts before it, and what stands before the end of a block of thoughts (`</think>`), are not said. An object
    within another is none of its own. One that contradicts itself anywhere in it is a `Contradiction`. JSON may stand
    in a string of JSON or in HTML's character references, and an object may be written as Python or JavaScript write
    it: with single quotes, comments, names without quotes and commas before its end.
    """
    whole = _decoded(text)
    for _ in range(_DEEPEST_WRAPPER):
        if isinstance(whole, str):
            text = whole
            whole = _decoded(text)
    if isinstance(whole, dict):
        return [Found(whole)]
    for other in _other_writings(text):
        if said := _said(other):
            return said
    return [] if whole is None else [Found(whole)]


def _decoded(text: str) -> Any:
    """Return a text as JSON; None where it is none."""
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def _other_writings(text: str) -> Iterator[str]:
    yield text
    if "&quot;" in text or "&#34;" in text:
        yield unescape(text)
    if '{\\"' in text and isinstance(inner := _decoded(f'"{text[text.find("{") : text.rfind("}") + 1]}"'), str):
        yield inner


def _said(text: str) -> list[Found]:
    """Return the objects of a text that stand after all thoughts."""
    answer = without_thoughts(text)
    if text.strip() and not answer.strip():
        return _last_of_endless_thoughts(text)
    found = list(_objects(answer))
    ends = [one.end() for one in _END_OF_THOUGHT.finditer(answer)]
    ended = next((end for end in reversed(ends) if not _is_inside(end, found)), 0)
    said: list[Found] = []
    before = ended
    for begin, end, value in found:
        if begin >= ended:
            is_final = bool(said) and _FINAL.search(answer, before, begin) is not None
            said.append(Found(value, is_final))
            before = end
    return said


def _last_of_endless_thoughts(text: str) -> list[Found]:
    """Return the object that ends a text and begins a line of it: thoughts were not ended before what they are for."""
    found = list(_objects(text))
    if not found:
        return []
    begin, end, value = found[-1]
    is_last = _LAST_LINES.match(text, end) is not None
    return [Found(value)] if is_last and text[:begin].rstrip(" ").endswith("\n") else []


def _is_inside(place: int, found: Sequence[tuple[int, int, Any]]) -> bool:
    at = bisect_left(found, place, key=lambda one: one[0]) - 1
    return at >= 0 and place <= found[at][1]


def wrapped(value: Any, deepest: int = _DEEPEST_WRAPPER) -> Iterator[dict[str, Any]]:
    """Yield the objects within an object, also those that are written as a string: `{"answer": {...}}`."""
    for inner in value.values() if isinstance(value, dict) and deepest else ():
        inner = _decoded(inner) if isinstance(inner, str) and "{" in inner else inner
        if isinstance(inner, dict):
            yield inner
            yield from wrapped(inner, deepest - 1)


def plain(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value in the types that a schema asks for, where it is plain what is meant; what fits stays as it is.

    A property that was not asked for is left out. Null for a list of numbers or words is an empty one; for a list of
    objects it may be that nothing was looked for. `"1"`, `1.0` and `"chunk 1"` are 1, a number for a list of them is a
    list of one, `"yes"` is true, and a word of a list of words may be written otherwise: `"s"`, `"Supported"` and
    `"S - chunk 1 says so"` are S. All else is left to whoever checks it.
    """
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else tuple(types)
    if isinstance(value, dict):
        return _plain_object(value, schema)
    if "array" in types and not (value is None and "null" in types):
        return _plain_list(value, schema.get("items", {}))
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    return _plain_word(value, types, schema) if isinstance(value, str) else value


def _plain_list(value: Any, items: Mapping[str, Any]) -> Any:
    of = items.get("type")
    if isinstance(value, list):
        return [plain(item, items) for item in value]
    if value is None:
        return None if of == "object" else []
    if of != "integer" or isinstance(value, bool):
        return value
    numbers = [plain(item, items) for item in (value.split(",") if isinstance(value, str) else [value])]
    return numbers if all(isinstance(number, int) for number in numbers) else value


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
    if "integer" in types and (number := _WHOLE.fullmatch(word)):
        return int(number[1])
    return _TRUTH.get(word.strip().lower(), word) if "boolean" in types else word


def _one_of(allowed: list[Any], word: str) -> str:
    for said in (word, explained[1] if (explained := _EXPLAINED.fullmatch(word)) else word):
        meant = _meant(allowed, said)
        if len(meant) == 1:
            return str(meant[0])
    return word


def _meant(allowed: list[Any], word: str) -> list[Any]:
    said = " ".join(word.strip(" \t\r\n.!*\"'`").lower().replace("_", " ").replace("-", " ").split())
    meant = [one for one in allowed if isinstance(one, str) and said in (one.lower(), one.lower().replace("_", " "))]
    if not meant and set(_VERDICTS) == set(allowed) and said in _IN_WORDS:
        return [_IN_WORDS[said]]
    return meant


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
    """Yield each object with where it begins and ends."""
    begin, rewritten = text.find("{"), 0
    for _ in range(_MOST_OBJECTS):
        if begin < 0:
            return
        try:
            found, end = _decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            rewritten += 1
            found, end = _rewritten(text, begin) if rewritten <= _MOST_REWRITTEN else (None, begin + 1)
        if found is not None:
            yield begin, end, found
        begin = text.find("{", end)


def _rewritten(text: str, begin: int) -> tuple[dict[str, Any] | None, int]:
    """Read an object that is not quite JSON, and say where it ends; None where there is none."""
    json_parts: list[str] = []
    depth, at = 0, begin
    while at < begin + _LONGEST_REWRITTEN and (token := _TOKEN.match(text, at)):
        at = token.end()
        if token.lastgroup == "blank":
            continue
        part = _json_token(token)
        if part is None or depth > _DEEPEST:
            break
        if part in ("}", "]") and json_parts[-1:] == [","]:
            del json_parts[-1]
        json_parts.append(part)
        depth += (part in ("{", "[")) - (part in ("}", "]"))
        if not depth:
            found = _decoded("".join(json_parts))
            return (found, at) if isinstance(found, dict) else (None, begin + 1)
    return None, begin + 1


def _json_token(token: re.Match[str]) -> str | None:
    """Return a token as JSON writes it; None for a word that is no value and no name."""
    said = token[0]
    if token.lastgroup == "word":
        return _LITERALS.get(said.lower()) or (
            f'"{said}"' if re.match(r"\s*:", token.string[token.end() :][:20]) else None
        )
    if token.lastgroup != "string":
        return said
    inner = said[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
