"""Detector of a changed judge of one stream, by anchors: answers that it scores again and again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from monitor.detect.regression.arrays import Floats, microseconds
from monitor.detect.regression.e_detector.alarm import Alarm
from monitor.detect.regression.e_detector.bets import Bets
from monitor.detect.regression.e_detector.betting import mean_interval
from monitor.detect.regression.e_detector.change_point import BatchHistory
from monitor.detect.regression.judgement import Shift

FEWEST = 50
"""Anchors, below which nothing is said."""

_ROUNDS_PER_FALSE_ALARM = 365
_WHOLE = 0.9
"""Share of the anchors of the round before that makes a round whole: some may be gone, or fail."""
_REMEMBERED = 90
_RECENT = 21


@dataclass(slots=True, init=False, eq=False)
class JudgeDriftDetector:
    """Compares what a judge says of its anchors now with what it said of them at first.

    Qualities are in [0, 1]. The baseline `b_i` of an anchor is the mean of its first two values; all later ones
    `y_it` are compared with it. What an anchor's first two values say by chance is in all of its differences, so that
    their mean has an offset that no number of scorings removes. How large it may be is known from the same two
    values: half their difference has, if the judge is the same, the variance of the baseline's error. So the level of
    "no change" is half the width of the 95 % interval of that mean, and the tolerance.

    Anchors are scored in portions. A round of all of them, once each, is one batch of `1/2 + (b_i - y_it) / 2` for an
    e-detector (`Alarm`), and of its mirror image. Given the baselines, the calls of a judge that has not changed are
    independent of each other, and their mean is at most the level; by the inequality of arithmetic and geometric means
    the product of the bets then expects no more than their product at that mean, so that it is a supermartingale though
    anchors differ. Each of the two comes to a false alarm after 730 rounds on average at the earliest: both together
    after 365, a year of days. A portion alone is no batch, as what the first two values of few anchors say by chance is
    too much.

    An anchor is one answer of a conversation, so anchors are independent. One that is drawn later, in the place of one
    that is gone, is compared with its own first values, and so knows nothing of a change before them.
    """

    _tolerance: float
    _numbers: dict[str, int]
    _first: Floats
    _second: Floats
    _round: Floats
    _round_before: Floats
    _gathered_at: datetime | None
    _scorings: deque[tuple[datetime, Floats]]
    _stricter: Alarm
    _milder: Alarm
    _history: BatchHistory
    _level: tuple[bytes, float]
    since: datetime | None

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._numbers = {}
        self._first = self._second = np.empty(0)
        self._round = self._round_before = np.empty(0)
        self._gathered_at = None
        self._scorings = deque(maxlen=_REMEMBERED)
        log_threshold = math.log(2 * _ROUNDS_PER_FALSE_ALARM)
        self._stricter, self._milder = Alarm(log_threshold), Alarm(log_threshold)
        self._history = BatchHistory(may_recur=False)
        self._level = (b"", 0.5)
        self.since = None
        """Since when the judge is another one, most likely; None while it is not known to be."""

    @property
    def active(self) -> bool:
        """Whether the judge is taken to have changed."""
        return self._stricter.is_on or self._milder.is_on

    @property
    def baseline(self) -> Mapping[str, float]:
        """Mean of the first two values of each anchor that has them."""
        means = (self._first + self._second) / 2
        return {event: float(means[n]) for event, n in self._numbers.items() if not np.isnan(means[n])}

    @property
    def latest(self) -> Mapping[str, float]:
        """Newest value of each anchor, its baseline where there is none."""
        found = dict(self.baseline)
        for _, scored in self._scorings:
            values = self._padded(scored)
            found |= {event: float(values[n]) for event, n in self._numbers.items() if not np.isnan(values[n])}
        return found

    def add(self, at: datetime, qualities: Mapping[str, float]) -> None:
        """Take in one scoring: the values of anchors by their event_id; the first two of each are its baseline."""
        for event in qualities:
            self._numbers.setdefault(event, len(self._numbers))
        values = self._padded(np.empty(0))
        values[[self._numbers[event] for event in qualities]] = list(qualities.values())
        self._first, values = _filled(self._padded(self._first), values)
        self._second, values = _filled(self._padded(self._second), values)
        if not np.isnan(values).all():
            self._scorings.append((at, values))
            self._gather(at, values)

    def shift(self, since: datetime | None) -> Shift | None:
        """How much higher the scorings from `since` on are than the baseline; None says the last 21 of them, a week.

        An anchor counts once, with the mean of its differences, so that the interval holds however its scorings depend
        on each other. None where fewer than `FEWEST` anchors were scored since then.
        """
        scorings = [values for at, values in self._scorings if since is None or at >= since]
        if not scorings:
            return None
        sums, counts = np.zeros(len(self._numbers)), np.zeros(len(self._numbers))
        for values in scorings[-_RECENT:] if since is None else scorings:
            known = np.flatnonzero(~np.isnan(values))
            sums[known] += values[known]
            counts[known] += 1
        has = (counts > 0) & ~np.isnan(self._second)
        return mean_shift(sums[has] / counts[has] - (self._first + self._second)[has] / 2)

    def _gather(self, at: datetime, values: Floats) -> None:
        """Add a portion to the round, which ends once it is whole, or before an anchor that comes again."""
        known, gathered = ~np.isnan(values), self._padded(self._round)
        if self._gathered_at is not None and (known & ~np.isnan(gathered)).any():
            self._end_round(self._gathered_at, gathered)
            gathered = self._padded(np.empty(0))
        self._round, self._gathered_at = np.where(known, values, gathered), at
        before = self._padded(self._round_before)
        expected = ~np.isnan(before if len(self._round_before) else self._second)
        if (expected & ~np.isnan(self._round)).sum() >= _WHOLE * expected.sum():
            self._end_round(at, self._round)

    def _end_round(self, at: datetime, values: Floats) -> None:
        self._watch(at, values)
        self._round, self._round_before, self._gathered_at = np.empty(0), values, None

    def _watch(self, at: datetime, values: Floats) -> None:
        first, second = self._first[: len(values)], self._second[: len(values)]
        compared = ~np.isnan(values) & ~np.isnan(second)
        if compared.sum() < FEWEST:
            return
        fallen = 0.5 + ((first + second) / 2 - values)[compared] / 2
        level = self._level_of((second - first)[compared])
        of_one = np.zeros(len(fallen), dtype=np.intp)
        self._history.add(fallen, np.ones_like(fallen), of_one, np.array([microseconds(at)]))
        was = self.active
        self._stricter.take(_bets(fallen, level))
        self._milder.take(_bets(1.0 - fallen, level))
        if self.active and not was:
            change = self._history.rise() if self._stricter.is_on else self._history.fall()
            self.since = change.at if change else self._scorings[0][0]
        elif was and not self.active:
            self.since, self._history = None, BatchHistory(may_recur=False)

    def _level_of(self, differences: Floats) -> float:
        key = differences.tobytes()
        if key != self._level[0]:
            error = mean_interval(0.5 + differences / 2, np.ones_like(differences))
            self._level = key, min(0.5 + ((error.upper - error.lower) / 2 + self._tolerance) / 2, 1.0)
        return self._level[1]

    def _padded(self, values: Floats) -> Floats:
        """Return the array with a place for each anchor; those without a value are NaN."""
        missing = len(self._numbers) - len(values)
        return np.concatenate([values, np.full(missing, np.nan)]) if missing else values


def _filled(baseline: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Move values to where the baseline has none."""
    empty = np.isnan(baseline)
    return np.where(empty, values, baseline), np.where(empty, np.nan, values)


def mean_shift(differences: Floats) -> Shift | None:
    """Mean of differences in [-1, 1], one a conversation, with its 95 % interval; None where they are too few."""
    if len(differences) < FEWEST:
        return None
    found = mean_interval(0.5 + differences / 2, np.ones_like(differences))
    return Shift(2 * found.mean - 1, 2 * found.lower - 1, 2 * found.upper - 1, len(differences))


def offset(old: Iterable[Mapping[str, float]], new: Iterable[Mapping[str, float]]) -> Shift | None:
    """How much higher one version scores the answers that both have scored; values by event_id, in [0, 1]."""
    before, after = ({event: value for part in parts for event, value in part.items()} for parts in (old, new))
    both = sorted(before.keys() & after.keys())
    return mean_shift(np.array([after[event] - before[event] for event in both]))


def _bets(values: Floats, level: float) -> Bets:
    of_one = np.zeros(len(values), dtype=np.intp)
    return Bets(values, np.ones_like(values), np.full_like(values, level), of_one, of_one)
