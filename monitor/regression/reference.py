"""What is usual for a stream: the mean that a regression is measured against."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import numpy as np

from monitor.regression.betting import Floats, Interval, mean_interval
from monitor.regression.settings import RegressionSettings

CONFIDENCE = 0.95
_GROWTH = 4
_LARGEST = 64
"""Times `reference_observations`."""
_STEP = 1.0 / 1024


class Reference:
    """The first conversations of a stream, or of one of its segments, and the baseline `m0` of their mean.

    Complete with `needed` conversations, `reference_observations` by default, over at least `reference_time` from
    `since` on, by default the first of them; `m0` is then the lower end of the mean's confidence sequence less the
    tolerance. It grows on to 4, 16 and 64 times as many, as long as no regression is active, and is looked at again
    there; a look whose bound is not higher changes nothing. So a regression that is under way is never swallowed, and
    as the sequence holds at all its looks at once (betting, arXiv 2010.09686), the highest of its bounds is as sure
    as each.

    Values are kept to a 1024th, rounded down, so that the lower end is never too high.
    """

    def __init__(
        self,
        settings: RegressionSettings,
        confidence: float = CONFIDENCE,
        needed: int | None = None,
        since: datetime | None = None,
    ) -> None:
        self._settings = settings
        self._confidence = confidence
        self._counts: Counter[tuple[float, float]] = Counter()
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

    def add(self, values: Floats, weights: Floats, at: datetime) -> None:
        """Add a batch that begins at `at`; nothing happens once the reference has its full size."""
        if self.interval is not None and self.observations >= _LARGEST * self._settings.reference_observations:
            return
        self._first = self._first or at
        self._counts.update(zip(rounded_down(values).tolist(), weights.tolist(), strict=True))
        self._weight, self._total = self._weight + float(weights.sum()), self._total + float(weights @ values)
        self.observations += len(values)
        if self.interval is None:
            self.mean = min(1.0, self._total / self._weight)
        if self.observations >= self._next_look and at - self._first >= self._settings.reference_time:
            self._look()

    def _look(self) -> None:
        self.looks += 1
        values, weights = np.array(sorted(self._counts)).T
        counts = np.array([self._counts[pair] for pair in sorted(self._counts)], dtype=np.float64)
        found = mean_interval(values, weights, self._confidence, counts)
        if self.interval is None or found.lower > self.interval.lower:
            self.mean, self.interval = min(1.0, self._total / self._weight), found
        while self._next_look <= self.observations:
            self._next_look *= _GROWTH
        if self.observations >= _LARGEST * self._settings.reference_observations:
            self._counts.clear()


def rounded_down(values: Floats) -> Floats:
    """Give values as they are kept."""
    return np.asarray(np.floor(values / _STEP) * _STEP)
