"""Validation of a judge's reply against the JSON Schema of its request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

from evaluator.judges.lenient_json import Found, value_of_cut, values_in, wrapped
from evaluator.judges.loose_json import Contradiction, decoded
from evaluator.judges.plain_values import letters_of, plain

Schema = Mapping[str, Any]
"""A JSON Schema, as the judge gets it."""

Check = Callable[[Any], None] | None
"""Looks at a value that fits the schema, and raises MisfitError where it does not fit the question."""

READING = "11"
"""Version of how replies are read: another one may make another value of the same reply."""

_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "minimum",
        "maximum",
        "title",
        "description",
    }
)


class MisfitError(ValueError):
    """A reply does not fit; `where` is the place in it, such as `claims[3].verdict`.

    `shown` is what stands there, which may be a text of a user: the message has it, `without_text` has not.
    """

    def __init__(self, where: str, problem: str, shown: str = "") -> None:
        super().__init__(f"{where}: {shown} {problem}" if shown else f"{where}: {problem}")
        self.without_text = f"{where}: {'the value ' if shown else ''}{problem}"


def check_schema(schema: Schema) -> None:
    """Raise ValueError for a schema that `read` does not understand, rather than let a reply pass unchecked.

    Known are type, properties, required, additionalProperties false, items, minItems, maxItems, enum, minimum,
    maximum, title and description. The outermost type must be object: endpoints take no other.
    """
    if schema.get("type") != "object":
        raise ValueError(f"the schema of a reply must have type object, not {schema.get('type')!r}")
    for part in _parts(schema):
        if unknown := set(part) - _KNOWN:
            raise ValueError(f"schema keyword {min(unknown)!r} is not known here; known: {', '.join(sorted(_KNOWN))}")
        if unknown := set(_types(part)) - set(_KINDS):
            raise ValueError(f"schema type {min(unknown)!r} is none of {', '.join(_KINDS)}")
        if part.get("additionalProperties", False) is not False:
            raise ValueError("additionalProperties can only be false")


def read(text: str, schema: Schema, optional: Set[str] = frozenset(), check: Check = None) -> Any:
    """Return the value of a reply that is JSON and fits the schema.

    Text around one JSON object, such as a code fence or a block of thoughts, and an object around it are left out, and
    values that are oddly written are made plain (`plain_values`): some endpoints take a schema and do not heed it.
    Several objects that fit must say the same unless the last is called final, or `check` refuses all others, as those
    that only show the format. None may give a key twice with different values. Of `optional` properties a reply may
    lack what the schema requires, and what it says of them may be of no use. Halves of surrogate pairs, which no table
    could store, become `?`. Raises MisfitError.
    """
    said = [one for found in _in_lines(text, schema) or values_in(text) for one in _unwrapped(found, schema)]
    if any(isinstance(one.value, Contradiction) for one in said):
        raise MisfitError("the reply", "gives a key twice in one object, with different values")
    if not said:
        raise MisfitError("the reply", "is no JSON, or holds no whole JSON object")
    if said[-1].is_taken_back:
        raise MisfitError("the reply", "takes its JSON object back in the text behind it")
    plainly = [Found(_without_useless(plain(one.value, schema), schema, optional), one.is_final) for one in said]
    problems = [next(_problems(one.value, schema, "", optional), None) for one in plainly]
    fitting = [one for one, problem in zip(plainly, problems, strict=True) if problem is None]
    for problem in reversed(problems):
        if problem is not None and not fitting:
            raise problem
    return _sendable(_meant(fitting, check))


def read_cut(text: str, schema: Schema, optional: Set[str], check: Check) -> Any:
    """Return the value of a reply that was cut, where only `optional` properties are missing. Raises MisfitError."""
    value = _without_useless(plain(value_of_cut(text), schema), schema, optional)
    if not optional or check is None:
        raise MisfitError("the reply", "is cut")
    if problem := next(_problems(value, schema, "", optional), None):
        raise problem
    check(value)
    return _sendable(value)


def _meant(fitting: list[Found], check: Check) -> Any:
    """Return the value that is meant by those that fit. Raises MisfitError where that is not plain."""
    different = {json.dumps(one.value, sort_keys=True): one for one in fitting}
    if len(different) == 1 or fitting[-1].is_final:
        return fitting[-1].value
    passing = [one for one in different.values() if check is not None and misfit_of(one.value, check) is None]
    if len(passing) == 1:
        return passing[0].value
    raise MisfitError("the reply", f"{len(different)} JSON objects in it fit, and say different things")


def misfit_of(value: Any, check: Check) -> MisfitError | None:
    """Return why a value does not fit the question, None where it does."""
    try:
        if check is not None:
            check(value)
    except MisfitError as misfit:
        return misfit
    return None


def _sendable(value: Any) -> Any:
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _in_lines(text: str, schema: Schema) -> list[Found]:
    """Return the one list that is asked for where each line of a text is an object of it; else nothing."""
    if (name := _list_of_objects(schema)) is None:
        return []
    names, of_item = (part.get("properties", {}).keys() for part in (schema, schema["properties"][name]["items"]))
    lines = [line.strip().rstrip(",") for line in text.splitlines() if line.strip() and not line.startswith("```")]
    items = [decoded(line) for line in lines] if len(lines) > 1 else []
    are_items = all(isinstance(one, dict) and _has_some(one, of_item) and not _has_some(one, names) for one in items)
    return [Found(items)] if items and are_items else []


def _unwrapped(found: Found, schema: Schema) -> list[Found]:
    """Return the objects within one that has nothing of what was asked for, those that have some of it; or itself."""
    names = schema.get("properties", {}).keys()
    if _has_some(found.value, names):
        return [found]
    inner = [replace(found, value=one) for one in wrapped(found.value) if _has_some(one, names)]
    return inner or [replace(found, value=_as_object(found.value, schema))]


def _has_some(value: Any, names: Set[str]) -> bool:
    return isinstance(value, Contradiction) or (
        isinstance(value, dict) and not {*map(letters_of, names)}.isdisjoint(map(letters_of, value))
    )


def _as_object(value: Any, schema: Schema) -> Any:
    """Return a list of objects, or of numbers, as the one list that the schema asks for; else the value.

    An empty one has no numbers; for objects it may be that nothing was looked for.
    """
    if not isinstance(value, list):
        return value
    properties, objects = schema.get("properties", {}), _list_of_objects(schema)
    if objects is None:
        is_of_numbers = len(properties) == 1 and all(type(one) is int for one in value)
        return {next(iter(properties)): value} if is_of_numbers else value
    return {objects: value} if value else value


def _list_of_objects(schema: Schema) -> str | None:
    """Return the name of the list of objects that a schema asks for; None where there is none, or several."""
    properties = schema.get("properties", {})
    lists = [name for name, one in properties.items() if one.get("items", {}).get("type") == "object"]
    return lists[0] if len(lists) == 1 else None


def _without_useless(value: Any, schema: Schema, optional: Set[str]) -> Any:
    """Return a value without those optional properties that do not fit, however deep."""
    if isinstance(value, list):
        return [_without_useless(item, schema.get("items", {}), optional) for item in value]
    if not isinstance(value, dict) or isinstance(value, Contradiction):
        return value
    properties = schema.get("properties", {})
    return {
        name: _without_useless(item, properties.get(name, {}), optional)
        for name, item in value.items()
        if name not in optional or next(_problems(item, properties.get(name, {}), "", optional), None) is None
    }


def _parts(schema: Schema) -> Iterator[Schema]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from _parts(inner)


def _types(schema: Schema) -> tuple[str, ...]:
    given = schema.get("type", ())
    return (given,) if isinstance(given, str) else tuple(given)


def _problems(value: Any, schema: Schema, where: str, optional: Set[str]) -> Iterator[MisfitError]:
    place = where or "the reply"
    types = _types(schema)
    if types and not any(_is_a(value, name) for name in types):
        yield MisfitError(place, f"is no {' or '.join(types)}", _shown(value))
        return
    if isinstance(value, Contradiction):
        yield MisfitError(place, "gives a key twice, with different values")
        return
    if "enum" in schema and not any(_equal(value, allowed) for allowed in schema["enum"]):
        yield MisfitError(place, f"is none of {json.dumps(schema['enum'])}", _shown(value))
    if isinstance(value, dict):
        yield from _problems_of_object(value, schema, where, optional)
    elif isinstance(value, list):
        yield from _problems_of_array(value, schema, where, optional)
    elif _is_a(value, "number"):
        if value < schema.get("minimum", value):
            yield MisfitError(place, f"is less than {schema['minimum']}", str(value))
        if value > schema.get("maximum", value):
            yield MisfitError(place, f"is more than {schema['maximum']}", str(value))


def _problems_of_object(value: dict[str, Any], schema: Schema, where: str, optional: Set[str]) -> Iterator[MisfitError]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value and name not in optional:
            yield MisfitError(where or "the reply", f"{name!r} is missing")
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], f"{where}.{name}".removeprefix("."), optional)
        elif "additionalProperties" in schema:
            yield MisfitError(where or "the reply", "was not asked for", repr(name))


def _problems_of_array(value: list[Any], schema: Schema, where: str, optional: Set[str]) -> Iterator[MisfitError]:
    if len(value) < schema.get("minItems", 0):
        yield MisfitError(where or "the reply", f"{len(value)} items are fewer than {schema['minItems']}")
    if len(value) > schema.get("maxItems", len(value)):
        yield MisfitError(where or "the reply", f"{len(value)} items are more than {schema['maxItems']}")
    if "items" in schema:
        for i, item in enumerate(value):
            yield from _problems(item, schema["items"], f"{where}[{i}]", optional)


def _is_a(value: Any, name: str) -> bool:
    # In Python, unlike in JSON, true is a number.
    return isinstance(value, _KINDS[name]) and (name == "boolean" or not isinstance(value, bool))


def _equal(value: Any, allowed: Any) -> bool:
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
