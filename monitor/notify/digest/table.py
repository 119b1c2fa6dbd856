"""Contents of a digest: its period, a row of each deployment, and the table of the rows that a receiver gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

import msgspec

from monitor.alerting.alerts.change import digest

_AT_HOUR = 8
_WEEK = 7
_COLLECTED_AFTER = timedelta(hours=1)
"""So long after a day its last lines are in the lake."""
_WAITS_FOR = timedelta(hours=3)


class DigestEvery(StrEnum):
    """`monitor.digest`, where it is not off: how often a digest is sent."""

    DAILY = "daily"
    WEEKLY = "weekly"


@dataclass(frozen=True)
class DigestPeriod:
    """Whole days of UTC before `end`: one, or a week; compared with the week before them."""

    every: DigestEvery
    end: date
    """The day after its last one."""

    @property
    def begin(self) -> date:
        """Its first day."""
        return self.end - timedelta(days=1 if self.every is DigestEvery.DAILY else _WEEK)

    @property
    def before(self) -> date:
        """The first day of the week before it."""
        return self.begin - timedelta(days=_WEEK)

    @property
    def times(self) -> tuple[datetime, datetime]:
        """When it begins and ends."""
        return _midnight(self.begin), _midnight(self.end)

    @property
    def words(self) -> str:
        """As a message writes it: "the week 16 Nov to 22 Nov 2026 (UTC)"."""
        last = self.end - timedelta(days=1)
        if self.every is DigestEvery.DAILY:
            return f"{last:%-d %b %Y} (UTC)"
        return f"the week {self.begin:%-d %b} to {last:%-d %b %Y} (UTC)"

    def id_of(self, receiver: str) -> str:
        """Return the id of the digest to a receiver: the same whenever it is sent again."""
        return digest("digest", receiver, self.every, self.end.isoformat())


def due_period(every: DigestEvery, now: datetime, zone: ZoneInfo) -> DigestPeriod | None:
    """Return the period whose digest is to be sent by `now`: at 8 o'clock in the zone, each day or on Mondays.

    It is no sooner than an hour after the end of the period. None later than half a period after that: what a monitor
    that was away for longer missed is not sent.
    """
    end, days = now.astimezone(zone).date(), 1
    if every is DigestEvery.WEEKLY:
        end, days = end - timedelta(days=end.weekday()), _WEEK
    length = timedelta(days=days)
    if _due(end, zone) > now:
        end -= length
    return None if now - _due(end, zone) > length / 2 else DigestPeriod(every, end)


def may_wait(period: DigestPeriod, complete_until: datetime | None, now: datetime, zone: ZoneInfo) -> bool:
    """Whether a digest that is due waits for rows of its period: where the tables are not complete, for three hours."""
    return _lacks_rows(period, complete_until) and now < _due(period.end, zone) + _WAITS_FOR


def _lacks_rows(period: DigestPeriod, complete_until: datetime | None) -> bool:
    return complete_until is not None and complete_until < period.times[1]


def _due(end: date, zone: ZoneInfo) -> datetime:
    at = datetime(end.year, end.month, end.day, _AT_HOUR, tzinfo=zone).astimezone(UTC)
    # At 8 o'clock in the far east UTC has the day before, or has just begun the day.
    return max(at, _midnight(end) + _COLLECTED_AFTER)


def last_period(every: DigestEvery, now: datetime) -> DigestPeriod:
    """Return the last period that is over by `now`; a week of it ends with a Sunday."""
    today = now.astimezone(UTC).date()
    return DigestPeriod(every, today if every is DigestEvery.DAILY else today - timedelta(days=today.weekday()))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


class Quality(msgspec.Struct, frozen=True, rename="camel"):
    """The metric of a deployment that changed most for the worse, measured by its noise."""

    metric: str
    mean: float
    number: int
    """Scores in the period."""
    before: float | None = None
    """Mean of the week before; null where it has too few scores."""
    change: str = "same"
    """`worse` or `better` where the difference is more than noise, else `same`."""


class DigestRow(msgspec.Struct, frozen=True, rename="camel"):
    """One deployment in the period."""

    deployment: str
    quality: Quality | None = None
    incidents: int = 0
    """Incidents that were open in it."""
    open_incidents: int = 0
    """Those of them that still are."""
    requests: int = 0
    failed: int = 0
    likes: int = 0
    dislikes: int = 0
    cost: float = 0.0
    """Price of the answers that people saw, with all calls that they led to."""
    judge_cost: float = 0.0
    is_new_version: bool = False
    """Whether it is a version of an application whose first request came in the period."""
    is_missing: bool = False
    """Whether its numbers could not be worked out; they are 0 then."""

    @property
    def is_worse(self) -> bool:
        """Whether its quality is worse than in the week before."""
        return self.quality is not None and self.quality.change == "worse"

    @property
    def order(self) -> tuple[bool, bool, bool, int, str]:
        """What is looked for first: open incidents, what got worse, incidents that are over or not known, traffic."""
        had_none = not (self.incidents or self.is_missing)
        return not self.open_incidents, not self.is_worse, had_none, -self.requests, self.deployment


class DigestTable(msgspec.Struct, frozen=True, rename="camel"):
    """What a receiver gets: the rows of its deployments, what a reader looks for first."""

    every: DigestEvery
    begin: date
    end: date
    """Its last day."""
    rows: tuple[DigestRow, ...]
    currency: str = ""
    installation: str | None = None
    complete_until: datetime | None = None
    """Where rows of the period may be missing: up to when none is."""

    @property
    def total(self) -> DigestRow:
        """The sum of the rows."""
        names = ("incidents", "open_incidents", "requests", "failed", "likes", "dislikes", "cost", "judge_cost")
        return DigestRow("", **{name: sum(getattr(row, name) for row in self.rows) for name in names})

    @property
    def missing(self) -> int:
        """How many rows have no numbers."""
        return sum(row.is_missing for row in self.rows)

    @property
    def period(self) -> DigestPeriod:
        """Its period."""
        return DigestPeriod(self.every, self.end + timedelta(days=1))


def table_of(
    rows: Iterable[DigestRow],
    period: DigestPeriod,
    is_for: Callable[[str], bool] = lambda _: True,
    currency: str = "",
    installation: str | None = None,
    complete_until: datetime | None = None,
) -> DigestTable:
    """Return the table of the rows of which `is_for` takes the deployment.

    `complete_until` is up to when the tables are complete, where the collector or the evaluator is late.
    """
    mine = sorted((row for row in rows if is_for(row.deployment)), key=lambda row: row.order)
    last, known = period.end - timedelta(days=1), complete_until if _lacks_rows(period, complete_until) else None
    return DigestTable(period.every, period.begin, last, tuple(mine), currency, installation, known)
