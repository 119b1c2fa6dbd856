"""Estimate of when a mean changed, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from lake.spec.alert_vocabulary import OnsetKind
from monitor.detect.regression.arrays import Floats, Integers, Times, begins_of, moment
from monitor.detect.regression.e_detector.bets import ALL
from monitor.detect.regression.e_detector.onset import LONGEST_RECURRENCE, Onset, onset_of, recurrence_of

_REMEMBERED = 500


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The most likely start of the first batch after a change; the true one is from `earliest` to `latest` (95 %)."""

    at: datetime
    earliest: datetime
    latest: datetime
    level_from: datetime
    """From when on the mean is that after the change, as if it had come at once."""
    kind: OnsetKind = OnsetKind.SUDDEN
    hours: tuple[int, int] | None = None
    """Of a change that recurs: from and until which hour of the day (UTC, 1 to 24)."""

    @classmethod
    def known(cls, at: datetime) -> ChangePoint:
        """Return a change whose time is known."""
        return cls(at, at, at, at)


@dataclass(slots=True, init=False, eq=False)
class BatchHistory:
    """Sums of the last 500 batches, from which the change point of their mean is found.

    After `begin_again` only later batches count, but for what recurs each day: that may have raised alarms before.
    """

    _may_recur: bool
    _added: int
    _begin: int
    _numbers: Integers
    _parts: Integers
    _starts: Times
    _sums: Floats

    def __init__(self, *, may_recur: bool = True) -> None:
        """Without `may_recur` no change is taken for one that recurs; then batches may come in any order of time."""
        self._may_recur = may_recur
        self._added, self._begin = 0, 0
        self._numbers, self._parts = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        self._starts, self._sums = np.empty(0, dtype=np.int64), np.empty((0, 3))

    def add(
        self, values: Floats, weights: Floats, numbers: Integers, starts: Times, segments: Integers | None = None
    ) -> None:
        """Add batches, none empty: `numbers` are those of the values' batches, and `starts` when these begin.

        `segments` are the numbers of the values' segments.
        """
        sums = np.stack([weights, weights * values, weights * values**2], axis=1)
        self._append(numbers, starts, np.full(len(values), ALL), sums)
        if segments is not None:
            order = np.lexsort((segments, numbers))
            self._append(numbers[order], starts, segments[order], sums[order])
        self._added += len(starts)
        kept = self._numbers >= self._added - _REMEMBERED
        self._numbers, self._parts = self._numbers[kept], self._parts[kept]
        self._starts, self._sums = self._starts[kept], self._sums[kept]

    def begin_again(self) -> None:
        """Look for changes among the batches from now on."""
        self._begin = self._added

    @property
    def from_first(self) -> tuple[Times, Floats] | None:
        """Starts and sums of all batches that there were; None where some are forgotten, or do not count any more."""
        mine = self._parts == ALL
        return None if self._begin or self._added > _REMEMBERED else (self._starts[mine], self._sums[mine])

    def fall(self, segment: int = ALL) -> ChangePoint | None:
        """Return where the mean, or that of a segment, fell most likely; None where it is nowhere lower."""
        return self._change(-1.0, segment)

    def rise(self, segment: int = ALL) -> ChangePoint | None:
        """Return where the mean, or that of a segment, rose most likely; None where it is nowhere higher."""
        return self._change(1.0, segment)

    def _append(self, numbers: Integers, starts: Times, parts: Integers, sums: Floats) -> None:
        begins = begins_of(numbers, parts)
        found = numbers[begins]
        self._numbers = np.concatenate([self._numbers, self._added + found])
        self._parts = np.concatenate([self._parts, parts[begins]])
        self._starts = np.concatenate([self._starts, starts[found]])
        self._sums = np.concatenate([self._sums, np.add.reduceat(sums, begins, axis=0)])

    def _change(self, sign: float, segment: int) -> ChangePoint | None:
        mine = (self._parts == segment) & (self._numbers >= self._begin)
        starts, found = self._starts[mine], onset_of(self._starts[mine], self._sums[mine], sign)
        if found is None:
            return None
        level_from = moment(int(starts[found.step]))
        every = (self._parts == ALL) & (self._starts >= starts[-1] - LONGEST_RECURRENCE)
        # A rise ends what fell: a time of day at which it was good before too is not when it was back.
        may_recur = self._may_recur and sign < 0
        recurring = recurrence_of(self._starts[every], self._sums[every], sign) if may_recur else None
        if recurring is not None:
            return _told(recurring, self._starts[every], level_from)
        return _told(found, starts, level_from)


def _told(onset: Onset, starts: Times, level_from: datetime) -> ChangePoint:
    at, earliest, latest = (moment(int(starts[place])) for place in (onset.at, onset.earliest, onset.latest))
    return ChangePoint(at, earliest, latest, level_from, onset.kind, onset.hours)
