"""JSON bodies inside a log line: fast where they are clean, tolerant where they are not."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Final

import orjson

from collector.parsing.json_text.cut import BrokenText, read_cut
from collector.parsing.json_text.value_limit import holds_more_values
from lake.spec.message_parts import objects, text_or_none

CUT_MARK: Final = ">>"
"""Mark that DIAL Core appends to a text that it cut for its length."""

BLANK: Final = "\ufeff \t\r\n"
"""What may stand before JSON or events: a byte order mark and white space."""
_LONGEST_INTEGER: Final = 300
_TEXT_PARTS: Final = (None, "text", "input_text", "output_text")


def read_object(text: object) -> dict[str, Any] | None:
    """Decode a JSON object; None for anything else, and for one of more than `value_limit.MOST_VALUES` values.

    Some texts of DIAL Core that strict JSON forbids are accepted: raw control characters, a byte
    order mark, text after the object. Lone surrogates become U+FFFD; NaN, infinities and integers of
    more than 300 digits become null.
    """
    if not isinstance(text, str) or holds_more_values(text):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _read_tolerantly(text.lstrip(BLANK))
    return value if isinstance(value, dict) else None


def read_objects(text: str) -> list[dict[str, Any]]:
    """Decode a JSON object, or the objects of an array; [] for anything else. The limits are those of `read_object`."""
    value = read_object(text)
    return [value] if value is not None else read_array(text)


def read_array(text: str) -> list[dict[str, Any]]:
    """Decode the objects of a JSON array; [] for anything else. The limits are those of `read_object`."""
    listed = text.lstrip(BLANK)
    if not listed.startswith("[") or holds_more_values(text):
        return []
    try:
        return objects(orjson.loads(listed))
    except orjson.JSONDecodeError:
        return []


def read_cut_object(text: str) -> dict[str, Any] | None:
    """Decode what is left of a JSON object whose end is missing; None where it is wrong before its end."""
    if holds_more_values(text):
        return None
    try:
        value = _clean(read_cut(text.lstrip(BLANK), _DECODER))
    except (BrokenText, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_json(value: object, *, sort_keys: bool = False) -> str | None:
    """Encode a decoded JSON value; None where it is nested too deep for that (254 levels)."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else 0).decode()
    except TypeError:
        return None


def text_of(content: object) -> str | None:
    """Text of a message's `content`: a string, or a list whose text parts are joined by a newline."""
    if isinstance(content, str):
        return content or None
    if not isinstance(content, list):
        return None
    return "\n".join(text for part in content if (text := _part_text(part))) or None


def _part_text(part: object) -> str | None:
    if isinstance(part, dict):
        return text_or_none(part.get("text")) if part.get("type") in _TEXT_PARTS else None
    return text_or_none(part)


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if isfinite(number) else None


_DECODER = json.JSONDecoder(
    strict=False,
    parse_float=_finite,
    parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_INTEGER else None,
    parse_constant=lambda _: None,
)


def _read_tolerantly(text: str) -> object:
    if not text.startswith("{"):
        return None
    try:
        return _clean(_DECODER.raw_decode(text)[0])
    except (ValueError, RecursionError):
        return None


def _clean(value: object) -> object:
    """Replace lone surrogates: UTF-16 joins those that are pairs and shows those that are not."""
    written = json.dumps(value, ensure_ascii=False)
    return orjson.loads(written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
