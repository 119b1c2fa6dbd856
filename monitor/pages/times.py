"""Times as the pages write them: in one zone, which each of them names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo

_IN_A_MESSAGE = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d) UTC\b")
_UNKNOWN = "an unknown time"
_MOMENT = "%-d %b %Y, %H:%M"
_BRIEF = "%-d %b, %H:%M"


class Times:
    """Writes times in a zone, with its abbreviation, or where it has none with its distance from UTC."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        """`zone` is the one of all times."""
        self.zone = zone

    @property
    def name(self) -> str:
        """Name of the zone: UTC, Europe/Berlin."""
        return str(self.zone)

    def moment(self, at: datetime | None) -> str:
        """A time to the minute: 20 Nov 2026, 14:05 UTC."""
        return _UNKNOWN if at is None else self._written(at, _MOMENT)

    def brief_moment(self, at: datetime | None) -> str:
        """A time of the last days, to the minute: 20 Nov, 14:05 UTC."""
        return _UNKNOWN if at is None else self._written(at, _BRIEF)

    def day(self, at: datetime) -> str:
        """The day of a time, without the zone: 20 Nov 2026."""
        return self._written(at, "%-d %b %Y").rsplit(" ", 1)[0]

    def time_of_day(self, at: datetime) -> str:
        """A time beside its day, to the second: 14:05:09 UTC."""
        return self._written(at, "%H:%M:%S")

    def zoned(self, text: str) -> str:
        """Return the text of a message, which names times of UTC, with these as the pages write them."""
        return _IN_A_MESSAGE.sub(lambda found: self._rewritten(found, _MOMENT), text)

    def brief_zoned(self, text: str) -> str:
        """Return the same with times of the last days: without the year."""
        return _IN_A_MESSAGE.sub(lambda found: self._rewritten(found, _BRIEF), text)

    @property
    def filters(self) -> Mapping[str, Callable[..., str]]:
        """Filters of the templates."""
        written: tuple[Callable[..., str], ...] = (
            self.moment,
            self.brief_moment,
            self.time_of_day,
            self.zoned,
            self.brief_zoned,
        )
        return {one.__name__: one for one in written}

    def _written(self, at: datetime, form: str) -> str:
        try:
            local = at.astimezone(self.zone)
        except OverflowError:  # on the first day that there is, or the last one
            local = at.astimezone(UTC)
        return f"{local:{form}} {_abbreviation(local)}"

    def _rewritten(self, found: re.Match[str], form: str) -> str:
        try:
            return self._written(datetime.fromisoformat(found[1]).replace(tzinfo=UTC), form)
        except (ValueError, OverflowError):  # no date, but the name of something
            return found[0]


IN_UTC = Times()
"""Times of what has no reader with a zone: files, and JSON."""


def _abbreviation(local: datetime) -> str:
    name = local.tzname() or ""
    # The database has +0545 for zones without an abbreviation, which nobody would read as one.
    return f"UTC{name[:3]}:{name[3:] or '00'}" if name.startswith(("+", "-")) else name
