"""Recovery of a stream whose regression is still open: is most of the fall gone?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, Times, moment
from monitor.detect.regression.e_detector.evidence import Evidence, Trajectory

_LOG_THRESHOLD = math.log(100.0)


@dataclass(slots=True, init=False, eq=False)
class Recovery:
    """Looks, from the alarm on, whether the mean has passed a level between the fallen mean and the reference.

    The level is fixed when the alarm goes on, so before anything is bet on it. The evidence is that of the e-detector:
    as long as the mean stays on one side, it takes 100 batches or more on average until the other side is told. That is
    less than what ends an alert, and comes much sooner: the end needs that nothing is left of the fall but the
    tolerance.
    """

    _level: float
    _evidence: Evidence
    since: datetime | None

    def __init__(self, level: float) -> None:
        """`level` is in (0, 1)."""
        self._level = level
        self._evidence = Evidence()
        self.since = None
        """Start of the batch that showed it; None while the mean is not taken to be back there."""

    def add(self, values: Floats, weights: Floats, numbers: Integers, starts: Times) -> None:
        """Add batches in order: `numbers` are those of the values' batches, and `starts` when these begin."""
        begin = 0
        while begin < len(starts):
            later = numbers >= begin
            found = self._trajectory(values[later], weights[later], numbers[later] - begin, len(starts) - begin)
            reached = np.flatnonzero(found.log_values(np.arange(len(starts) - begin)) >= _LOG_THRESHOLD)
            if not len(reached):
                self._evidence.advance_to(found, len(starts) - begin - 1)
                return
            begin += int(reached[0]) + 1
            self.since = moment(int(starts[begin - 1])) if self.since is None else None
            self._evidence = Evidence()

    def _trajectory(self, values: Floats, weights: Floats, numbers: Integers, batches: int) -> Trajectory:
        """Return the evidence that the mean is above the level; once it is taken to be, that it is below."""
        if self.since is None:
            return self._evidence.trajectory(values, weights, self._level, numbers, batches)
        return self._evidence.trajectory(1.0 - values, weights, 1.0 - self._level, numbers, batches)
