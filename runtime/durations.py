"""Durations: `30s` or `24h` in settings for a number of seconds, and lengths of time in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def reads_seconds(units: str) -> Callable[[Any], Any]:
    """Return a function that turns text of a number with one of these units, letters of `smhd`, or none, into seconds.

    All else it gives back as it is, for the settings' own validation.
    """
    interval = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s*([{units}]?)")

    def seconds(value: Any) -> Any:
        match = interval.fullmatch(value.strip()) if isinstance(value, str) else None
        return float(match[1]) * _SECONDS[match[2]] if match else value

    return seconds


def duration(length: timedelta | float) -> str:
    """Return a length of time, or seconds, in days, hours, minutes or seconds, whichever gives at least two of them.

    Fewer than ten hours are to the half: "5.5 hours".
    """
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            number = seconds / size
            return f"{round(2 * number) / 2 if unit == 'hours' and number < 10 else round(number):g} {unit}"
    of_seconds = f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"
    return f"{of_seconds} second{'' if of_seconds == '1' else 's'}"
