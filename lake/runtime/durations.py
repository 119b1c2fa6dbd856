"""Durations in settings: `30s` or `24h` for a number of seconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def reads_seconds(units: str) -> Callable[[Any], Any]:
    """Give a function that turns text of a number with one of these units, letters of `smhd`, or none, into seconds.

    All else it gives back as it is, for the settings' own validation.
    """
    interval = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s*([{units}]?)")

    def seconds(value: Any) -> Any:
        match = interval.fullmatch(value.strip()) if isinstance(value, str) else None
        return float(match[1]) * _SECONDS[match[2]] if match else value

    return seconds
