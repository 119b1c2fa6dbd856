"""Sums by hour of event time over the last 30 days, for the periods of the overview."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HOUR_SECONDS = 3600
KEPT_HOURS = 30 * 24 + 1
"""30 days, and the hour that has begun."""
_MICROSECONDS = HOUR_SECONDS * 1_000_000


@dataclass(frozen=True, eq=False)
class HourlySums:
    """Sums of some quantities: a row of `sums` for each of `hours` (since 1970 in UTC, ascending), a column a quantity.

    An hour without an event has no row. At most KEPT_HOURS are held, the latest ones: an event of a wrong time in the
    future takes the place of one hour.
    """

    hours: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def with_values(self, at: pa.ChunkedArray, *quantities: NDArray[np.float64]) -> HourlySums:
        """Add events at the times `at` (timestamps in microseconds, none null), of which each has these quantities."""
        if not len(at):
            return self
        found = np.asarray(at.cast(pa.int64()).to_numpy(), np.int64) // _MICROSECONDS
        hours, place = np.unique(np.concatenate([self.hours, found]), return_inverse=True)
        held = self.sums if len(self.hours) else np.empty((0, len(quantities)))
        columns = [
            np.bincount(place, np.concatenate([held[:, number], values])) for number, values in enumerate(quantities)
        ]
        return HourlySums(hours[-KEPT_HOURS:], np.column_stack(columns).astype(np.float64)[-KEPT_HOURS:])

    def total(self, first: int, last: int) -> tuple[float, ...]:
        """Sum of each quantity from one hour to another, both included; empty where nothing was ever added."""
        begin, end = self.hours.searchsorted((first, last + 1))
        return tuple(np.add.reduce(self.sums[begin:end], axis=0).tolist())

    def by_slot(self, first: int, last: int, width: int) -> NDArray[np.float64]:
        """Sums of slots of `width` hours, the first from the hour `first` on; shape (slots, quantities)."""
        begin, end = self.hours.searchsorted((first, last + 1))
        slots = -(-(last + 1 - first) // width)
        place = (self.hours[begin:end] - first) // width
        columns = [np.bincount(place, column, minlength=slots) for column in self.sums[begin:end].T]
        return np.column_stack(columns) if columns else np.empty((slots, 0))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same hours and sums."""
        if not isinstance(other, HourlySums):
            return NotImplemented
        return np.array_equal(self.hours, other.hours) and np.array_equal(self.sums, other.sums)

    __hash__ = None  # type: ignore[assignment]
