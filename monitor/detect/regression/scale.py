"""Scale of a metric, from its worst to its best value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from lake.spec.vocabulary import Direction

Value = TypeVar("Value", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True)
class Scale:
    """The two ends of a metric's range, on which the detectors' scale from 0 (worst) to 1 (best) is laid evenly.

    That is `(value - low) / (high - low)` where up is better, and `(high - value) / (high - low)` where down is.
    """

    worst: float
    best: float

    @classmethod
    def of(cls, direction: str | None, low: float | None, high: float | None) -> Self | None:
        """Read the columns of `scores`; null is what metrics of earlier versions meant: up, from 0 to 1.

        None for a metric that cannot be watched: neither end of it is better, or it has no two ends (lengths, times,
        prices).
        """
        low, high = 0.0 if low is None else low, 1.0 if high is None else high
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            return None
        ends: Mapping[str, Self] = {Direction.UP: cls(low, high), Direction.DOWN: cls(high, low)}
        return ends.get(direction or Direction.UP)

    def quality(self, value: Value) -> Value:
        """Return where a value or values stand, from 0 (worst) to 1 (best); outside of that where out of the range."""
        return (value - self.worst) / (self.best - self.worst)

    def value(self, quality: float) -> float:
        """Return the value of a quality, the inverse of `quality`."""
        return self.worst + quality * (self.best - self.worst)

    @property
    def is_reversed(self) -> bool:
        """Whether a higher value is worse."""
        return self.best < self.worst
