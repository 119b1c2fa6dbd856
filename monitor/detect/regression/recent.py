"""Recent conversations and batches of a stream, and how small a drop would be found at their rate."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, Times, moment
from monitor.detect.regression.baselines import Baselines
from monitor.detect.regression.e_detector.power import DetectionPower
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.settings import RegressionSettings

_DROP, _SMALL_DROP = 0.1, 0.05
_SOON = timedelta(days=7)
_LONGEST = timedelta(days=36_525)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How small a drop is found, and how soon; see the fields of the same names of `Reading`."""

    smallest_drop: float | None = None
    delay: timedelta | None = None
    small_delay: timedelta | None = None
    small_conversations: float | None = None


@dataclass(slots=True, init=False, eq=False)
class Recent:
    """The last conversations of a stream, as many as a reference needs, and as many batches."""

    _settings: RegressionSettings
    conversations: Observations
    _batch_starts: Times
    _batch_sizes: Integers

    def __init__(self, settings: RegressionSettings) -> None:
        self._settings = settings
        self.conversations = Observations.of([])
        self._batch_starts, self._batch_sizes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.intp)

    def add(self, run: Observations) -> None:
        """Add batches; the oldest conversations and batches are forgotten."""
        kept = self._settings.reference_observations
        self.conversations = self.conversations.joined(run, kept)
        self._batch_starts = np.concatenate([self._batch_starts, run.starts])[-kept:].copy()
        self._batch_sizes = np.concatenate([self._batch_sizes, run.sizes])[-kept:].copy()

    def until(self, run: Observations) -> Observations:
        """Return the conversations before the last batch of a run to be added, and all of this batch.

        A busy hour has more than are kept.
        """
        kept, last = self._settings.reference_observations, run.batches - 1
        before = self.conversations.joined(run.between(0, last), kept) if last else self.conversations
        batch = run.between(last, last + 1)
        return before.joined(batch, kept + len(batch))

    @property
    def latest(self) -> datetime | None:
        """Time of the last conversation's batch."""
        return moment(int(self.conversations.at[-1])) if self.conversations else None

    def levels(self, baselines: Baselines) -> Floats:
        """Return the baseline of each conversation, nan where its segment has none."""
        return np.asarray(baselines.levels[baselines.numbers(self.conversations)])

    def learning_left(self, baselines: Baselines) -> timedelta | None:
        """Return how long it takes to complete the reference; None where fewer than two batches are known."""
        if len(self._batch_sizes) < 2:
            return None
        observed = baselines.whole.observations
        missing = max(0, self._settings.reference_observations - observed)
        by_count = _repeated(self._watched_for + self._settings.batch, missing / observed)
        return max(by_count, self._settings.reference_time - self._watched_for)

    def sensitivity(self, baselines: Baselines) -> Sensitivity:
        """Return how small a drop would be found, and how soon."""
        mean, levels = baselines.mean, self.levels(baselines)
        watched = levels > 0.0
        if mean is None or not watched.any():
            return Sensitivity()
        # Hours without a conversation are no batches, but they pass.
        batch = max(self._watched_for / max(1, len(self._batch_sizes) - 1), self._settings.batch)
        threshold = self._settings.log_threshold + (np.log(2.0) if baselines.segments > 1 else 0.0)
        per_batch = float(np.mean(self._batch_sizes)) * float(watched.mean())
        threshold *= baselines.design_effect(float(np.mean(self._batch_sizes)))
        values, weights = self.conversations.values[watched], self.conversations.weights[watched]
        power = DetectionPower(values, weights, levels[watched], per_batch, threshold)
        delay, small_delay = power.delay(mean - _DROP), power.delay(mean - _SMALL_DROP)
        return Sensitivity(
            power.smallest_drop(mean, _SOON / batch),
            _repeated(batch, delay) if np.isfinite(delay) else None,
            _repeated(batch, small_delay) if np.isfinite(small_delay) else None,
            small_delay * float(np.mean(self._batch_sizes)) if np.isfinite(small_delay) else None,
        )

    @property
    def _watched_for(self) -> timedelta:
        """From the first remembered batch to the last."""
        return moment(int(self._batch_starts[-1])) - moment(int(self._batch_starts[0]))


def _repeated(span: timedelta, times: float) -> timedelta:
    """Return a span so many times, a century at most: batches seem that far apart after a first score of the year 1."""
    return span * min(times, _LONGEST / span)
