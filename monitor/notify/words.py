"""How messages write times and lengths of time."""

from __future__ import annotations

from datetime import datetime, timedelta


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
