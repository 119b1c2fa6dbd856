"""Lines of a piece: the lines of Core that one line of a file or one Kafka value carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from collector.parsing.json_text.value_limit import holds_more_values, may_hold_more_values
from collector.parsing.line.envelopes import MARK, LinePart, has_text_key, join, read_cri, read_envelopes, read_part
from collector.parsing.line.line import Unreadable
from lake.spec.service_vocabulary import RejectionReason

BOM = b"\xef\xbb\xbf"
_MARK = MARK.encode()
_GLUED = re.compile(rb'\}\s*\{\s*["}]')
SHORTEST = 64
"""Bytes of the smallest line that may be a line of Core; a piece of many smaller parts is one long line."""
MOST_LINES = 100_000
"""Lines of Core that one piece may carry."""
_BETWEEN = re.compile(r"[ \t\r\n\v\f\ufeff,\[\]]*")
_NULS = re.compile(r"\0+")
_MOST_BREAKS = 100
"""An error of the JSON decoder takes time for all text before it; after so many errors the rest is one line."""

# Only ends of values are wanted here, so numbers stay text: `int` refuses long ones.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)


def core_lines(raw: bytes) -> list[bytes]:
    """Core's lines in `raw`, each as the bytes that Core wrote.

    A piece is a bare line, an envelope of those in `envelopes` (an object with a `request` is never one)
    or an array of either; any of them may stand several times on one line. Envelopes with the parts of a
    line follow each other, with newlines between. A BOM and blanks are left out. Text that is not JSON is
    one line, so that it can be rejected with its bytes; it ends where another line of Core begins. Takes
    time linear in the size of `raw`. Raises
    Unreadable (`too_many_values`) where there are more than MOST_LINES.
    """
    lines = list(islice(_lines(raw), MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        raise Unreadable(
            RejectionReason.TOO_MANY_VALUES, f"more than {MOST_LINES} lines came as one; send fewer at once"
        )
    return lines


def _lines(raw: bytes, *, cri: bool = True) -> Iterator[bytes]:
    """Lines of a piece; without `cri` a prefix of that format is text like other text."""
    piece = _strip(raw)
    if not piece:
        return
    # One that holds too much to be decoded is a line as it is, to be rejected.
    if _is_one_line(piece) or holds_more_values(piece):
        yield piece
    elif cri and read_cri(piece) is not None:
        # Once: a line of prefixes alone must not be copied for each of them.
        yield from _unwrapped([read_cri(line) or LinePart(line) for line in piece.split(b"\n")], cri=False)
    elif (envelopes := read_envelopes(piece)) is not None:
        yield from _unwrapped(envelopes, cri=cri)
    # Its parts are decoded from anywhere on, be it inside of what looks like a string.
    elif may_hold_more_values(piece):
        yield piece
    else:
        yield from _unwrapped_in(_parts(piece), cri=cri)


def _unwrapped(parts: list[LinePart], *, cri: bool) -> Iterator[bytes]:
    lines = list(join(parts))
    inner = [read_part(line, cri=cri) for line in lines] if len(lines) > 1 else []
    if any(part is not None and part.goes_on for part in inner):
        # A shipper has wrapped the parts that a runtime made.
        yield from _unwrapped([part or LinePart(line) for part, line in zip(inner, lines, strict=True)], cri=False)
        return
    for line in lines:
        yield from _lines(line, cri=cri)


def _unwrapped_in(pieces: list[bytes], *, cri: bool) -> Iterator[bytes]:
    """Lines of JSON values and the text between them: envelopes that follow each other may hold parts of a line."""
    envelopes: list[LinePart] = []
    for piece in pieces:
        found = read_envelopes(piece) if piece.startswith(b"{") else None
        if found is None:
            yield from _unwrapped(envelopes, cri=cri)
            envelopes = []
            yield piece
        else:
            envelopes += found
    yield from _unwrapped(envelopes, cri=cri)


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
        and not has_text_key(piece)
        and piece.find(_MARK, 1) < 0
        and _GLUED.search(piece) is None
    )


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
