"""Cluster bootstrap: intervals of whatever can be computed from weighted rows, whose questions are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.calibration.labelled import Floats, LabelledRows

RESAMPLES = 2000
_CELLS = 4_000_000
_LEAST_DEFINED = 0.95

Statistic = Callable[[Floats], Floats]
"""From weights, an array (resamples, rows), a value a resample; NaN where it is not defined."""


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval; None where it is not defined, or where too few rows say how sure it is."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        """How wide the interval is."""
        return None if self.low is None or self.high is None else self.high - self.low


def bootstrapped(statistics: Mapping[str, Statistic], rows: LabelledRows, seed: int = 0) -> dict[str, Estimate]:
    """Return statistics of the rows, each with its percentile interval over resamples of questions (cluster bootstrap).

    All rows of a question are drawn together, with replacement, as often as there are questions. There is no interval
    with fewer than two questions, or where over 5 % of the resamples do not have the statistic. Source: Efron and
    Tibshirani, An Introduction to the Bootstrap, 1993.
    """
    if not len(rows):
        return dict.fromkeys(statistics, Estimate(None))
    values = {name: float(of(rows.weight[np.newaxis, :])[0]) for name, of in statistics.items()}
    found: dict[str, list[Floats]] = {name: [] for name in statistics}
    if rows.questions > 1:
        for drawn in resampled_weights(rows, seed):
            for name, of in statistics.items():
                found[name].append(of(drawn))
    return {name: estimate_of(value, found[name]) for name, value in values.items()}


def estimate_of(value: float, found: list[Floats]) -> Estimate:
    """Return a value with the quantiles of what resamples gave, where enough of these are defined."""
    if not np.isfinite(value):
        return Estimate(None)
    resampled = np.concatenate([np.empty(0), *found])
    resampled = resampled[np.isfinite(resampled)]
    if len(resampled) < _LEAST_DEFINED * RESAMPLES:
        return Estimate(value)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Estimate(value, float(low), float(high))


def resampled_weights(rows: LabelledRows, seed: int) -> Iterator[Floats]:
    """Yield weights (resamples, rows) of rows whose questions are drawn again, in portions; 0 where one is not."""
    chance = np.random.default_rng(seed)
    at_once = max(1, _CELLS // len(rows))
    share = np.full(rows.questions, 1.0 / rows.questions)
    for begin in range(0, RESAMPLES, at_once):
        times = chance.multinomial(rows.questions, share, size=min(at_once, RESAMPLES - begin))
        yield times[:, rows.question] * rows.weight


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the mean of values by weights (resamples, rows), one a resample."""
    return divided(weights @ values, weights.sum(axis=1))


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, NaN where the denominator is not above 0."""
    result: Floats = np.full_like(numerator, np.nan)
    return np.divide(numerator, denominator, out=result, where=denominator > 0)
