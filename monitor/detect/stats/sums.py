"""Sums and counts of columns that do not depend on the order of the rows, or on how they are divided."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PER_UNIT = 10**12
"""Amounts are whole numbers of 10^-12 units.

A float sum depends on the order of its terms, so that a restart could make a counter smaller by its last digit,
and Prometheus takes a smaller counter for one that began again at zero.
"""


def exact_sum(values: NDArray[np.float64]) -> int:
    """Sum of all values whose number of 10^-12 units is finite, in these units; others count as nothing."""
    with np.errstate(over="ignore"):
        units = np.rint(values * PER_UNIT)
    return sum(map(int, units[np.isfinite(units)].tolist()))


ROUGH_PER_UNIT = 10**9
"""Amounts in arrays of floats are whole numbers of 10^-9 units: up to 9 million units their sums are exact."""


def rough_amounts(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Amounts as whole numbers of 10^-9 units; what is no finite number counts as nothing."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.rint(values * ROUGH_PER_UNIT), posinf=0.0, neginf=0.0)


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A numeric column as floats, null as NaN."""
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def value_counts(column: pa.ChunkedArray, absent: str) -> dict[str, int]:
    """How often each value of a column occurs, by its text; null counts as `absent`."""
    totals: dict[str, int] = {}
    for entry in column.value_counts().to_pylist():
        name = absent if entry["values"] is None else str(entry["values"])
        totals[name] = totals.get(name, 0) + int(entry["counts"])
    return totals


def add_counts(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """Two counts added, in the order of their names."""
    return {name: left.get(name, 0) + right.get(name, 0) for name in sorted(left | right)}
