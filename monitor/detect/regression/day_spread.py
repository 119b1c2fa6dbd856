"""Spread of a stream's mean from one day to the next, beyond what chance explains."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, Times, begins_of
from monitor.detect.regression.segments.calendar import is_weekend

_DAY = 86_400_000_000
_LEAST_DAYS = 4
_LEAST = 20
"""Conversations of a day that counts."""
_ERRORS = 2.0
"""By how many standard errors the spread is taken smaller than it was seen."""


@dataclass(slots=True, init=False, eq=False)
class DaySpread:
    """Sums of each day of a reference, from which the spread of daily means follows.

    It is that of the differences between a day and the next one there is, so that a slow fall has none; see `spread`.
    """

    _days: Times
    _sums: Floats

    def __init__(self) -> None:
        self._days = np.empty(0, dtype=np.int64)
        self._sums = np.empty((0, 6))
        """Of each day its conversations, and the sums of w, w x, w^2, w^2 x and w^2 x^2."""

    def add(self, values: Floats, weights: Floats, numbers: Integers, at: Times) -> None:
        """Add batches in order of time; `numbers` are those of the values' batches, and `at` when these begin."""
        begins = begins_of(numbers)
        squares = weights**2
        columns = [np.ones(len(values)), weights, weights * values, squares, squares * values, squares * values**2]
        sums = np.add.reduceat(np.stack(columns, axis=1), begins, axis=0)
        days = at[numbers[begins]] // _DAY
        new = np.unique(days[days > self._days[-1]] if len(self._days) else days)
        self._days = np.concatenate([self._days, new])
        self._sums = np.concatenate([self._sums, np.zeros((len(new), 6))])
        places = np.maximum(np.searchsorted(self._days, days), 0)
        # One after the other, so that the portions in which they come do not matter.
        np.add.at(self._sums, places, sums)

    def spread(self, *, within_week: bool = False) -> float | None:
        """Standard deviation of the daily means, less what chance explains of it and its error; None for a few days.

        `within_week` compares working days with working days and weekends with weekends.
        """
        found = self._variances(within_week=within_week)
        return None if found is None else math.sqrt(max(0.0, found.seen - found.chance - _ERRORS * found.error))

    def design_effect(self, *, within_week: bool = False) -> float | None:
        """By how much the variance of daily means is more than chance explains, 1 at least; see `spread`."""
        found = self._variances(within_week=within_week)
        if found is None:
            return None
        return max(1.0, (found.seen - _ERRORS * found.error) / found.chance) if found.chance > 0.0 else 1.0

    def _variances(self, *, within_week: bool) -> _Variances | None:
        there = self._sums[:, 0] >= _LEAST
        if there.sum() < _LEAST_DAYS:
            return None
        count, mass, sums, squares, products, second = self._sums[there].T
        means = sums / mass
        by_chance = np.maximum(second - 2 * means * products + means**2 * squares, 0.0) / mass**2
        by_chance *= count / (count - 1)
        groups = [np.arange(len(means))]
        if within_week:
            weekend = is_weekend(self._days[there] * _DAY)
            groups = [np.flatnonzero(weekend), np.flatnonzero(~weekend)]
        chances = np.concatenate([(by_chance[one][1:] + by_chance[one][:-1]) / 2 for one in groups])
        differences = np.concatenate([np.diff(means[one]) for one in groups])
        chance, seen = float(chances.mean()), float((differences**2).mean()) / 2
        # The variance of a mean of squared differences of which two share a day, for normal values.
        error = chance * math.sqrt(3.0 / len(differences))
        return _Variances(seen, chance, error)


@dataclass(frozen=True, slots=True)
class _Variances:
    """Variances of daily means: as it was seen, as chance explains it, and the standard error of it by chance."""

    seen: float
    chance: float
    error: float
