"""One line of Core: its bytes are read as a JSON object and repaired if the repair can be named."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from collector.parsing.json_text.cut import BrokenText, read_cut
from collector.parsing.json_text.value_limit import MOST_VALUES, holds_more_values
from lake.spec.service_vocabulary import RejectionReason

DEEPEST = 250
"""Levels of nesting that a line may have; orjson writes no more than 254."""

_BLANKS = " \t\r\n"
_FAILED_MERGE = b'"assembled_response":"'
_TEXTS = frozenset({"assembled_response", "body"})
_CONTROLS = bytes(code for code in range(32) if chr(code) not in "\t\n\r")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
# An escaped backslash and a whole pair are matched first, so that group 1 is a surrogate that stands alone.
_SURROGATE = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True, slots=True)
class Line:
    """Members of a line's JSON object, what had to be repaired to read them, and whether its end is missing."""

    members: dict[str, Any]
    repairs: tuple[str, ...] = ()
    cut: bool = False


class Unreadable(ValueError):  # noqa: N818 - it says what the input is, not that a program failed
    """A line that cannot become a row: `reason` is one of `records.REASONS`."""

    def __init__(self, reason: RejectionReason, message: str, deployment: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.deployment = deployment


def read_line(raw: bytes) -> Line:
    """Read the JSON object of one line.

    Errors of strict JSON are repaired and named in `repairs`: bytes that are not UTF-8, raw control
    characters and lone surrogates become U+FFFD, and a cut line keeps the members before the cut. Raises
    Unreadable (`not_json`, `not_a_log_line`, `empty_object`, `cut`, `too_deep`, `too_many_values`) with a
    message. A line with an error in its middle is unreadable, since a row would lose the text after it.
    """
    if holds_more_values(raw):
        raise Unreadable(
            RejectionReason.TOO_MANY_VALUES, f"the line holds more than {MOST_VALUES} JSON values: {_excerpt(raw)}"
        )
    try:
        line = Line(orjson.loads(raw))
    except orjson.JSONDecodeError:
        line = _repair(raw)
    _require_log_line(line, raw)
    return line


def _require_log_line(line: Line, raw: bytes) -> None:
    if not isinstance(line.members, dict):
        raise Unreadable(RejectionReason.NOT_A_LOG_LINE, f"a line of Core is a JSON object, this is {_excerpt(raw)}")
    if isinstance(line.members.get("request"), dict):
        return
    if line.cut:
        message = f"the line is cut after {len(raw)} bytes, before it tells when the request was made"
        if raw.rstrip().endswith(_FAILED_MERGE):
            message += ": DIAL Core 0.18 ends a line so, for good, where it cannot merge the stream of an answer"
        deployment = line.members.get("deployment")
        raise Unreadable(RejectionReason.CUT, message, deployment if isinstance(deployment, str) else None)
    if not line.members:
        raise Unreadable(RejectionReason.EMPTY_OBJECT, "the line is an empty JSON object")
    keys = ", ".join(sorted(line.members)[:8])
    raise Unreadable(
        RejectionReason.NOT_A_LOG_LINE,
        f"the JSON object has no `request`, so Core did not write it; keys: {keys[:200]}",
    )


def _repair(raw: bytes) -> Line:
    text, repairs = _valid_text(raw)
    text = text.strip(_BLANKS)
    decoder = json.JSONDecoder(strict=False, parse_int=_integer, parse_float=_float, parse_constant=str)
    try:
        try:
            members, end = decoder.raw_decode(text)
        except json.JSONDecodeError as error:
            return Line(_cut_members(text, raw, error, decoder), (*repairs, _cut_message(raw)), cut=True)
    except RecursionError:
        raise Unreadable(
            RejectionReason.TOO_DEEP, f"the line nests more than {DEEPEST} levels deep: {_excerpt(raw)}"
        ) from None
    if end < len(text):
        raise Unreadable(
            RejectionReason.NOT_JSON, f"text follows the JSON value that ends at character {end}: {_excerpt(raw)}"
        )
    return Line(members, tuple(repairs))


def _cut_message(raw: bytes) -> str:
    return f"the line is cut after {len(raw)} bytes"


def _cut_members(text: str, raw: bytes, error: json.JSONDecodeError, decoder: json.JSONDecoder) -> dict[str, Any]:
    try:
        return read_cut(text, decoder, _TEXTS)
    except BrokenText:
        raise Unreadable(RejectionReason.NOT_JSON, f"{error.msg} at character {error.pos}: {_excerpt(raw)}") from None


def _valid_text(raw: bytes) -> tuple[str, list[str]]:
    """The line as text that every column of the lake accepts, and the replacements that were made."""
    repairs = []
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace")
        repairs.append(f"invalid UTF-8 was replaced, first at byte {error.start}")
    if len(raw.translate(None, _CONTROLS)) != len(raw):
        text, count = _CONTROL.subn("\ufffd", text)
        repairs.append(f"{count} raw control character{'s were' if count > 1 else ' was'} replaced")
    whole = _SURROGATE.sub(lambda match: r"\ufffd" if match[1] else match[0], text) if _HALF.search(text) else text
    if whole != text:
        repairs.append("lone surrogates were replaced")
    return whole, repairs


def _integer(text: str) -> int | str:
    return int(text) if len(text) < 19 else text


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _excerpt(raw: bytes) -> str:
    return repr(raw[:60])[1:] + (f" ... ({len(raw)} bytes)" if len(raw) > 60 else "")
