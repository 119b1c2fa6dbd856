"""One stream's detector: learns a reference, watches for a regression, then for its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

from monitor.regression.betting import Floats, Interval, lower_bound, mean_interval, weighted_mean
from monitor.regression.evidence import Evidence
from monitor.regression.reading import Observation, Reading, Status
from monitor.regression.settings import RegressionSettings

_REFERENCE_CONFIDENCE = 0.95


class Detector:
    """Finds a lasting fall of a stream's mean below its reference, with a stated rate of false alarms.

    The first `reference_observations` conversations, to the end of the batch that completes them, are the
    reference and stay it. The baseline m0 is the lower 95 % confidence bound of their mean (betting, any
    distribution on [0, 1]) minus the tolerance. A regression fires when the evidence for "the mean is below m0"
    (see `Evidence`) reaches the number of batches in `false_alarm_every`; it is resolved when the same
    evidence for "the mean is above m0", begun at the alarm, does so. Then the watch starts again.

    Evidence of the end restarts with every batch, as that of the beginning does. A confidence sequence from the
    alarm on would first have to outweigh the whole regression: a bad week would take a good fortnight to resolve.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._log_threshold = settings.log_threshold
        self._reference: list[Observation] = []
        self._reference_mean: float | None = None
        self._reference_lower: float | None = None
        self._baseline: float | None = None
        self._window: deque[Observation] = deque(maxlen=settings.reference_observations)
        self._worse: Evidence | None = None
        self._better: Evidence | None = None
        self._since: datetime | None = None
        self._reading: Reading | None = None

    @property
    def status(self) -> Status:
        """Where the stream stands."""
        if self._baseline is None:
            return Status.LEARNING
        return Status.WATCHING if self._better is None else Status.REGRESSED

    def update(self, batch: Sequence[Observation]) -> Reading | None:
        """Take in one batch; its order does not matter, and an empty one is no batch.

        Returns the reading if a regression fires (its status is REGRESSED) or is resolved (WATCHING), else None.
        """
        if not batch:
            return None
        self._reading = None
        ordered = sorted(batch, key=lambda observation: (observation.at, observation.value, observation.weight))
        self._window.extend(ordered)
        if self._baseline is None:
            self._learn(ordered)
            return None
        if self._worse is None:
            return None
        values, weights = _arrays(ordered)
        self._worse.add(1.0 - values, weights, ordered[0].at)
        if self._better is None:
            return self._fire_if_sure(self._worse, self._baseline)
        self._better.add(values, weights, ordered[0].at)
        return self._resolve_if_sure(self._better, self._baseline)

    @property
    def reading(self) -> Reading:
        """What is known after the last batch; the first look after each takes some milliseconds."""
        if self._reading is None:
            evidence = self._worse.log_value if self._worse else float("-inf")
            self._reading = self._read(evidence, self._since, self._since)
        return self._reading

    def _learn(self, batch: Sequence[Observation]) -> None:
        self._reference.extend(batch)
        values, weights = _arrays(self._reference)
        self._reference_mean = weighted_mean(values, weights)
        if len(self._reference) < self._settings.reference_observations:
            return
        self._reference_lower = lower_bound(values, weights, _REFERENCE_CONFIDENCE)
        self._baseline = self._reference_lower - self._settings.tolerance
        # No score is below a baseline of 0, but batches without a loss would still add up to an alarm.
        if self._baseline > 0.0:
            self._worse = Evidence(1.0 - self._baseline)

    def _fire_if_sure(self, worse: Evidence, baseline: float) -> Reading | None:
        if worse.log_value < self._log_threshold:
            return None
        self._since, self._better = worse.since, Evidence(baseline)
        return self.reading

    def _resolve_if_sure(self, better: Evidence, baseline: float) -> Reading | None:
        if better.log_value < self._log_threshold:
            return None
        since = self._since
        self._worse, self._better, self._since = Evidence(1.0 - baseline), None, None
        return self._read(better.log_value, since, better.since)

    def _read(self, log_evidence: float, since: datetime | None, mean_from: datetime | None) -> Reading:
        window = _interval(self._window)
        changed = None if mean_from is None else _interval(o for o in self._window if o.at >= mean_from)
        return Reading(
            status=self.status,
            reference_observations=len(self._reference),
            reference_needed=self._settings.reference_observations,
            reference_mean=self._reference_mean,
            reference_lower=self._reference_lower,
            baseline=self._baseline,
            observations=len(self._window),
            mean=window.mean if window else None,
            mean_lower=window.lower if window else None,
            mean_upper=window.upper if window else None,
            log_evidence=log_evidence,
            log_threshold=self._log_threshold,
            false_alarm_every=self._settings.false_alarm_every,
            latest=self._window[-1].at if self._window else None,
            since=since,
            since_mean=changed.mean if changed else None,
            since_lower=changed.lower if changed else None,
            since_upper=changed.upper if changed else None,
        )


def _arrays(observations: Iterable[Observation]) -> tuple[Floats, Floats]:
    pairs = np.array([(o.value, o.weight) for o in observations], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _interval(observations: Iterable[Observation]) -> Interval | None:
    values, weights = _arrays(observations)
    return mean_interval(values, weights) if len(values) else None
