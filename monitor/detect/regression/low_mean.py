"""Absolute limit of a stream's mean, that a person has set: is the mean on the wrong side of it?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from monitor.detect.regression.arrays import moment
from monitor.detect.regression.e_detector.alarm import Alarm
from monitor.detect.regression.e_detector.bets import Bets
from monitor.detect.regression.e_detector.betting import mean_interval
from monitor.detect.regression.e_detector.design_effect import BatchCorrelation, Dependence
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.settings import RegressionSettings


@dataclass(frozen=True, slots=True)
class LowMean:
    """How a mean stands to its limit; `mean` with its 95 % interval is that of the latest `conversations`."""

    is_on: bool
    limit: float
    mean: float
    lower: float
    upper: float
    conversations: int
    since: datetime | None
    """When the batch with which it was told began; None while it is not."""
    latest: datetime
    is_surely_beyond: bool = False
    """Whether the whole interval is worse than the limit."""
    lower_is_better: bool = False

    def on(self, scale: Scale) -> LowMean:
        """Return the low mean in a metric's own values."""
        ends = sorted((scale.value(self.lower), scale.value(self.upper)))
        return replace(
            self,
            limit=scale.value(self.limit),
            mean=scale.value(self.mean),
            lower=ends[0],
            upper=ends[1],
            lower_is_better=scale.is_reversed,
        )


@dataclass(slots=True, init=False, eq=False)
class LowMeanWatch:
    """Gathers evidence, from the first batch on, that a stream's mean is below a limit, and then that it is not.

    No reference is needed. A mean at the limit or above gives a false alarm once in `page_every` at most, on average.
    Conversations of a batch that are alike count as fewer, as in the detector.
    """

    limit: float
    _alarm: Alarm
    _correlation: BatchCorrelation
    _since: int | None

    def __init__(self, settings: RegressionSettings, limit: float) -> None:
        """`limit` is in (0, 1)."""
        self.limit = limit
        self._alarm = Alarm(settings.log_page_threshold)
        self._correlation = BatchCorrelation()
        self._since = None

    def add(self, run: Observations) -> None:
        """Add batches in order of time."""
        known = self._correlation.before_each(run.values, run.weights, run.numbers)
        self._correlation.add(run.values, run.weights, run.numbers)
        levels, one_segment = np.full(len(run), 1.0 - self.limit), np.zeros(len(run), dtype=np.intp)
        below = Bets(1.0 - run.values, run.weights, levels, one_segment, run.numbers, run.batches)
        bets = replace(below, dependence=Dependence(known))
        done = 0
        while done < run.batches:
            taken, changed = self._alarm.take(bets.between(done, run.batches))
            done += taken
            if changed is not None:
                self._since = int(run.starts[done - 1]) if changed == "on" else None

    def reading(self, latest: Observations) -> LowMean | None:
        """Return how it stands by the latest conversations; None where there are none."""
        if not len(latest):
            return None
        found = mean_interval(latest.values, latest.weights)
        since = None if self._since is None else moment(self._since)
        at = moment(int(latest.at[-1]))
        ends, is_beyond = (found.lower, found.upper), found.upper < self.limit
        return LowMean(self._alarm.is_on, self.limit, found.mean, *ends, len(latest), since, at, is_beyond)
