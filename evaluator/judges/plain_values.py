"""Values of a reply in the types that a schema asks for, where it is plain what an odd writing of them means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.judges.loose_json import Contradiction, decoded
from evaluator.judges.verdict_words import LETTERS, NOUN, letter_of

_WHOLE = re.compile(
    rf"\s*(?:{NOUN}(?:\s*(?:no|nr|number)\b\.?)?(?:-|[\s_.:]*)|[a-z](?=\d))?[#\[(【]*\s*([+-]?\d{{1,18}})(?:\.0+)?\s*[\])】]*\s*:?\s*",
    re.IGNORECASE,
)
_MARK = re.compile(rf"\s*<{NOUN}\s+(\d{{1,9}})(?:\s+[0-9a-f]+)?>\s*", re.IGNORECASE)
"""The mark before a text in the prompt, copied."""
_NUMBERED = re.compile(r"\s*(\d{1,9})\s*[.:)]\s+[^\W\d].*", re.DOTALL)
"""A number and the text that has it: `1. The river is long.` In a list of numbers it is none."""
_JSON = re.compile(r"\s*[\[{]")
_BETWEEN = re.compile(r"[,;&]|\band\b", re.IGNORECASE)
_NO_NUMBERS = frozenset({"-", "–", "[]", "none", "null", "n/a", "no chunk", "no chunks"})
_NUMBER_NAMES = frozenset({"chunk", "number", "id", "index", "context", "document", "sentence"})
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "sentence": ("sentencenumber", "sentenceid", "sentenceindex", "number", "id"),
    "fact": ("claim", "statement"),
    "chunks": ("chunk", "chunkids", "chunknumbers"),
    "verdict": ("label", "judgement", "judgment"),
    "grade": ("score", "rating"),
    "statement": ("fact", "claim"),
    "sentences": ("sentence", "sentencenumbers", "sentenceids"),
}
"""Names, in letters and digits, that an object may have for one that it lacks."""
_GRADE = "grade"
_WORD_NAMES = frozenset({"verdict", "label", "value", "answer", "result", "judgement", "judgment", "decision", "class"})
_TRUTH: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "no", "n", "0"), False),
}
_OF = re.compile(r"\s*(\d{1,3})\s*(?:/|out of|of)\s*(\d{1,3})\s*", re.IGNORECASE)
"""A grade and the best one: `4/5`."""
_CHOICES: Mapping[str, frozenset[str]] = {
    "first": frozenset(
        {"1", "1st", "answer 1", "first answer", "answer 1 is better", "first is better", "first answer is better"}
    ),
    "second": frozenset(
        {"2", "2nd", "answer 2", "second answer", "answer 2 is better", "second is better", "second answer is better"}
    ),
    "tie": frozenset(
        {"equal", "neither", "both", "draw", "none", "no difference", "equally good", "same", "neither is better"}
        | {"neither answer is better", "both are equal", "both are equally good", "both answers are equal"}
    ),
}
"""Other words for which of two answers is better."""


def plain(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value in the types that a schema asks for, where it is plain what is meant; what fits stays as it is.

    A property that was not asked for is left out; of a name only letters and digits count, and `claim` is `fact` where
    that is lacking. A list or an object may be written as a string of JSON, and the objects of a list in lists of their
    own. Null for a list of numbers or words is an empty one; for a list of objects it may be that nothing was looked
    for. An object for a list of them is a list of one, unless its names are numbers. `"1"`, `1.0`, `"chunk 1"` and
    `{"chunk": 1}` are 1, a number for a list of them is a list of one, as `"1 and 2"` is one of two, `"yes"` is true,
    and a word of a list of words may be written otherwise: `"s"`, `"Supported"` and `"S - chunk 1 says so"` are S. All
    else is left to whoever checks it.
    """
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else tuple(types)
    if types and "string" not in types and isinstance(value, str) and _JSON.match(value):
        value = _json_in(value, types)
    if "array" in types and not (value is None and "null" in types):
        return _plain_list(value, schema.get("items", {}))
    if "enum" in schema:
        value = _alone(value)
        value = str(value) if type(value) is int and set(schema["enum"]) == _CHOICES.keys() else value
    if "integer" in types:
        value = _unnamed(value)
    if isinstance(value, dict):
        return _plain_object(value, schema)
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    if types == ("boolean",) and type(value) is int and value in (0, 1):
        return bool(value)
    return _plain_word(value, types, schema) if isinstance(value, str) else value


def _json_in(text: str, types: Sequence[str]) -> Any:
    """Return the list or the object of a string of JSON, where that is asked for; else the string."""
    found = decoded(text)
    is_asked = ("array" in types and isinstance(found, list)) or ("object" in types and isinstance(found, dict))
    return found if is_asked else text


