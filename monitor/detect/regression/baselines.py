"""Baselines of the segments of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers
from monitor.detect.regression.day_spread import DaySpread
from monitor.detect.regression.e_detector.bets import Bets, slack_of
from monitor.detect.regression.e_detector.betting import Interval
from monitor.detect.regression.e_detector.design_effect import BatchCorrelation, Dependence, design_effect
from monitor.detect.regression.new_classes import KNOWN, MOST_NEW, NewValues
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.reference import CONFIDENCE, Reference, rounded_down
from monitor.detect.regression.segments.calendar import WEEKEND
from monitor.detect.regression.segments.partition import PartitionChoice, SegmentPartition, choose, numbers_of
from monitor.detect.regression.settings import RegressionSettings

_LARGE = 4
"""Times `reference_observations`, and from the first try to the second."""
_TRIES = 2
_SPREADS = 1.0
"""By how many times the spread between days the tolerance is raised."""
_NEW_LOOKS = 3
"""Looks at a new class, after which it is new no longer."""
UNKNOWN_SPREAD = 0.025
"""Spread between days of a stream that has too few of them to say."""
_NO_NEW = (0.0,) * MOST_NEW


@dataclass(slots=True, init=False, eq=False)
class Baselines:
    """The reference of a stream, and of its segments once it is large enough to divide.

    Until then, and where no attribute explains the scores, there is one segment, of all. Segments are chosen at the
    first look at the reference with four times `reference_observations` conversations: from as many, their bounds,
    which are wider, are no worse than the first one of the whole. They are chosen again with four times as many, where
    less has to be explained to be no chance: from the reference alone, so before anything is bet on them. Neither is
    done while a fall may be under way, as the bound of the whole has become lower by more than the tolerance.

    The lower ends of all segments hold together as surely as that of one: each of k segments has a bound that is
    wrong `2 k p` times as seldom, p being the number of partitions out of which this one was chosen and 2 the tries.

    Where days differ by more than chance (`DaySpread`), the tolerance is raised by that, and the bound of few days is
    less sure. A fall within the reference adds to one difference of many, so that little of it is learned as normal.
    Where conversations of a batch or of a day are alike, they count as fewer (`Dependence`).

    Conversations with a value that the first reference has not seen (`NewValues`) are of segments of their own. These
    have a baseline once there are as many of them as are needed for a stream; until then nothing is bet on them.
    """

    _settings: RegressionSettings
    _first: int | None
    _seen: tuple[Integers, Floats, Floats] | None
    _tries: int
    _next_try: int
    _before: float | None
    _parts: tuple[Reference, ...]
    _new_values: NewValues
    _new: tuple[Reference, ...]
    _told: tuple[int, ...]
    _days: DaySpread
    _spread: float | None
    _correlation: BatchCorrelation
    _day_effect: float
    whole: Reference
    partition: SegmentPartition
    shares: Floats
    whole_shares: Floats
    _weights: Floats

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._first = None
        self._seen = (np.empty(0, dtype=np.intp), np.empty(0), np.empty(0))
        self._tries = _TRIES
        self._next_try = _LARGE * settings.reference_observations
        self._before = None
        """Lower end of the interval of the whole at its first look, or at the last try."""
        self._parts = ()
        self._new_values = NewValues()
        confidence = 1.0 - (1.0 - CONFIDENCE) / MOST_NEW
        self._new = tuple(Reference(settings, confidence) for _ in range(MOST_NEW))
        self._told = ()
        """Places of the new classes that were given by `new_and_worse`."""
        self._days = DaySpread()
        self._spread = None
        self._correlation = BatchCorrelation()
        self._day_effect = 1.0
        self.whole = Reference(settings)
        for one in (self.whole, *self._new):
            one.spread = UNKNOWN_SPREAD
        self.partition = SegmentPartition()
        self.shares = np.array([1.0, *_NO_NEW])
        """Share of each segment in the reference that they were chosen from, by weight."""
        self.whole_shares = self.shares
        """Share of each segment in the reference of the whole when its interval was found."""
        self._weights = np.zeros(1 + MOST_NEW)

    @property
    def tolerance(self) -> float:
        """What a mean may be below the interval: the one that is set, and the spread between days."""
        return self._settings.tolerance + _SPREADS * (self._spread or 0.0)

    @property
    def segments(self) -> int:
        """How many segments the reference is divided into; those of new classes come after them."""
        return len(self._parts) or 1

    @property
    def references(self) -> tuple[Reference, ...]:
        """Reference of each segment, by number."""
        return (*(self._parts or (self.whole,)), *self._new)

    @property
    def names(self) -> tuple[str, ...]:
        """Each segment in words, by number."""
        return (*self.partition.names, *self._new_values.names)

    @property
    def level(self) -> float | None:
        """Baseline of all that is known, without regard to segments; None while the reference is not complete."""
        interval = self.whole.interval
        return None if interval is None else interval.lower - self.tolerance

    @property
    def levels(self) -> Floats:
        """Baseline of each segment, nan where it has none yet."""
        found = (one.interval for one in self.references)
        return np.array([np.nan if one is None else one.lower - self.tolerance for one in found])

    @property
    def ceiling(self) -> float | None:
        """Upper end of the interval of all plus the tolerance: a mean above it is an improvement."""
        interval = self.whole.interval
        return None if interval is None else interval.upper + self.tolerance

    @property
    def ceilings(self) -> Floats:
        """Upper end of each segment's interval plus the tolerance, nan where it has none yet."""
        found = (one.interval for one in self.references)
        return np.array([np.nan if one is None else one.upper + self.tolerance for one in found])

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
        return None if interval is None else interval.lower - self.tolerance

    def bets(self, run: Observations, numbers: Integers, *, learns: bool) -> tuple[Bets, Bets] | None:
        """Return the bets that the mean of a segment is below its baseline, and above the better end of its reference.

        None while there is no reference. `numbers` are those of the segments of a run's conversations. `learns` says
        whether the run is added afterwards.
        """
        level, ceiling = self.level, self.ceiling
        if level is None or ceiling is None:
            return None
        dependence = self._dependence(run, numbers, learns=learns)
        falls = self._bets(run, 1.0 - run.values, numbers, 1.0 - self.levels, 1.0 - level)
        rises = self._bets(run, run.values, numbers, self.ceilings, ceiling)
        return replace(falls, dependence=dependence), replace(rises, dependence=dependence)

    def _bets(self, run: Observations, values: Floats, numbers: Integers, levels: Floats, level: float) -> Bets:
        of_each, shares = levels[numbers], self.whole_shares
        # No score is beyond the end of the range, but batches without a loss would still add up to an alarm.
        bets = Bets(values, run.weights, of_each, numbers, run.numbers, run.batches).where(of_each < 1.0)
        slack = slack_of(bets, levels, shares, level) if (shares > 0.0).sum() > 1 else None
        return replace(bets, slack=slack)

    def _dependence(self, run: Observations, numbers: Integers, *, learns: bool) -> Dependence:
        if not learns:
            # What is not learned tells nothing of the batches after it, in whatever portions they come.
            return Dependence(np.full(run.batches, self._correlation.latest), self._day_effect)
        values = self.without_mix(run.values, numbers) if self._parts else run.values
        known = self._correlation.before_each(values, run.weights, run.numbers)
        return Dependence(known, self._day_effect)

    def design_effect(self, conversations: float) -> float:
        """Return the design effect of a batch of so many conversations, as it is known now."""
        return float(design_effect(self._correlation.latest, conversations, self._day_effect))

    def new_and_worse(self) -> int | None:
        """Number of a segment of a new class that was just learned and is surely below the baseline of what is known.

        None where there is none; each is given once.
        """
        for place, one in enumerate(self._new):
            latest, level = one.latest, self.level
            is_worse = latest is not None and level is not None and latest.upper < level
            if is_worse and one.looks <= _NEW_LOOKS and place not in self._told:
                self._told = (*self._told, place)
                return self.segments + place
        return None

    def numbers(self, found: Observations) -> Integers:
        """Number of the segment of each observation."""
        new = self._new_values.numbers(found.segments, found.kinds)
        own = numbers_of(self.partition, found.segments, found.kinds) if self._parts else np.zeros_like(new)
        return np.where(new == KNOWN, own, new + self.segments)

    def without_mix(self, values: Floats, numbers: Integers) -> Floats:
        """Return values as if all segments had the mean of the whole, so that a change of their shares moves nothing.

        Those of a segment without a baseline stay as they are.
        """
        means, mean = self.means, self.mean or 0.0
        return np.asarray(values + np.where(np.isnan(self.levels), 0.0, mean - means)[numbers])

    def until_change(self, found: Observations) -> int:
        """How many of these batches it can take at once: those up to the first that changes a baseline, or all."""
        sizes = self._by_batch(found).astype(np.intp)
        known = sizes[:, : self.segments].sum(axis=1)
        first = self.whole.until_change(known, found.starts)
        parts = self.references if self._parts else ()
        numbered = enumerate(parts) if parts else enumerate(self._new, start=1)
        for number, part in numbered:
            if sizes[:, number].any():
                first = min(first, part.until_change(sizes[:, number], found.starts))
        return first

    def add(self, found: Observations) -> None:
        """Add batches that it can take at once, each in order of time; places in `kinds` are the same every time."""
        if self._first is None:
            self._first = int(found.at[0])
        numbers = self.numbers(found)
        before, looks = self.whole.interval, self.whole.looks
        of_it = numbers < self.segments
        values = self.without_mix(found.values, numbers) if self._parts else found.values
        self._correlation.add(values, found.weights, found.numbers)
        self._days.add(values[of_it], found.weights[of_it], found.numbers[of_it], found.starts)
        self.whole.add(found.values[of_it], found.weights[of_it], found.numbers[of_it], found.starts)
        if self._parts:
            for weights in self._by_batch(found, found.weights):
                self._weights = self._weights + weights * self._is_known
            if self.whole.interval != before:
                self.whole_shares = self._weights / self._weights.sum()
        self._add_to(self.references if self._parts else (None, *self._new), found, numbers)
        if self._seen is not None:
            places, seen, weights = self._seen
            self._seen = (
                np.concatenate([places, found.segments[of_it]]),
                np.concatenate([seen, rounded_down(found.values[of_it])]),
                np.concatenate([weights, found.weights[of_it]]),
            )
        if self.whole.looks > looks:
            self._look(found)

    def _look(self, latest: Observations) -> None:
        self._find_spread()
        if self._seen is None:
            return
        if self._before is None:
            self._new_values.learn(latest.kinds[place] for place in np.unique(self._seen[0]).tolist())
        whole = self.whole.latest.lower if self.whole.latest else 0.0
        if self.whole.observations >= self._next_try:
            self._tries -= 1
            self._next_try *= _LARGE
            if self._before is None or self._before - self._settings.tolerance < whole:
                self._divide(*self._seen, latest)
            if not self._tries:
                self._seen = None
            self._before = whole
        elif self._before is None:
            self._before = whole

    def _find_spread(self) -> None:
        spread = self._days.spread(within_week=WEEKEND in self.partition.by)
        self._spread = self._spread if spread is None else spread
        effect = self._days.design_effect(within_week=WEEKEND in self.partition.by)
        self._day_effect = self._day_effect if effect is None else effect
        for one in (self.whole, *self.references):
            one.spread = UNKNOWN_SPREAD if self._spread is None else self._spread

    def _divide(self, places: Integers, values: Floats, weights: Floats, latest: Observations) -> None:
        kinds = latest.kinds
        chosen = choose(places, kinds, values, weights)
        if chosen is None or (self._parts and chosen.partition == self.partition):
            return
        numbers = numbers_of(chosen.partition, places, kinds)
        size = len(chosen.partition.kept) + 1
        self.partition = chosen.partition
        self._weights = np.concatenate([np.bincount(numbers, weights, size), _NO_NEW])
        self.shares = self.whole_shares = self._weights / self._weights.sum()
        self._parts = self._references(chosen, np.bincount(numbers, minlength=size))
        at = latest.starts[-1:]
        for number in np.unique(numbers).tolist():
            of_it = numbers == number
            self._parts[number].add(values[of_it], weights[of_it], np.zeros(int(of_it.sum()), dtype=np.intp), at)
        # What follows is without mix, and not to be compared with these days.
        self._find_spread()
        self._days, self._correlation = DaySpread(), BatchCorrelation()

    def _references(self, chosen: PartitionChoice, sizes: Integers) -> tuple[Reference, ...]:
        confidence = 1.0 - (1.0 - CONFIDENCE) / (_TRIES * chosen.out_of * len(sizes))
        known = sizes if chosen.partition.has_others else sizes[:-1]
        parts = [Reference(self._settings, confidence, size, self._first) for size in known.tolist()]
        parts += [] if chosen.partition.has_others else [Reference(self._settings, confidence)]
        return tuple(parts)

    def _add_to(self, references: Sequence[Reference | None], found: Observations, numbers: Integers) -> None:
        for number in np.unique(numbers).tolist():
            part = references[number]
            if part is not None:
                of_it = numbers == number
                part.add(found.values[of_it], found.weights[of_it], found.numbers[of_it], found.starts)

    @property
    def _is_known(self) -> Floats:
        return np.array([1.0] * self.segments + [0.0] * MOST_NEW)

    def _by_batch(self, found: Observations, weights: Floats | None = None) -> Floats:
        """Return the number of conversations by batch and segment, or their weight; shape (batches, segments)."""
        size = self.segments + MOST_NEW
        sums = np.bincount(found.numbers * size + self.numbers(found), weights, found.batches * size)
        return np.asarray(sums.reshape(found.batches, size))

    def _over_segments(self, values: Sequence[float | None]) -> float:
        return float(sum(share * value for share, value in zip(self.shares, values, strict=False) if value is not None))
