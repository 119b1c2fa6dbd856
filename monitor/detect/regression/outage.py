"""Short outage: nearly all answers of an hour or two are bad, and then they are as good as before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from monitor.detect.regression.arrays import Floats, moment
from monitor.detect.regression.e_detector.betting import weighted_mean
from monitor.detect.regression.e_detector.evidence import Evidence
from monitor.detect.regression.observations import Observations

_LOG_BACK, _LOG_LASTS = math.log(100.0), math.log(20.0)
"""Evidence that it is over, and that it lasts: who is told the second in vain is told no more than of any fall."""
_WHOLLY = 1 / 4
"""An application has failed where its mean is at most this part of what it was."""
_WELL = 0.8
"""What is not of the outage has at least this part of the mean of before: else all has fallen."""
_PART = 0.4
"""Of the conversations since a fall, that are of the outage: a few in a row are bad in any fall."""
_MANY = 30
"""So many in a row are not bad by chance where the others are well: a busy hour has an outage of minutes."""
_BACK_TO = 0.75
"""The answers after an outage have at least this part of the mean of before: else they are not as good."""
LONGEST_HOLD = timedelta(hours=3)
"""So long an outage holds its page back; it may be as old when it is found."""
_SHORT = LONGEST_HOLD // timedelta(microseconds=1)


@dataclass(slots=True, init=False, eq=False)
class Outage:
    """Looks, from the alarm on, whether an application that failed is back, or goes on failing.

    Two e-detectors ask on which side of the middle between the mean of before and that of the outage the answers are.
    """

    _middle: float
    _back: Evidence
    _lasts: Evidence
    _begin: int
    _alarm: int
    until: int
    """Time of the last answer of the last batch that was bad, in microseconds since 1970."""

    def __init__(self, middle: float, begin: int, alarm: int, until: int) -> None:
        """`middle` is in (0, 1); the outage began at `begin`, and the alarm's batch at `alarm`."""
        self._middle = middle
        self._back, self._lasts = Evidence(), Evidence()
        self._begin, self._alarm, self.until = begin, alarm, until

    @classmethod
    def of(cls, since: Observations, reference: float | None, alarm: int) -> Outage | None:
        """Return the outage in an alarm's conversations since the fall; None where it is another fall.

        It may begin or end within a batch: what is outside of its worst stretch is less, and nearly as good as usual.
        """
        if not len(since) or not reference:
            return None
        begin, end = _worst_stretch((reference / 2 - since.values) * since.weights)
        places = np.arange(len(since))
        is_bad = (places >= begin) & (places < end)
        mean = weighted_mean(since.values[is_bad], since.weights[is_bad])
        others = np.average(since.values[~is_bad], weights=since.weights[~is_bad]) if not is_bad.all() else reference
        is_other = is_bad.sum() < min(_PART * len(since), _MANY) or alarm - int(since.at[0]) > _SHORT
        if is_other or mean > _WHOLLY * reference or others < _WELL * reference:
            return None
        return cls((mean + reference) / 2, int(since.at[begin]), alarm, int(since.at[end - 1]))

    @property
    def held_until(self) -> datetime:
        """Until when a page is held back."""
        return moment(self._alarm + _SHORT)

    @property
    def length(self) -> timedelta:
        """How long the outage lasted."""
        return timedelta(microseconds=self.until - self._begin)

    def add(self, run: Observations, latest: Observations, reference: float) -> Literal["back", "lasts"] | None:
        """Add the one batch of `run`; gives what has become of the outage, once that is known.

        `latest` are conversations until its end, all of the batch's among them, and `reference` is the mean of before.
        """
        self._follow(run, latest)
        log_back = self._evidence(self._back, run, is_back=True)
        log_lasts = self._evidence(self._lasts, run, is_back=False)
        after = latest.where(latest.at > self.until)
        is_well = bool(len(after)) and weighted_mean(after.values, after.weights) >= _BACK_TO * reference
        if log_back >= _LOG_BACK and is_well:
            return "back"
        is_long = int(run.starts[0]) - self._alarm >= _SHORT
        return "lasts" if log_lasts >= _LOG_LASTS or is_long else None

    def _follow(self, run: Observations, latest: Observations) -> None:
        """Note the last bad answer of a bad batch; of a good one that of the stretch that goes on from before."""
        badness = (self._middle - run.values) * run.weights
        if badness.sum() > 0.0:
            self.until = int(run.at[_worst_stretch(badness)[1] - 1])
            return
        after = latest.where(latest.at > self.until)
        sums = np.cumsum((self._middle - after.values) * after.weights)
        if latest.at[0] <= self.until and sums.max(initial=0.0) > 0.0:
            self.until = int(after.at[sums.argmax()])

    def _evidence(self, evidence: Evidence, run: Observations, *, is_back: bool) -> float:
        values, level = (run.values, self._middle) if is_back else (1.0 - run.values, 1.0 - self._middle)
        found = evidence.trajectory(values, run.weights, level, run.numbers, 1)
        evidence.advance_to(found, 0)
        return evidence.log_value


def _worst_stretch(badness: Floats) -> tuple[int, int]:
    """Return begin and end of the stretch, in order of time, whose badness together is the most."""
    sums = np.concatenate([[0.0], np.cumsum(badness)])
    lowest = np.minimum.accumulate(sums)[:-1]
    end = int(np.argmax(sums[1:] - lowest)) + 1
    return int(np.argmin(sums[:end])), end
