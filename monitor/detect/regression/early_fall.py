"""A fall while the reference is learned: what was learned first against what was learned later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, Times
from monitor.detect.regression.reading import Reading
from monitor.detect.regression.segments.calendar import is_weekend

LOOKS = 5
"""Looks at the reference at which a fall is looked for: with 200 conversations, and each time they have doubled."""
_ERRORS = 3.0
"""Standard errors beyond the tolerance that the later mean is lower by."""
_NINETY_PERCENT = 1.645
"""Standard errors on both sides that an interval of 90 % has."""
_LEAST = 30.0
"""Conversations of each part, by weight, and a third of it in hours that both parts have."""
_DAY = 86_400_000_000
_PARTS_OF_DAY = 4


@dataclass(frozen=True, slots=True)
class EarlyFall:
    """The means before and after a fall within what was learned, and the standard error of their difference."""

    before: float
    after: float
    error: float

    def on(self, reading: Reading) -> Reading:
        """Return the reading, which is against the whole reference, against what came before the fall."""
        after = self.after if reading.since_mean is None else reading.since_mean
        drop, error = self.before - after, _NINETY_PERCENT * self.error
        return replace(
            reading,
            while_learning=True,
            reference_mean=self.before,
            since_mean=after,
            drop=drop,
            drop_lower=drop - error,
            drop_upper=drop + error,
        )


def early_fall(starts: Times, sums: Floats, tolerance: float, spread: float, effect: float) -> EarlyFall | None:
    """Return the fall of a stream's first batches that is surest; None where none is sure.

    `sums` are those of w, w x and w x^2 of the batches that begin at `starts`. Only like hours are compared: the same
    six hours of the day, of working days or of weekends, so that a stream that began on a good morning has not fallen
    by night. The variance allows for conversations of a batch that are alike, by their design effect or by `effect` if
    that is greater, and for days that differ by `spread`.
    """
    weights, moments = _before_each(starts, sums)
    weight, value = weights[-1], moments[-1]
    means = np.divide(value, weight, out=np.zeros_like(value), where=weight > 0.0)
    variance = (sums[:, 2].sum() - float(value @ means)) / weight.sum()
    if not variance > 0.0:
        return None
    weights, moments = weights[1:-1], moments[1:-1]
    later = weight - weights
    common = weights * later / weight.clip(min=1e-12)
    compared, enough = common.sum(axis=1), np.minimum(weights.sum(axis=1), later.sum(axis=1)) >= _LEAST
    enough &= compared >= _LEAST / 3
    if not enough.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        drops = np.nan_to_num(moments / weights - (value - moments) / later)
        drop = np.nan_to_num((common * drops).sum(axis=1) / compared)
    residuals = sums[:, 1] - sums[:, 0] * means[_hours_alike(starts)]
    alike = max(effect, float((residuals**2).sum() / (variance * weight.sum())))
    days = np.maximum(1.0, (starts[1:] - starts[0]) / _DAY), np.maximum(1.0, (starts[-1] - starts[1:]) / _DAY)
    errors = np.sqrt(variance * alike / compared.clip(min=1e-12) + spread**2 * (1.0 / days[0] + 1.0 / days[1]))
    place = int(np.argmax(np.where(enough, (drop - tolerance) / errors, -np.inf)))
    if drop[place] - tolerance < _ERRORS * errors[place]:
        return None
    after = float((value - moments[place]).sum() / later[place].sum())
    return EarlyFall(min(1.0, after + float(drop[place])), after, float(errors[place]))


def _before_each(starts: Times, sums: Floats) -> tuple[Floats, Floats]:
    """Return the sums of w and of w x before each batch and after the last; shape (batches + 1, like hours)."""
    alike = np.zeros((len(starts) + 1, 2 * _PARTS_OF_DAY, 2))
    alike[np.arange(1, len(starts) + 1), _hours_alike(starts)] = sums[:, :2]
    summed = np.cumsum(alike, axis=0)
    return summed[:, :, 0], summed[:, :, 1]


def _hours_alike(starts: Times) -> Integers:
    parts = (starts % _DAY) * _PARTS_OF_DAY // _DAY
    return np.asarray(parts + _PARTS_OF_DAY * is_weekend(starts), dtype=np.intp)
