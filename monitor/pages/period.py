"""Period of a page: its last days, up to the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cached_property

from monitor.detect.stats.means import Mean, mean_of
from monitor.detect.stats.period_sums import DAY_HOURS, HOUR_SECONDS, PeriodSums


class Days(IntEnum):
    """Lengths that a reader may choose."""

    DAY = 1
    WEEK = 7
    MONTH = 30
    QUARTER = 90

    @property
    def words(self) -> str:
        """The length in words, as the page writes it."""
        return "1 day" if self == 1 else f"{self.value} days"


_SLOT_HOURS = {Days.DAY: 1, Days.WEEK: 6, Days.MONTH: 24, Days.QUARTER: 24}


@dataclass(frozen=True)
class PagePeriod:
    """The last days up to `end`, from a whole hour on; more than a week of them from midnight (UTC) on."""

    days: Days
    end: datetime

    @cached_property
    def first(self) -> int:
        """Its first hour since 1970: the one in which it begins."""
        first = self.last - self.days * DAY_HOURS
        return first if self.days <= Days.WEEK else first // DAY_HOURS * DAY_HOURS

    @cached_property
    def last(self) -> int:
        """Its last hour since 1970: the one in which it ends."""
        return int(self.end.timestamp()) // HOUR_SECONDS

    @property
    def begin(self) -> datetime:
        """When its first hour begins."""
        return datetime.fromtimestamp(self.first * HOUR_SECONDS, UTC)

    def mean_since(self, sums: PeriodSums, since: datetime) -> Mean | None:
        """Return the mean of scores from the first whole hour after `since`: the hour of a fall has some of before."""
        return mean_of(sums.total(-(-int(since.timestamp()) // HOUR_SECONDS), self.last))

    @property
    def slot_hours(self) -> int:
        """Hours of one slot of a chart."""
        return _SLOT_HOURS[self.days]

    @property
    def slot(self) -> timedelta:
        """Length of one slot of a chart."""
        return timedelta(hours=self.slot_hours)
