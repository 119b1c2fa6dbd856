"""What is usual for each segment of a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from monitor.regression.betting import Floats, Interval
from monitor.regression.reference import CONFIDENCE, Reference, rounded_down
from monitor.regression.segments import Choice, Partition, Segment, choose, numbers_of
from monitor.regression.settings import RegressionSettings

_LARGE = 4
"""Times `reference_observations`."""
_TRIES = 2


class Baselines:
    """The reference of a stream, and of its segments once it is large enough to tell them apart.

    Until then, and where no attribute explains the scores, there is one segment, of all. Segments are chosen at the
    first look at the reference with four times `reference_observations` conversations: from as many, their bounds,
    which are wider, are no worse than the first one of the whole. They are chosen once: from the reference alone, so
    before anything is bet on them.

    The lower ends of all segments hold together as surely as that of one: each of k segments has a bound that is
    wrong `2 k p` times as seldom, p being the number of partitions out of which this one was chosen and 2 the tries.
    There is a second try, at the next look, only where the first look did not raise the bound of the whole, as while
    a slow fall is under way.

    A class that the reference has not seen is of the others. These have a baseline once there are as many of them as
    are needed for a stream; until then nothing is said of them.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._first: datetime | None = None
        self._seen: Counter[tuple[Segment, float, float]] | None = Counter()
        self._tries = _TRIES
        self._parts: tuple[Reference, ...] = ()
        self.whole = Reference(settings)
        self.partition = Partition()
        self.shares: Floats = np.ones(1)
        """Share of each segment in the reference that they were chosen from, by weight."""
        self.whole_shares: Floats = np.ones(1)
        """Share of each segment in the reference of the whole when its interval was found."""
        self._weights: Floats = np.zeros(1)

    @property
    def references(self) -> tuple[Reference, ...]:
        """Reference of each segment, by number."""
        return self._parts or (self.whole,)

    @property
    def levels(self) -> Floats:
        """Baseline of each segment, nan where it has none yet."""
        return np.array([np.nan if one.baseline is None else one.baseline for one in self.references])

    @property
    def ceilings(self) -> Floats:
        """Upper end of each segment's interval plus the tolerance, nan where it has none yet."""
        return np.array([np.nan if one.ceiling is None else one.ceiling for one in self.references])

    @property
    def means(self) -> Floats:
        """Mean of each segment's reference, nan where it has none."""
        return np.array([np.nan if one.mean is None else one.mean for one in self.references])

    @property
    def mean(self) -> float | None:
        """Mean of the reference, with its segments in their shares."""
        if not self._parts:
            return self.whole.mean
        return min(1.0, self._over_segments([one.mean for one in self._parts]))

    @property
    def interval(self) -> Interval | None:
        """Interval of `mean`; None while the reference is not complete."""
        found = [one.interval for one in self._parts]
        if not found or self.mean is None:
            return self.whole.interval
        lower = self._over_segments([None if one is None else one.lower for one in found])
        upper = self._over_segments([None if one is None else one.upper for one in found])
        return Interval(self.mean, lower, min(1.0, upper))

    @property
    def baseline(self) -> float | None:
        """Baseline of the segments in their shares; None while the reference is not complete."""
        interval = self.interval
        return None if interval is None else interval.lower - self._settings.tolerance

    def numbers(self, segments: Sequence[Segment]) -> NDArray[np.intp]:
        """Number of the segment of each observation."""
        if not self._parts:
            return np.zeros(len(segments), dtype=np.intp)
        return numbers_of(self.partition, segments)

    def without_mix(self, values: Floats, numbers: NDArray[np.intp]) -> Floats:
        """Give values as if all segments had the mean of the whole, so that a change of their shares moves nothing."""
        if not self._parts:
            return values
        means, mean = self.means, self.mean or 0.0
        return np.asarray(values + np.where(np.isnan(means), 0.0, mean - means)[numbers])

    def add(self, segments: Sequence[Segment], values: Floats, weights: Floats, at: datetime) -> None:
        """Add a batch that begins at `at`."""
        self._first = self._first or at
        before, looks = self.whole.baseline, self.whole.looks
        self.whole.add(values, weights, at)
        if self._parts:
            numbers = self.numbers(segments)
            self._weights = self._weights + np.bincount(numbers, weights, len(self._parts))
            if self.whole.baseline != before:
                self.whole_shares = self._weights / self._weights.sum()
            self._add_to(self._parts, numbers, values, weights, at)
        elif self._seen is not None:
            self._seen.update(zip(segments, rounded_down(values).tolist(), weights.tolist(), strict=True))
            is_large = self.whole.observations >= _LARGE * self._settings.reference_observations
            if self.whole.looks > looks and is_large:
                self._tries -= 1
                if before is None or before < (self.whole.baseline or 0.0):
                    self._divide(at)
                if self._parts or not self._tries:
                    self._seen = None

    def _divide(self, at: datetime) -> None:
        seen = list((self._seen or Counter()).elements())
        segments = [one[0] for one in seen]
        values, weights = np.array([one[1:] for one in seen]).T
        chosen = choose(segments, values, weights)
        if chosen is None:
            self._tries = 0
            return
        numbers = numbers_of(chosen.partition, segments)
        size = len(chosen.partition.kept) + 1
        self.partition, self._weights = chosen.partition, np.bincount(numbers, weights, size).astype(np.float64)
        self.shares = self.whole_shares = self._weights / self._weights.sum()
        self._parts = self._references(chosen, np.bincount(numbers, minlength=size))
        self._add_to(self._parts, numbers, values, weights, at)

    def _references(self, chosen: Choice, sizes: NDArray[np.intp]) -> tuple[Reference, ...]:
        confidence = 1.0 - (1.0 - CONFIDENCE) / (_TRIES * chosen.out_of * len(sizes))
        known = sizes if chosen.partition.has_others else sizes[:-1]
        parts = [Reference(self._settings, confidence, size, self._first) for size in known.tolist()]
        return (*parts, *(() if chosen.partition.has_others else [Reference(self._settings, confidence)]))

    def _add_to(
        self, parts: Sequence[Reference], numbers: NDArray[np.intp], values: Floats, weights: Floats, at: datetime
    ) -> None:
        for number in np.unique(numbers):
            of_it = numbers == number
            parts[number].add(values[of_it], weights[of_it], at)

    def _over_segments(self, values: Sequence[float | None]) -> float:
        return float(sum(share * value for share, value in zip(self.shares, values, strict=True) if value is not None))
