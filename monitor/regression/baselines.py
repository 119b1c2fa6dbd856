"""Baselines of the segments of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.regression.arrays import Floats, Integers
from monitor.regression.e_detector.betting import Interval
from monitor.regression.observations import Observations
from monitor.regression.reference import CONFIDENCE, Reference, rounded_down
from monitor.regression.segments.partition import PartitionChoice, SegmentPartition, choose, numbers_of
from monitor.regression.settings import RegressionSettings

_LARGE = 4
"""Times `reference_observations`, and from the first try to the second."""
_TRIES = 2


class Baselines:
    """The reference of a stream, and of its segments once it is large enough to divide.

    Until then, and where no attribute explains the scores, there is one segment, of all. Segments are chosen at the
    first look at the reference with four times `reference_observations` conversations: from as many, their bounds,
    which are wider, are no worse than the first one of the whole. They are chosen once: from the reference alone, so
    before anything is bet on them.

    The lower ends of all segments hold together as surely as that of one: each of k segments has a bound that is
    wrong `2 k p` times as seldom, p being the number of partitions out of which this one was chosen and 2 the tries.
    There is a second try, with four times as many, only where the bound of the whole has not risen since it had a
    quarter of those of the first, as while a slow fall is under way.

    A class that the reference has not seen is of the others. These have a baseline once there are as many of them as
    are needed for a stream; until then nothing is said of them.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._first: int | None = None
        self._seen: tuple[Integers, Floats, Floats] | None = (np.empty(0, dtype=np.intp), np.empty(0), np.empty(0))
        self._tries = _TRIES
        self._next_try = _LARGE * settings.reference_observations
        self._before: float | None = None
        """Baseline of the whole at its first look, or at the last try."""
        self._parts: tuple[Reference, ...] = ()
        self.whole = Reference(settings)
        self.partition = SegmentPartition()
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

    def numbers(self, found: Observations) -> Integers:
        """Number of the segment of each observation."""
        if not self._parts:
            return np.zeros(len(found), dtype=np.intp)
        return numbers_of(self.partition, found.segments, found.kinds)

    def without_mix(self, values: Floats, numbers: Integers) -> Floats:
        """Give values as if all segments had the mean of the whole, so that a change of their shares moves nothing.

        Those of a segment without a baseline stay as they are.
        """
        if not self._parts:
            return values
        means, mean = self.means, self.mean or 0.0
        return np.asarray(values + np.where(np.isnan(self.levels), 0.0, mean - means)[numbers])

    def until_change(self, found: Observations) -> int:
        """How many of these batches it can take at once: those up to the first that changes a baseline, or all."""
        first = self.whole.until_change(found.sizes, found.starts)
        if self._parts:
            sizes = self._by_batch(found).astype(np.intp)
            stops = (part.until_change(sizes[:, number], found.starts) for number, part in enumerate(self._parts))
            first = min(first, *stops)
        return first

    def add(self, found: Observations) -> None:
        """Add batches that it can take at once, each in order of time; places in `kinds` are the same every time."""
        if self._first is None:
            self._first = int(found.at[0])
        before, looks = self.whole.baseline, self.whole.looks
        self.whole.add(found.values, found.weights, found.numbers, found.starts)
        if self._parts:
            for weights in self._by_batch(found, found.weights):
                self._weights = self._weights + weights
            if self.whole.baseline != before:
                self.whole_shares = self._weights / self._weights.sum()
            self._add_to_parts(found)
        elif self._seen is not None:
            places, values, weights = self._seen
            self._seen = (
                np.concatenate([places, found.segments]),
                np.concatenate([values, rounded_down(found.values)]),
                np.concatenate([weights, found.weights]),
            )
            if self.whole.looks > looks:
                self._try(found)

    def _try(self, latest: Observations) -> None:
        whole = self.whole.baseline or 0.0
        if self._seen is not None and self.whole.observations >= self._next_try:
            self._tries -= 1
            self._next_try *= _LARGE
            if self._before is None or self._before < whole:
                self._divide(*self._seen, latest)
            if self._parts or not self._tries:
                self._seen = None
            self._before = whole
        elif self._before is None:
            self._before = whole

    def _divide(self, places: Integers, values: Floats, weights: Floats, latest: Observations) -> None:
        kinds = latest.kinds
        chosen = choose(places, kinds, values, weights)
        if chosen is None:
            self._tries = 0
            return
        numbers = numbers_of(chosen.partition, places, kinds)
        size = len(chosen.partition.kept) + 1
        self.partition, self._weights = chosen.partition, np.bincount(numbers, weights, size).astype(np.float64)
        self.shares = self.whole_shares = self._weights / self._weights.sum()
        self._parts = self._references(chosen, np.bincount(numbers, minlength=size))
        at = latest.starts[-1:]
        for number in np.unique(numbers).tolist():
            of_it = numbers == number
            self._parts[number].add(values[of_it], weights[of_it], np.zeros(int(of_it.sum()), dtype=np.intp), at)

    def _references(self, chosen: PartitionChoice, sizes: Integers) -> tuple[Reference, ...]:
        confidence = 1.0 - (1.0 - CONFIDENCE) / (_TRIES * chosen.out_of * len(sizes))
        known = sizes if chosen.partition.has_others else sizes[:-1]
        parts = [Reference(self._settings, confidence, size, self._first) for size in known.tolist()]
        return (*parts, *(() if chosen.partition.has_others else [Reference(self._settings, confidence)]))

    def _add_to_parts(self, found: Observations) -> None:
        numbers = self.numbers(found)
        for number in np.unique(numbers).tolist():
            of_it = numbers == number
            self._parts[number].add(found.values[of_it], found.weights[of_it], found.numbers[of_it], found.starts)

    def _by_batch(self, found: Observations, weights: Floats | None = None) -> Floats:
        """Give the number of each batch's conversations in each segment, or their weight; shape (batches, segments)."""
        size = len(self._parts)
        sums = np.bincount(found.numbers * size + self.numbers(found), weights, found.batches * size)
        return np.asarray(sums.reshape(found.batches, size))

    def _over_segments(self, values: Sequence[float | None]) -> float:
        return float(sum(share * value for share, value in zip(self.shares, values, strict=True) if value is not None))
