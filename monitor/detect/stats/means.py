"""Means of scores from sums that can be added up, with what they are known by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Z = 1.96
LEAST_FOR_INTERVAL = 5
"""Scores; of fewer the spread is not known well enough to show it."""


@dataclass(frozen=True, slots=True)
class Mean:
    """Weighted mean of `number` scores; `error` is its standard error as if they were independent.

    `error` is None where there are fewer than LEAST_FOR_INTERVAL scores.
    """

    number: int
    value: float
    error: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The mean less and plus 1.96 standard errors."""
        return None if self.error is None else (self.value - _Z * self.error, self.value + _Z * self.error)


def weighted_sums(values: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return of each score what `mean_of` needs the sums of: 1, w, w x, w^2, w^2 x, w^2 x^2."""
    squared = weights * weights
    return np.ones(len(values)), weights, weights * values, squared, squared * values, squared * values * values


def mean_of(sums: Sequence[float]) -> Mean | None:
    """Return the mean from sums of `weighted_sums`; None where there is no score.

    The variance of a ratio of sums is `sum w^2 (x - mean)^2 / (sum w)^2`, here times n / (n - 1).
    """
    if not sums or not sums[1]:
        return None
    number, weight, total, squares, squares_x, squares_xx = sums
    mean = total / weight
    if number < LEAST_FOR_INTERVAL:
        return Mean(int(number), mean, None)
    # Of values that hardly differ the difference of large sums may come out below 0.
    spread = max(0.0, squares_xx - 2 * mean * squares_x + mean * mean * squares)
    return Mean(int(number), mean, math.sqrt(spread * number / (number - 1)) / weight)
