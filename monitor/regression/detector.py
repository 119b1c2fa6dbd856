"""One stream's detector: learns a reference, watches for a regression, then for its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import numpy as np

from monitor.regression.betting import Floats, Interval, mean_interval
from monitor.regression.change_point import ChangePoint, History
from monitor.regression.evidence import Alarm
from monitor.regression.power import Power
from monitor.regression.reading import Observation, Reading, Status, Tier
from monitor.regression.reference import Reference
from monitor.regression.settings import RegressionSettings

_DROP = 0.1
_SOON = timedelta(days=7)


class Detector:
    """Finds a lasting fall of a stream's mean below its reference, with a stated rate of false alarms.

    A regression fires (`warn`) when the evidence for "the mean is below the baseline of the reference" (see
    `Evidence`, `Reference`) reaches the number of batches in `false_alarm_every`, and pages when it reaches that in
    `page_every` times the number of streams. It is resolved when the same evidence for "the mean is above the
    baseline", begun at the alarm, reaches the first of these. Then the watch starts again. The mirror image of it,
    above the upper end of the reference, says whether the stream has improved.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._reference = Reference(settings)
        self._window: deque[Observation] = deque(maxlen=settings.reference_observations)
        self._batch_sizes: deque[tuple[datetime, int]] = deque(maxlen=settings.reference_observations)
        self._worse, self._better = Alarm(settings.log_threshold), Alarm(settings.log_threshold)
        self._log_page_threshold = settings.log_page_threshold(1)
        self._history = History()
        self._tier: Tier | None = None
        self._change: ChangePoint | None = None
        self._reading: Reading | None = None

    @property
    def status(self) -> Status:
        """Where the stream stands."""
        if self._reference.baseline is None:
            return Status.LEARNING
        return Status.REGRESSED if self._worse.is_on else Status.WATCHING

    def update(self, batch: Sequence[Observation], streams: int = 1) -> Reading | None:
        """Take in one batch; its order does not matter, and an empty one is no batch. `streams` are those of the fleet.

        Returns the reading if a regression fires or reaches the next tier (its status is REGRESSED) or is resolved
        (WATCHING), else None.
        """
        if not batch:
            return None
        self._reading = None
        self._log_page_threshold = self._settings.log_page_threshold(streams)
        ordered = sorted(batch, key=lambda observation: (observation.at, observation.value, observation.weight))
        self._window.extend(ordered)
        self._batch_sizes.append((ordered[0].at, len(ordered)))
        values, weights = _arrays(ordered)
        self._history.add(values, weights, ordered[0].at)
        baseline, ceiling = self._reference.baseline, self._reference.ceiling
        # The reference may learn from a batch only after the bet on it is settled.
        if not self._worse.is_on:
            self._reference.add(values, weights, ordered[0].at)
        if baseline is None or ceiling is None:
            return None
        # No score is beyond the end of the range, but batches without a loss would still add up to an alarm.
        if ceiling < 1.0:
            self._better.add(values, weights, ceiling)
        return self._watch(values, weights, baseline, ordered[0].at) if baseline > 0.0 else None

    @property
    def reading(self) -> Reading:
        """What is known after the last batch; the first look after each takes some milliseconds."""
        if self._reading is None:
            self._reading = self._read(self._worse.log_evidence, self._change, self._change)
        return self._reading

    def _watch(self, values: Floats, weights: Floats, baseline: float, at: datetime) -> Reading | None:
        changed = self._worse.add(1.0 - values, weights, 1.0 - baseline)
        if changed == "off":
            began, self._change, self._tier = self._change, None, None
            recovery, self._history = self._history.rise(), History()
            return self._read(self._worse.log_evidence_against, began, recovery or began)
        if changed == "on":
            self._change = self._history.fall() or ChangePoint(at, at, at)
            self._history = History()
            self._tier = "warn"
        pages = self._worse.is_on and self._worse.log_evidence >= self._log_page_threshold and self._tier != "page"
        if pages:
            self._tier = "page"
        return self.reading if pages or changed else None

    def _read(self, log_evidence: float, began: ChangePoint | None, mean_from: ChangePoint | None) -> Reading:
        reference, window = self._reference, _interval(self._window)
        changed = None if mean_from is None else _interval(o for o in self._window if o.at >= mean_from.at)
        known = reference.interval if changed else None
        smallest_drop, delay = self._power()
        settings = self._settings
        return Reading(
            status=self.status,
            tier=self._tier,
            reference_observations=reference.observations,
            reference_needed=self._settings.reference_observations,
            learning_left=self._learning_left(),
            reference_mean=reference.mean,
            baseline=reference.baseline,
            can_fire=reference.baseline is not None and reference.baseline > 0.0,
            observations=len(self._window),
            mean=window.mean if window else None,
            mean_lower=window.lower if window else None,
            mean_upper=window.upper if window else None,
            log_evidence=log_evidence,
            log_threshold=self._settings.log_threshold,
            log_page_threshold=self._log_page_threshold,
            false_alarm_every=settings.page_every if self._tier == "page" else settings.false_alarm_every,
            latest=self._window[-1].at if self._window else None,
            since=began.at if began else None,
            since_earliest=began.earliest if began else None,
            since_latest=began.latest if began else None,
            since_mean=changed.mean if changed else None,
            since_lower=changed.lower if changed else None,
            since_upper=changed.upper if changed else None,
            drop=reference.mean - changed.mean if known and changed and reference.mean is not None else None,
            drop_lower=known.lower - changed.upper if known and changed else None,
            drop_upper=known.upper - changed.lower if known and changed else None,
            improved=self._better.is_on,
            smallest_drop=smallest_drop,
            delay=delay,
        )

    def _learning_left(self) -> timedelta | None:
        if self.status is not Status.LEARNING or len(self._batch_sizes) < 2:
            return None
        first, latest = self._batch_sizes[0][0], self._batch_sizes[-1][0]
        missing = max(0, self._settings.reference_observations - self._reference.observations)
        by_count = missing / self._reference.observations * (latest - first + self._settings.batch)
        return max(by_count, self._settings.reference_time - (latest - first))

    def _power(self) -> tuple[float | None, timedelta | None]:
        baseline, mean = self._reference.baseline, self._reference.mean
        if self.status is not Status.WATCHING or mean is None or baseline is None or baseline <= 0.0:
            return None, None
        sizes = [size for _, size in self._batch_sizes]
        # Hours without a conversation are no batches, but they pass.
        batch = (self._batch_sizes[-1][0] - self._batch_sizes[0][0]) / max(1, len(sizes) - 1)
        batch = max(batch, self._settings.batch)
        values, weights = _arrays(self._window)
        power = Power(values, weights, baseline, float(np.mean(sizes)), self._settings.log_threshold)
        delay = power.delay(mean - _DROP)
        return power.smallest_drop(mean, _SOON / batch), delay * batch if np.isfinite(delay) else None


def _arrays(observations: Iterable[Observation]) -> tuple[Floats, Floats]:
    pairs = np.array([(o.value, o.weight) for o in observations], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _interval(observations: Iterable[Observation]) -> Interval | None:
    values, weights = _arrays(observations)
    return mean_interval(values, weights) if len(values) else None
