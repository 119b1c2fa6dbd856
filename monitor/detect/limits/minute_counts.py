"""Counts of all and of bad events by minute of event time, for the last two days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
KEPT = timedelta(days=2)
LONGEST = timedelta(days=1)
"""A window is no longer than this, however few events it has."""
_MINUTE = timedelta(minutes=1)


def minute_of(at: datetime) -> int:
    """Whole minutes since 1970."""
    return int(at.timestamp() // 60)


def time_of(minute: int) -> datetime:
    """When a minute began."""
    return datetime.fromtimestamp(minute * 60, UTC)


@dataclass(frozen=True)
class Windows:
    """The window that ends with each minute that has an event: last minute, first minute, all events, bad events.

    `shares` are the shares of bad events in these minutes alone, and `in_a_row` says how many events up to there, in
    whole minutes, were all bad.
    """

    ends: Numbers
    firsts: Numbers
    totals: Numbers
    bad: Numbers
    shares: NDArray[np.float64]
    in_a_row: Numbers


@dataclass(frozen=True)
class MinuteEvents:
    """Numbers of all and of bad events in minutes."""

    minutes: Numbers
    totals: Numbers
    bad: Numbers

    @property
    def total(self) -> int:
        """Number of all events."""
        return int(self.totals.sum())

    def after(self, at: datetime) -> tuple[int, int]:
        """Return how many there were, and how many were bad, in the minutes after that of a time."""
        place = int(np.searchsorted(self.minutes, minute_of(at), side="right"))
        return int(self.totals[place:].sum()), int(self.bad[place:].sum())


@dataclass(frozen=True)
class Usual:
    """Numbers of all and of bad events that are older than those that are counted by minute."""

    total: int = 0
    bad: int = 0


@dataclass(slots=True, init=False, eq=False)
class MinuteCounts:
    """Counts by minute of one deployment and limit; they do not depend on the order of the rows."""

    _minutes: Numbers
    _totals: Numbers
    _bad: Numbers
    _why: dict[int, Counter[str]]
    usual: Usual

    def __init__(self) -> None:
        self._minutes = np.empty(0, np.int64)
        self._totals = np.empty(0, np.int64)
        self._bad = np.empty(0, np.int64)
        self._why = {}
        self.usual = Usual()

    @classmethod
    def of_all(cls, parts: Mapping[str, MinuteCounts]) -> MinuteCounts:
        """Return the counts of all parts together; the reason of a bad one is the name of its part."""
        every = cls()
        if not parts:
            return every
        minutes = np.concatenate([one._minutes for one in parts.values()])
        every._minutes, place = np.unique(minutes, return_inverse=True)
        every._totals = _counted(place, np.concatenate([one._totals for one in parts.values()]))
        every._bad = _counted(place, np.concatenate([one._bad for one in parts.values()]))
        for name, one in parts.items():
            for minute, bad in zip(one._minutes[one._bad > 0].tolist(), one._bad[one._bad > 0].tolist(), strict=True):
                every._why.setdefault(minute, Counter())[name] += bad
            every.usual = Usual(every.usual.total + one.usual.total, every.usual.bad + one.usual.bad)
        return every

    def add(self, at: pa.ChunkedArray, bad: NDArray[np.bool_], why: pa.ChunkedArray, now: datetime) -> None:
        """Count rows at the times `at` (none null), `bad` or not, with the reason, if known, of those that are."""
        minutes = np.asarray(at.cast(pa.int64()).to_numpy(), np.int64) // 60_000_000
        oldest = minute_of(now - KEPT)
        recent = minutes >= oldest
        self._count_old(int((~recent).sum()), int((~recent & bad).sum()))
        if not recent.any():
            return
        for minute, reason in zip(
            minutes[recent & bad].tolist(), why.filter(pa.array(recent & bad)).to_pylist(), strict=True
        ):
            known = self._why.setdefault(minute, Counter())
            if reason is not None:
                known[reason] += 1
        self._merge(minutes[recent], bad[recent].astype(np.int64))
        self._forget(oldest)

    def windows(self, window: timedelta, minimum: int, until: datetime) -> Windows:
        """Return the window that ends with each minute up to `until`.

        It is as long as `window`, or so much longer that it holds `minimum`, but no longer than a day.
        """
        known = self._minutes <= minute_of(until)
        ends, totals, bad = self._minutes[known], self._totals[known], self._bad[known]
        before, bad_before = _sums(totals), _sums(bad)
        by_time = np.searchsorted(ends, ends - window // _MINUTE + 1)
        by_number = np.searchsorted(before, before[1:] - minimum, side="right") - 1
        first = np.maximum(np.minimum(by_time, by_number), np.searchsorted(ends, ends - LONGEST // _MINUTE + 1))
        windows = before[1:] - before[first], bad_before[1:] - bad_before[first]
        good_until = np.maximum.accumulate(np.where(bad < totals, before[1:], 0))
        return Windows(ends, ends[first], *windows, bad / totals, before[1:] - good_until)

    def events(self) -> MinuteEvents:
        """Return what is counted by now, which further rows do not change."""
        return MinuteEvents(self._minutes, self._totals, self._bad)

    def between(self, first: int, last: int) -> tuple[int, int]:
        """Return how many there were, and how many were bad, from one minute to another, both included."""
        begin, end = np.searchsorted(self._minutes, (first, last + 1))
        return int(self._totals[begin:end].sum()), int(self._bad[begin:end].sum())

    def forget_old(self, now: datetime) -> None:
        """Count what is older than two days by now as usual."""
        oldest = minute_of(now - KEPT)
        if self._minutes.size and self._minutes[0] < oldest:
            self._forget(oldest)

    @property
    def bad_minutes(self) -> int:
        """In how many minutes there were bad ones."""
        return len(self._why)

    def reasons(self, first: int, last: int) -> Counter[str]:
        """Count the reasons of the bad ones from one minute to another, both included."""
        counted: Counter[str] = Counter()
        for minute, reasons in self._why.items():
            if first <= minute <= last:
                counted += reasons
        return counted

    def most_frequent_reason(self, first: int, last: int) -> str | None:
        """Return the reason of most bad ones from one minute to another, both included; None where none is known."""
        return max(self.reasons(first, last).items(), key=lambda one: (one[1], one[0]), default=(None, 0))[0]

    def begin_of_bad(self, first: int, last: int, limit: float) -> int:
        """Return where the stretch up to the last of these minutes begins in which the share is most above a limit.

        So what fails now and then before an outage is not of it.
        """
        mine = (self._minutes >= first) & (self._minutes <= last)
        over = _sums(self._bad[mine]) - limit * _sums(self._totals[mine])
        return int(self._minutes[mine][np.argmin(over[:-1])]) if mine.any() else first

    def last_bad(self, until: int) -> int | None:
        """Return the last minute with a bad one up to a minute; None where there is none."""
        return max((minute for minute in self._why if minute <= until), default=None)

    def _merge(self, minutes: Numbers, bad: Numbers) -> None:
        every = np.concatenate([self._minutes, minutes])
        self._minutes, place = np.unique(every, return_inverse=True)
        self._totals = _counted(place, np.concatenate([self._totals, np.ones_like(minutes)]))
        self._bad = _counted(place, np.concatenate([self._bad, bad]))

    def _count_old(self, total: int, bad: int) -> None:
        if total:
            self.usual = Usual(self.usual.total + total, self.usual.bad + bad)

    def _forget(self, oldest: int) -> None:
        kept = self._minutes >= oldest
        self._count_old(int(self._totals[~kept].sum()), int(self._bad[~kept].sum()))
        self._minutes, self._totals, self._bad = self._minutes[kept], self._totals[kept], self._bad[kept]
        self._why = {minute: reasons for minute, reasons in self._why.items() if minute >= oldest}


def _counted(place: NDArray[np.intp], numbers: Numbers) -> Numbers:
    return np.bincount(place, numbers).astype(np.int64)


def _sums(numbers: Numbers) -> Numbers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers)])
