"""Entries of a piece: the lines of Core that one line of a file or one Kafka value carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

from collector.parsing.json_text.value_limit import holds_more_values, may_hold_more_values
from collector.parsing.line.line import Unreadable
from lake import RejectionReason

BOM = b"\xef\xbb\xbf"
MARK = '{"apiType"'
"""Beginning of every line of Core; inside a JSON string its quotes would be escaped."""

_MARK = MARK.encode()
_GLUED = re.compile(rb'\}\s*\{\s*["}]')
SHORTEST = 64
"""Bytes of the smallest entry that may be a line of Core; a piece of many smaller parts is one long entry."""
MOST_ENTRIES = 100_000
"""Lines of Core that one piece may carry."""
_BETWEEN = re.compile(r"[ \t\r\n\v\f\ufeff,\[\]]*")
_NULS = re.compile(r"\0+")
_MOST_BREAKS = 100
"""An error of the JSON decoder takes time for all text before it; after so many errors the rest is one entry."""

# Only ends of values are wanted here, so numbers stay text: `int` refuses long ones.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)


def split_entries(raw: bytes) -> list[bytes]:
    """Core's lines in `raw`, each as the bytes that Core wrote.

    A piece is a bare line, an envelope `{"message": "<line>", ...}` (an object with a `request` is never
    one) or an array of either; any of them may stand several times on one line. A BOM and blanks are
    left out. Text that is not JSON is one entry, so that it can be rejected with its bytes; it ends
    where another line of Core begins. Takes time linear in the size of `raw`. Raises
    Unreadable (`too_many_values`) where there are more than MOST_ENTRIES.
    """
    entries = list(islice(_entries(raw), MOST_ENTRIES + 1))
    if len(entries) > MOST_ENTRIES:
        raise Unreadable(
            RejectionReason.TOO_MANY_VALUES, f"more than {MOST_ENTRIES} lines came as one; send fewer at once"
        )
    return entries


def _entries(raw: bytes) -> Iterator[bytes]:
    piece = _strip(raw)
    if not piece:
        return
    # One that holds too much to be decoded is an entry as it is, to be rejected.
    if _is_one_line(piece) or holds_more_values(piece):
        yield piece
        return
    messages = _messages(piece)
    if messages is not None:
        for message in messages:
            yield from _entries(message)
    # Its parts are decoded from anywhere on, be it inside of what looks like a string.
    elif may_hold_more_values(piece):
        yield piece
    else:
        for part in _parts(piece):
            yield from _unwrap(part)


def _strip(raw: bytes) -> bytes:
    piece = raw.strip()
    while piece.startswith(BOM):
        piece = piece[len(BOM) :].lstrip()
    return piece


def _is_one_line(piece: bytes) -> bool:
    """A cheap check that saves nearly all lines a second parse; False also if it cannot decide."""
    return (
        piece.startswith(b"{")
        and piece.endswith(b"}")
        and b'"message"' not in piece
        and piece.find(_MARK, 1) < 0
        and _GLUED.search(piece) is None
    )


def _unwrap(part: bytes) -> Iterator[bytes]:
    messages = _messages(part) if part.startswith(b"{") and b'"message"' in part else None
    if messages is None:
        yield part
        return
    for message in messages:
        yield from _entries(message)


def _messages(piece: bytes) -> list[bytes] | None:
    """The messages of an envelope or of an array of envelopes; None for anything else."""
    try:
        value = orjson.loads(piece)
    except orjson.JSONDecodeError:
        value = _load_tolerantly(piece)
    items = value if isinstance(value, list) else [value]
    if not items or not all(map(_is_envelope, items)):
        return None
    return [_encode(item["message"]) for item in items]


def _is_envelope(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("message"), str) and "request" not in value


def _load_tolerantly(piece: bytes) -> Any:
    try:
        return json.loads(piece.decode("utf-8", "surrogateescape"), strict=False, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # A lone surrogate: its bytes are no UTF-8, which the reader of the line repairs and reports.
        return text.encode("utf-8", "surrogatepass")


def _parts(piece: bytes) -> list[bytes]:
    """Cut a piece into its JSON objects and the text between them, in order."""
    text = piece.decode("utf-8", "surrogateescape")
    in_array = text.startswith("[")
    parts, found, position, breaks = [], False, 0, 0
    while position < len(text):
        start = _skip(_BETWEEN, text, position)
        if start == len(text):
            break
        end, is_value = _end_of_part(text, start, in_array) if breaks < _MOST_BREAKS else (len(text), False)
        found = found or is_value
        breaks += not is_value or end - start < SHORTEST
        parts.append(text[start if is_value else position : end])
        position = end
    if not found and len(parts) < 2:
        return [piece]
    return [part.encode("utf-8", "surrogateescape") for part in parts]


def _end_of_part(text: str, start: int, in_array: bool) -> tuple[int, bool]:
    """End of the part at `start`, and whether it is a JSON value."""
    broken_at = start
    if in_array or text[start] == "{":
        try:
            return _DECODER.raw_decode(text, start)[1], True
        except json.JSONDecodeError as error:
            broken_at = error.pos
        except RecursionError:
            return len(text), False
    if text[start] == "\0":
        return _skip(_NULS, text, start), False
    # Not from `start`: whatever was read once is not read again, or nested marks would cost quadratic time.
    mark = text.find(MARK, max(start + 1, broken_at - len(MARK)))
    return (mark if mark >= 0 else len(text)), False


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
