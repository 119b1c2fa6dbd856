"""Sums over quarters of an hour, for the small charts of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

QUARTER_SECONDS = 900
KEPT_QUARTERS = 7 * 24 * 4
"""A week: nothing older is drawn."""


@dataclass(frozen=True)
class Timeline:
    """(sum of weights, sum of weight times value) a quarter of an hour, keyed by quarters since 1970 in UTC."""

    quarters: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def with_values(self, at: pa.ChunkedArray, weights: NDArray[np.float64], values: NDArray[np.float64]) -> Timeline:
        """Add one weighted value an instant of `at` (timestamps, none null), and drop what is over a week older."""
        if not len(at):
            return self
        quarters = quarters_of(at)
        kept = quarters > max([int(quarters.max()), *self.quarters]) - KEPT_QUARTERS
        numbers, index = np.unique(quarters[kept], return_inverse=True)
        weight_sums = np.bincount(index, weights[kept])
        value_sums = np.bincount(index, (weights * values)[kept])
        merged = dict(self.quarters)
        for number, weight, value in zip(numbers.tolist(), weight_sums.tolist(), value_sums.tolist(), strict=True):
            old_weight, old_value = merged.get(number, (0.0, 0.0))
            merged[number] = (old_weight + weight, old_value + value)
        oldest = max(merged) - KEPT_QUARTERS
        return Timeline({number: sums for number, sums in merged.items() if number > oldest})


def quarters_of(at: pa.ChunkedArray) -> NDArray[np.int64]:
    """Quarters of an hour since 1970 in UTC, of a column of timestamps in microseconds."""
    microseconds = np.asarray(at.cast(pa.int64()).to_numpy(), dtype=np.int64)
    return microseconds // (QUARTER_SECONDS * 1_000_000)
