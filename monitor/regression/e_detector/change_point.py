"""Estimate of when a mean changed, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from monitor.regression.arrays import Floats, Integers, Times, begins_of, moment
from monitor.regression.e_detector.bets import ALL

_REMEMBERED = 500
_LOG_LIKELIHOOD_RATIO = -math.log(1.0 - math.sqrt(0.95))
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The most likely start of the first batch after a change; the true one is from `earliest` to `latest` (95 %)."""

    at: datetime
    earliest: datetime
    latest: datetime


class BatchHistory:
    """Sums of the last 500 batches, from which the change point of their mean is found.

    For each batch that may be the first after the change the squared error around two means, before and from there on,
    gives the likelihood of normal values with one variance, `-n / 2 * log(error)`. The interval is that of all
    candidates whose logarithm is within `-log(1 - sqrt(0.95))` = 3.68 of the best (the 95 % point of the likelihood
    ratio at a change, Eo and Morley, Quantitative Economics 2015).
    """

    def __init__(self) -> None:
        self._added = 0
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

    def fall(self, segment: int = ALL) -> ChangePoint | None:
        """Give where the mean, or that of a segment, fell most likely; None where it is nowhere lower than before."""
        return self._change(-1.0, segment)

    def rise(self, segment: int = ALL) -> ChangePoint | None:
        """Give where the mean, or that of a segment, rose most likely; None where it is nowhere higher than before."""
        return self._change(1.0, segment)

    def _append(self, numbers: Integers, starts: Times, parts: Integers, sums: Floats) -> None:
        begins = begins_of(numbers, parts)
        found = numbers[begins]
        self._numbers = np.concatenate([self._numbers, self._added + found])
        self._parts = np.concatenate([self._parts, parts[begins]])
        self._starts = np.concatenate([self._starts, starts[found]])
        self._sums = np.concatenate([self._sums, np.add.reduceat(sums, begins, axis=0)])

    def _change(self, sign: float, segment: int) -> ChangePoint | None:
        of_it = self._parts == segment
        starts, sums = self._starts[of_it], self._sums[of_it]
        # What is left of the total after subtraction may be rounded to nothing, and is then no divisor.
        before, after = np.cumsum(sums, axis=0)[:-1], np.cumsum(sums[::-1], axis=0)[::-1][1:]
        step = sign * (after[:, 1] / after[:, 0] - before[:, 1] / before[:, 0]) if len(before) else np.empty(0)
        if not (step > _ROUNDING).any():
            return None
        error = sum(np.maximum(side[:, 2] - side[:, 1] ** 2 / side[:, 0], 0.0) for side in (before, after))
        logs = np.where(step > _ROUNDING, -sums[:, 0].sum() / 2 * np.log(error + _ROUNDING), -np.inf)
        (likely,) = np.nonzero(logs >= logs.max() - _LOG_LIKELIHOOD_RATIO)
        at, first, last = (moment(int(starts[i + 1])) for i in (np.argmax(logs), likely[0], likely[-1]))
        return ChangePoint(at, first, last)
