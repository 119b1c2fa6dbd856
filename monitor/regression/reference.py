"""Reference of a stream: the mean that a regression is measured against."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from monitor.regression.arrays import Floats, Integers, Times, begins_of
from monitor.regression.e_detector.betting import Interval, mean_interval
from monitor.regression.settings import RegressionSettings

CONFIDENCE = 0.95
_GROWTH = 2
_LARGEST = 256
"""Times `reference_observations`."""
_STEP = 1.0 / 1024
_NO_PAIRS = np.empty(0, dtype=np.complex128)
"""Of a value, the real part, and a weight."""


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
        self.observations = self.looks = 0
        self.mean: float | None = None
        self.interval: Interval | None = None
        """None while it is not complete."""

    @property
    def baseline(self) -> float | None:
        """`m0`, below which a mean is a regression; at or below 0 nothing can be one.

        None while the reference is not complete.
        """
        return None if self.interval is None else self.interval.lower - self._settings.tolerance

    @property
    def ceiling(self) -> float | None:
        """Upper end of the mean's interval plus the tolerance: a mean above it is an improvement."""
        return None if self.interval is None else self.interval.upper + self._settings.tolerance

    def until_change(self, sizes: Integers, at: Times) -> int:
        """How many of these batches it can take at once: those up to the first that changes it, or all.

        `sizes` are their numbers of conversations, and `at` when they begin.
        """
        if self._is_full or not sizes.any():
            return len(sizes)
        held = self.observations + np.cumsum(sizes)
        due = (held >= self._next_look) & (at - self._begin(at[sizes > 0]) >= self._time)
        is_full = (held >= self._largest) & (self.interval is not None)
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
        if self.interval is None:
            self.mean = min(1.0, self._total / self._weight)
        if self.observations >= self._next_look and int(at[numbers[-1]]) - self._first >= self._time:
            self._look()

    def _count(self, values: Floats, weights: Floats) -> None:
        # As complex numbers, whose order is that of both parts.
        found = np.concatenate([self._pairs, rounded_down(values) + 1j * weights])
        self._pairs, places = np.unique(found, return_inverse=True)
        counts = np.concatenate([self._counts, np.ones(len(values))])
        self._counts = np.bincount(places, counts).astype(np.float64)

    @property
    def _is_full(self) -> bool:
        return self.interval is not None and self.observations >= self._largest

    def _begin(self, at: Times) -> int:
        return int(at[0]) if self._first is None else self._first

    def _look(self) -> None:
        self.looks += 1
        found = mean_interval(self._pairs.real, self._pairs.imag, self._confidence, self._counts)
        if self.interval is None or found.lower > self.interval.lower:
            self.mean, self.interval = min(1.0, self._total / self._weight), found
        while self._next_look <= self.observations:
            self._next_look *= _GROWTH
        if self._is_full:
            self._pairs, self._counts = _NO_PAIRS, np.empty(0)


def _added_up(total: float, parts: Floats) -> float:
    """Add one after the other: a sum of parts in other portions would be rounded otherwise."""
    return float(np.add.accumulate(np.concatenate([[total], parts]))[-1])


def rounded_down(values: Floats) -> Floats:
    """Give values as they are kept."""
    return np.asarray(np.floor(values / _STEP) * _STEP)
