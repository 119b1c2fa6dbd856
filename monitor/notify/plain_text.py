"""Times, durations and names as messages write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

# What ends a line for some reader, every other control character, and what turns the direction of the text after it.
_NOT_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    """Return the text with a blank for each break and control character: no name can begin a line of its own."""
    return _NOT_IN_A_LINE.sub(" ", text)


def time(at: datetime | None) -> str:
    """A time to the minute, in UTC."""
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def duration(length: timedelta) -> str:
    """A length of time in days, hours or minutes, whichever gives at least two of them."""
    if length >= timedelta(days=2):
        return f"{length / timedelta(days=1):.0f} days"
    if length >= timedelta(hours=2):
        return f"{length / timedelta(hours=1):.0f} hours"
    return f"{length / timedelta(minutes=1):.0f} minutes"
