"""Bound on the number of JSON values in a text, counted from its bytes before anything is decoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

MOST_VALUES: Final = 2_000_000
"""JSON values that one text may hold, a line or a body in it: decoded they take a few hundred MiB at most."""

_WINDOW: Final = 1 << 20
_MARKS: Final = b",[{"
"""Every value of a text except the first follows one of these."""
_REST_OF_ESCAPE: Final = re.compile(rb"\\*.?", re.DOTALL)


def holds_more_values(text: str | bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text holds more than so many values; keys, and the content of strings, do not count.

    A short text, and one with few commas and brackets, needs no search.
    """
    # Asked of each text: the first test saves a call for the short ones.
    if len(text) <= most or not may_hold_more_values(text, most):
        return False
    written = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return _marks_outside_strings(written, most) >= most


def hold_more_values(texts: Sequence[bytes], most: int) -> bool:
    """Whether JSON texts hold more than so many values together; a string that is not closed ends with its text."""
    if sum(map(_marks, texts)) < most:
        return False
    left = most
    for text in texts:
        left -= _marks_outside_strings(text, left)
        if left <= 0:
            return True
    return False


def may_hold_more_values(text: str | bytes, most: int = MOST_VALUES) -> bool:
    """Whether a text may hold more than so many values, also if it is read from its middle; strings are counted too."""
    if len(text) <= most:
        return False
    if isinstance(text, str):
        return sum(map(text.count, _MARKS.decode())) >= most
    return _marks(text) >= most


def _marks(text: bytes) -> int:
    return sum(map(text.count, _MARKS))


def _marks_outside_strings(text: bytes, enough: int) -> int:
    """Count the marks, a window at a time, until there are enough."""
    found, start, in_string = 0, 0, False
    while start < len(text) and found < enough:
        end = min(start + _WINDOW, len(text))
        if text[end - 1 : end] == b"\\" and (rest := _REST_OF_ESCAPE.match(text, end)):
            end = rest.end()
        window = text[start:end].replace(b"\\\\", b"").replace(b'\\"', b"")
        codes = np.frombuffer(window, np.uint8)
        if len(codes):
            inside = np.logical_xor.accumulate(codes == ord('"')) ^ in_string
            marks = np.isin(codes, np.frombuffer(_MARKS, np.uint8))
            found += int(np.count_nonzero(marks & ~inside))
            in_string = bool(inside[-1])
        start = end
    return found