def _alone(value: Any) -> Any:
    """Return the word of a list or an object of one; an object whose name may be a verdict itself stays."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    is_word = isinstance(value, dict) and len(value) == 1 and {name.strip().lower() for name in value} <= _WORD_NAMES
    return next(iter(value.values())) if is_word else value


def _unnamed(value: Any) -> Any:
    """Return the number of an object that has nothing else: what stands beside it may deny it."""
    is_number = isinstance(value, dict) and len(value) == 1 and value.keys() <= _NUMBER_NAMES
    return next(iter(value.values())) if is_number else value


def _plain_list(value: Any, items: Mapping[str, Any]) -> Any:
    of = items.get("type")
    if of == "integer" and not isinstance(value, bool):
        numbers = list(_numbers(value, items))
        return numbers if all(type(number) is int for number in numbers) else value
    if isinstance(value, list):
        # The objects of a list of lists are those of one list.
        flat = [inner for item in value for inner in (item if of == "object" and isinstance(item, list) else [item])]
        return [plain(item, items) for item in flat]
    if of == "object":
        return [plain(item, items) for item in _listed(value)] if isinstance(value, dict) else value
    return [] if value is None else value


def _listed(value: dict[str, Any]) -> Sequence[Any]:
    """Return the objects of an object that has them by their numbers; else the object alone."""
    numbers = [_plain_word(name, ("integer",), {}) for name in value]
    if value and all(type(one) is int for one in numbers) and all(isinstance(one, dict) for one in value.values()):
        return [{_NUMBER: number} | one for number, one in zip(numbers, value.values(), strict=True)]
    return [value]


_NUMBER = "sentence"
"""The name of the numbers in every prompt whose lists have numbered objects."""


def _numbers(value: Any, items: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the numbers that are meant by a list of them in any writing; what is none as it is.

    A text behind a number, as in `1: does not state it`, may deny it.
    """
    value = _unnamed(value)
    if isinstance(value, list):
        for one in value:
            yield from [one] if len(value) > 1 and _says_none(one) else _numbers(one, items)
    elif value is None or _says_none(value):
        return
    elif isinstance(value, str):
        parts = [part for part in _BETWEEN.split(value.strip().strip("[]")) if part.strip()]
        yield from (part if _NUMBERED.fullmatch(part) else plain(part, items) for part in parts)
    else:
        yield plain(value, items)


def _says_none(value: Any) -> bool:
    """Whether a word says that there is no number: beside one it contradicts it."""
    return isinstance(value, str) and value.strip().lower() in _NO_NUMBERS


def _plain_object(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    is_closed = "additionalProperties" in schema
    names = {written: _name(written, properties) for written in value}
    lacking = [
        name
        for name in properties.keys() & _OTHER_NAMES.keys()
        if name not in names.values() and properties[name].get("items", {}).get("type") != "object"
    ]
    for name in lacking:
        others = [one for one in value if names[one] not in properties and letters_of(one) in _OTHER_NAMES[name]]
        names |= dict.fromkeys(_of_one_meaning(others, value, name, properties[name]), name)
    found: dict[str, Any] = {}
    for written, item in value.items():
        name = names[written]
        if name not in properties and is_closed:
            continue
        given = _plain_member(item, properties[name], value) if name in properties else item
        if found.setdefault(name, given) != given:
            return Contradiction()
    return found


def _of_one_meaning(
    others: Sequence[str], of: Mapping[str, Any], name: str, schema: Mapping[str, Any]
) -> Sequence[str]:
    """Return those of other names of one property whose values are meant: where several differ, those of its type.

    No name where that is not plain. `1.0` by another name than `grade` may be a share: only a whole number is a grade.
    """
    if name == _GRADE:
        others = [one for one in others if type(of[one]) is int]
    if len(others) < 2:
        return others
    meant = {one: _plain_member(of[one], schema, of) for one in others}
    fitting = {one: item for one, item in meant.items() if _has_type(item, schema)}
    return list(fitting) if all(item == next(iter(fitting.values())) for item in fitting.values()) else []


def _has_type(value: Any, schema: Mapping[str, Any]) -> bool:
    if "enum" in schema:
        return bool(value in schema["enum"])
    return type(value) is {"integer": int, "string": str, "array": list}.get(schema.get("type", ""))


def _plain_member(item: Any, schema: Mapping[str, Any], of: Mapping[str, Any]) -> Any:
    """Return a value of an object; a verdict may be followed by a text that stands beside it."""
    found = plain(item, schema)
    if not isinstance(found, str) or set(schema.get("enum", ())) != LETTERS or found in LETTERS:
        return found
    return letter_of(found, [one for one in of.values() if isinstance(one, str) and one is not item]) or found


def _name(written: str, properties: Mapping[str, Any]) -> str:
    if written in properties:
        return written
    said = letters_of(written)
    return next((name for name in properties if letters_of(name) == said), written)


def letters_of(name: str) -> str:
    """Return the letters and digits of a name, small, by which `Answer facts` and `**answerFacts**:` are the same."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name))).lower()


def _plain_word(word: str, types: tuple[str, ...], schema: Mapping[str, Any]) -> Any:
    allowed = schema.get("enum")
    if allowed is not None:
        return word if word in allowed else _one_of(allowed, word)
    if not types or "string" in types:
        return word
    if "integer" in types:
        said = " ".join(word.split())
        number = next((found for form in (_WHOLE, _MARK, _NUMBERED) if (found := form.fullmatch(said))), None)
        if number:
            return int(number[1])
        if (of := _OF.fullmatch(said)) and int(of[2]) == schema.get("maximum"):
            return int(of[1])
    return _TRUTH.get(word.strip().strip(".!").lower(), word) if "boolean" in types else word


def _one_of(allowed: list[Any], word: str) -> str:
    said = " ".join(word.lower().replace("_", " ").split()).strip(" .!*\"'`()[]").removeprefix("the ")
    meant = [one for one in allowed if isinstance(one, str) and said == one.lower().replace("_", " ")]
    if set(allowed) == _CHOICES.keys():
        meant += [one for one, words in _CHOICES.items() if said in words]
    if len(meant) == 1:
        return str(meant[0])
    return (letter_of(word) if set(allowed) == LETTERS else None) or word
