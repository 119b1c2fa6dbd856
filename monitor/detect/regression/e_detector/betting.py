"""Confidence sequences of the mean of bounded values, by betting."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.detect.regression.arrays import Floats

BETS: Floats = np.geomspace(0.01, 0.95, 16)
"""Shares of the largest bet that can never lose all; a mixture over them needs no tuning."""

_COLUMN = BETS[:, None]
_MOST_STEPS = 50
_LEAST_LOG = math.log(1e-300)
_SMALL_STEP = 1e-5
"""The error after a step is about the square of it."""
_LOG_MIXTURE = 1.5
"""About what a mixture has less than its best bet."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A weighted mean and the interval that holds the true one; all within [0, 1]."""

    mean: float
    lower: float
    upper: float


def log_pay_offs(values: Floats, weights: Floats, mean: Floats | float) -> Floats:
    """Log of what each of `BETS` on each value pays, see `log_capital`; shape (bets, values)."""
    return np.asarray(np.log1p(_COLUMN * (weights * (values / mean - 1.0))))


def log_capital(values: Floats, weights: Floats, mean: Floats | float, counts: Floats | None = None) -> Floats:
    """Log of what each of `BETS` has made of 1 by betting that the true mean is above `mean`; shape (bets,).

    A bet c on a value x with weight w pays `1 + c * w * (x / mean - 1)`, which is positive for x and w in
    [0, 1]. Whatever the distribution, the capital is a test supermartingale as long as the true mean is at
    most `mean` (Waudby-Smith and Ramdas, arXiv 2010.09686), which may be one of all or one of each. `mean` may be
    above 1: no bet then wins. `counts` says how often each value came, once by default.
    """
    logs = log_pay_offs(values, weights, mean)
    return np.asarray(logs.sum(axis=1) if counts is None else logs @ counts)


def log_mean_exp(logs: Floats) -> float:
    """Logarithm of the plain mean of `exp(logs)`, without overflow; -inf where all are -inf."""
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def lower_bound(values: Floats, weights: Floats, confidence: float, counts: Floats | None = None) -> float:
    """Largest mean refuted from below: the true one is above it with probability `confidence`, at any sample size.

    The logarithm of the capital is convex in that of the mean and falls, so that Newton's method never steps past the
    largest: each point after the first is refuted.
    """
    if not values.any():
        return 0.0
    target = -math.log1p(-confidence)
    mass = weights if counts is None else weights * counts
    average = weighted_mean(values, mass)
    # About where it will be, for normal values.
    number = len(values) if counts is None else counts.sum()
    variance = weighted_mean((values - average) ** 2, mass)
    error = 2 * (target + _LOG_MIXTURE) * variance / number
    near = max(average / 2, average - math.sqrt(error))
    log_mean = max(math.log(near), _LEAST_LOG) if near > 0.0 else _LEAST_LOG
    for _ in range(_MOST_STEPS):
        mean = math.exp(log_mean)
        logs = log_capital(values, weights, mean, counts)
        gained = _COLUMN * (weights * values / mean)
        slopes = gained / (gained + (1.0 - _COLUMN * weights))
        of_bets = slopes.sum(axis=1) if counts is None else slopes @ counts
        log_mixed = log_mean_exp(logs)
        if log_mixed < target and log_mean == _LEAST_LOG:
            return 0.0
        slope = float((np.exp(logs - log_mixed) / len(BETS)) @ of_bets)
        # Bets on weights near the smallest number there is are rounded to nothing.
        step = (log_mixed - target) / slope if slope else -math.inf
        log_mean = max(log_mean + step, _LEAST_LOG)
        if abs(step) < _SMALL_STEP:
            break
    return math.exp(log_mean)


def mean_interval(values: Floats, weights: Floats, confidence: float = 0.95, counts: Floats | None = None) -> Interval:
    """Weighted mean of at least one value in [0, 1], weights in (0, 1], with its confidence sequence.

    `counts` says how often each value came, once by default.

    The interval is valid for any distribution on [0, 1] and at all sample sizes at once if the values are those
    since a fixed start (grid-Kelly betting, Waudby-Smith and Ramdas, arXiv 2010.09686); over a window that
    moves, each single look has the stated coverage.
    """
    one_sided = (1.0 + confidence) / 2
    mean = weighted_mean(values, weights if counts is None else weights * counts)
    lower = lower_bound(values, weights, one_sided, counts)
    upper = 1.0 - lower_bound(1.0 - values, weights, one_sided, counts)
    return Interval(mean, min(lower, mean), max(upper, mean))


def weighted_mean(values: Floats, weights: Floats) -> float:
    """Mean of values in [0, 1]; rounding does not push it out."""
    return min(1.0, max(0.0, float((values * weights).sum() / weights.sum())))
