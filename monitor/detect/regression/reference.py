"""Reference of a stream: the mean that a regression is measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Integers, Times, begins_of
from monitor.detect.regression.e_detector.betting import Interval, mean_interval
from monitor.detect.regression.settings import RegressionSettings

CONFIDENCE = 0.95
_GROWTH = 2
_LARGEST = 256
"""Times `reference_observations`."""
_STEP = 1.0 / 1024
_DAY = 86_400_000_000
_ERRORS = 2.0
"""By how many standard errors of the daily means an interval is wider."""
_NO_PAIRS = np.empty(0, dtype=np.complex128)
"""Of a value, the real part, and a weight."""


@dataclass(slots=True, init=False, eq=False)
class Reference:
    """The first conversations of a stream, or of one of its segments, and the baseline `m0` of their mean.

    Complete with `needed` conversations, `reference_observations` by default, over at least `reference_time` from
    `since` on, by default the first of them; `m0` is then the lower end of the mean's confidence sequence less the
    tolerance. It grows on, as long as no regression is active, and is looked at again each time it has doubled, up to
    256 times as many; a look whose bound is not higher changes nothing. So a regression that is under way is never
    swallowed, and as the sequence holds at all its looks at once (betting, arXiv 2010.09686), the highest of its bounds
    is as sure as each.

    Values are kept to a 1024th, rounded down, so that the lower end is never too high.
    """

    _settings: RegressionSettings
    _time: int
    _largest: int
    _confidence: float
    _pairs: NDArray[np.complex128]
    _counts: Floats
    _first: int | None
    _next_look: int
    _weight: float
    _total: float
    _found: tuple[tuple[Interval, float], ...]
    observations: int
    spread: float

    def __init__(
        self,
        settings: RegressionSettings,
        confidence: float = CONFIDENCE,
        needed: int | None = None,
        since: int | None = None,
    ) -> None:
        self._settings = settings
        self._time = settings.reference_time // timedelta(microseconds=1)
        self._largest = _LARGEST * settings.reference_observations
        self._confidence = confidence
        self._pairs, self._counts = _NO_PAIRS, np.empty(0)
        self._first = since
        self._next_look = settings.reference_observations if needed is None else needed
        self._weight = self._total = 0.0
        self._found = ()
        """What each look has found, and how many days the reference was long."""
        self.observations = 0
        self.spread = 0.0
        """Standard deviation of the daily means around the mean, beyond what chance explains."""

    @property
    def looks(self) -> int:
        """How often its mean was looked at."""
        return len(self._found)

    @property
    def mean(self) -> float | None:
        """Of the look that its interval is from, or of all so far while it is not complete."""
        best = self.interval
        if best is not None:
            return best.mean
        return min(1.0, self._total / self._weight) if self.observations else None

    @property
    def interval(self) -> Interval | None:
        """The one of all looks whose lower end is highest; None while it is not complete.

        Days that differ make a mean of few days less sure than its conversations say, by the spread.
        """
        return max(self._intervals, key=lambda one: one.lower, default=None)

    @property
    def latest(self) -> Interval | None:
        """The interval of the last look; None while it is not complete."""
        return self._intervals[-1] if self._found else None

    @property
    def first(self) -> int | None:
        """When its first batch began, in microseconds since 1970."""
        return self._first

    @property
    def _intervals(self) -> list[Interval]:
        return [_wider(one, _ERRORS * self.spread / math.sqrt(days)) for one, days in self._found]

    def until_change(self, sizes: Integers, at: Times) -> int:
        """How many of these batches it can take at once: those up to the first that changes it, or all.

        `sizes` are their numbers of conversations, and `at` when they begin.
        """
        if self._is_full or not sizes.any():
            return len(sizes)
        held = self.observations + np.cumsum(sizes)
        due = (held >= self._next_look) & (at - self._begin(at[sizes > 0]) >= self._time)
        is_full = (held >= self._largest) & bool(self._found)
        (changes,) = np.nonzero((due | is_full) & (sizes > 0))
        return int(changes[0]) + 1 if len(changes) else len(sizes)

    def add(self, values: Floats, weights: Floats, numbers: Integers, at: Times) -> None:
        """Add batches that it can take at once; nothing happens once the reference has its full size.

        `numbers` are those of the values' batches, in order, and `at` when these begin.
        """
        if self._is_full or not len(values):
            return
        begins = begins_of(numbers)
        self._first = self._begin(at[numbers[begins]])
        self._count(values, weights)
        # Batch after batch, so that the portions in which they come do not matter.
        self._weight = _added_up(self._weight, np.add.reduceat(weights, begins))
        self._total = _added_up(self._total, np.add.reduceat(weights * values, begins))
        self.observations += len(values)
        length = int(at[numbers[-1]]) - self._first
        if self.observations >= self._next_look and length >= self._time:
            self._look(max(1.0, length / _DAY))

    def _count(self, values: Floats, weights: Floats) -> None:
        # As complex numbers, whose order is that of both parts.
        found = np.concatenate([self._pairs, rounded_down(values) + 1j * weights])
        self._pairs, places = np.unique(found, return_inverse=True)
        counts = np.concatenate([self._counts, np.ones(len(values))])
        self._counts = np.bincount(places, counts).astype(np.float64)

    @property
    def _is_full(self) -> bool:
        return bool(self._found) and self.observations >= self._largest

    def _begin(self, at: Times) -> int:
        return int(at[0]) if self._first is None else self._first

    def _look(self, days: float) -> None:
        found = mean_interval(self._pairs.real, self._pairs.imag, self._confidence, self._counts)
        mean = min(1.0, self._total / self._weight)
        self._found = (*self._found, (Interval(mean, found.lower, found.upper), days))
        while self._next_look <= self.observations:
            self._next_look *= _GROWTH
        if self._is_full:
            self._pairs, self._counts = _NO_PAIRS, np.empty(0)


def _wider(interval: Interval, by: float) -> Interval:
    return Interval(interval.mean, interval.lower - by, interval.upper + by)


def _added_up(total: float, parts: Floats) -> float:
    """Add one after the other: a sum of parts in other portions would be rounded otherwise."""
    return float(np.add.accumulate(np.concatenate([[total], parts]))[-1])


def rounded_down(values: Floats) -> Floats:
    """Return values rounded down to the step in which they are kept."""
    return np.asarray(np.floor(values / _STEP) * _STEP)
