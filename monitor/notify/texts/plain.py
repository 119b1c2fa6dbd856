"""Times, amounts, shares and names as messages write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime

# What ends a line for some reader, every other control character, and what turns the direction of the text after it.
_NOT_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    """Return the text with a blank for each break and control character: no name can begin a line of its own."""
    return _NOT_IN_A_LINE.sub(" ", text)


def sentences(told: Sequence[str]) -> str:
    """Join sentences, which have no full stop, to a line that has none at its end."""
    return " ".join(one if one.endswith("?") else f"{one}." for one in told).removesuffix(".")


def first_small(text: str) -> str:
    """Return a sentence with a small letter at its beginning, to stand within another one."""
    return text[:1].lower() + text[1:]


def cut(text: str, length: int) -> str:
    """Return the text with at most so many characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def time(at: datetime | None) -> str:
    """A time to the minute, in UTC."""
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def money(amount: float) -> str:
    """An amount with two decimals, small ones with two digits that say something: 12.34, 0.0031."""
    if amount == 0 or not abs(amount) < 0.1:
        return f"{amount:,.2f}"
    return f"{amount:.{1 - math.floor(math.log10(abs(amount)))}f}"


def percent(share: float | None) -> str:
    """A share in per cent; 100 only where it is all, and 0 only where it is none."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    digits = 0 if share in (0, 1) or 0.1 <= share < 0.995 else 1
    return f"{min(share, 0.999 if share < 1 else 1) * 100:.{digits}f} %"
