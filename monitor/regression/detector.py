"""One stream's detector: learns a reference, watches for a regression, then for its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from monitor.regression.baselines import Baselines
from monitor.regression.betting import Floats, Interval, mean_interval
from monitor.regression.change_point import ChangePoint, History
from monitor.regression.evidence import ALL, Alarm, Bets, slack_of
from monitor.regression.mix import SegmentChange, Split, shares_and_means, split
from monitor.regression.power import Power
from monitor.regression.reading import Observation, Reading, Status, Tier
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

    Where attributes of the traffic explain the scores, each of its segments has a baseline of its own (`Baselines`),
    and the evidence is for "the mean of some segment is below its baseline" (`Mixture`): however the shares of
    the segments change, nothing fires as long as none of them is worse.
    """

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self._baselines = Baselines(settings)
        self._window: deque[Observation] = deque(maxlen=settings.reference_observations)
        self._batch_sizes: deque[tuple[datetime, int]] = deque(maxlen=settings.reference_observations)
        self._worse, self._better = Alarm(settings.log_threshold), Alarm(settings.log_threshold)
        self._log_page_threshold = settings.log_page_threshold(1)
        self._history = History()
        self._tier: Tier | None = None
        self._fallen = ALL
        self._change: ChangePoint | None = None
        self._reading: Reading | None = None

    @property
    def status(self) -> Status:
        """Where the stream stands."""
        if self._baselines.baseline is None:
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
        ordered = sorted(batch, key=lambda one: (one.at, one.value, one.weight, one.segment))
        self._window.extend(ordered)
        self._batch_sizes.append((ordered[0].at, len(ordered)))
        values, weights = _arrays(ordered)
        segments = [one.segment for one in ordered]
        numbers = self._baselines.numbers(segments)
        known = numbers if len(self._baselines.references) > 1 else None
        self._history.add(self._baselines.without_mix(values, numbers), weights, ordered[0].at, known)
        levels, ceilings, shares = self._baselines.levels, self._baselines.ceilings, self._baselines.whole_shares
        level, ceiling = self._baselines.whole.baseline, self._baselines.whole.ceiling
        # The reference may learn from a batch only after the bet on it is settled.
        if not self._worse.is_on:
            self._baselines.add(segments, values, weights, ordered[0].at)
        if level is None or ceiling is None:
            return None
        # No score is beyond the end of the range, but batches without a loss would still add up to an alarm.
        self._better.add(_bets(values, weights, numbers, ceilings, shares, ceiling))
        falls = _bets(1.0 - values, weights, numbers, 1.0 - levels, shares, 1.0 - level)
        return self._watch(falls, len(levels), ordered[0].at)

    @property
    def reading(self) -> Reading:
        """What is known after the last batch; the first look after each takes some milliseconds."""
        if self._reading is None:
            self._reading = self._read(self._worse.log_evidence, self._change, self._change)
        return self._reading

    def _watch(self, falls: Bets, segments: int, at: datetime) -> Reading | None:
        changed = self._worse.add(falls, segments)
        if changed == "off":
            began, self._change, self._tier = self._change, None, None
            recovery, self._history = self._history.rise(self._fallen), History()
            return self._read(self._worse.log_evidence_against, began, recovery or began)
        if changed == "on":
            self._fallen = self._worse.leading
            self._change = self._history.fall(self._fallen) or ChangePoint(at, at, at)
            self._history = History()
            self._tier = "warn"
        pages = self._worse.is_on and self._worse.log_evidence >= self._log_page_threshold and self._tier != "page"
        if pages:
            self._tier = "page"
        return self.reading if pages or changed else None

    def _read(self, log_evidence: float, began: ChangePoint | None, mean_from: ChangePoint | None) -> Reading:
        reference, window = self._baselines, _interval(self._window)
        since = () if mean_from is None else tuple(one for one in self._window if one.at >= mean_from.at)
        changed = _interval(since)
        known = reference.interval if changed else None
        smallest_drop, delay = self._power()
        parts = self._split(since or tuple(self._window))
        told = parts if parts and len(reference.references) > 1 else Split(())
        settings = self._settings
        return Reading(
            status=self.status,
            tier=self._tier,
            reference_observations=reference.whole.observations,
            reference_needed=self._settings.reference_observations,
            learning_left=self._learning_left(),
            reference_mean=reference.mean,
            baseline=reference.baseline,
            can_fire=bool((reference.levels > 0.0).any()),
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
            within=parts.within if parts else None,
            mix=parts.mix if parts else None,
            segments=told.segments,
            most_worsened=self._named(told),
            not_learned=self._not_learned(),
        )

    def _split(self, after: Sequence[Observation]) -> Split | None:
        reference = self._baselines
        if self.status is Status.LEARNING or not after:
            return None
        numbers = reference.numbers([one.segment for one in after])
        found = shares_and_means(numbers, *_arrays(after), len(reference.references))
        return split(reference.partition.names, (reference.shares, reference.means), found)

    def _named(self, parts: Split) -> SegmentChange | None:
        """Give the segment that fired, or the one with the greatest part in a fall where all together did."""
        fired = self._baselines.partition.names[self._fallen] if self._tier and self._fallen != ALL else None
        return next((one for one in parts.segments if one.name == fired), parts.most_worsened)

    def _not_learned(self) -> int:
        if self.status is Status.LEARNING:
            return 0
        return int(np.isnan(self._baselines.levels[self._numbers()]).sum())

    def _numbers(self) -> NDArray[np.intp]:
        return self._baselines.numbers([one.segment for one in self._window])

    def _learning_left(self) -> timedelta | None:
        if self.status is not Status.LEARNING or len(self._batch_sizes) < 2:
            return None
        first, latest = self._batch_sizes[0][0], self._batch_sizes[-1][0]
        observed = self._baselines.whole.observations
        missing = max(0, self._settings.reference_observations - observed)
        by_count = missing / observed * (latest - first + self._settings.batch)
        return max(by_count, self._settings.reference_time - (latest - first))

    def _power(self) -> tuple[float | None, timedelta | None]:
        mean, levels = self._baselines.mean, self._baselines.levels[self._numbers()]
        watched = levels > 0.0
        if self.status is not Status.WATCHING or mean is None or not watched.any():
            return None, None
        sizes = [size for _, size in self._batch_sizes]
        # Hours without a conversation are no batches, but they pass.
        batch = (self._batch_sizes[-1][0] - self._batch_sizes[0][0]) / max(1, len(sizes) - 1)
        batch = max(batch, self._settings.batch)
        values, weights = _arrays(self._window)
        threshold = self._settings.log_threshold + (np.log(2.0) if len(self._baselines.references) > 1 else 0.0)
        per_batch = float(np.mean(sizes)) * float(watched.mean())
        power = Power(values[watched], weights[watched], levels[watched], per_batch, threshold)
        delay = power.delay(mean - _DROP)
        return power.smallest_drop(mean, _SOON / batch), delay * batch if np.isfinite(delay) else None


def _bets(
    values: Floats, weights: Floats, numbers: NDArray[np.intp], levels: Floats, shares: Floats, level: float
) -> Bets:
    """Give the bets that the mean of a segment is above its level, on those where it can be."""
    of_each = levels[numbers]
    if len(levels) == 1:
        number = len(values) if level < 1.0 else 0
        return Bets(values[:number], weights[:number], of_each[:number], numbers[:number])
    there = of_each < 1.0
    bets = Bets(values[there], weights[there], of_each[there], numbers[there])
    return replace(bets, slack=slack_of(bets, levels, shares, level))


def _arrays(observations: Iterable[Observation]) -> tuple[Floats, Floats]:
    pairs = np.array([(o.value, o.weight) for o in observations], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _interval(observations: Iterable[Observation]) -> Interval | None:
    values, weights = _arrays(observations)
    return mean_interval(values, weights) if len(values) else None
