"""Sums by hour and by day of event time, for the periods of the pages."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HOUR_SECONDS = 3600
DAY_HOURS = 24
KEPT_HOURS = 8 * DAY_HOURS + 1
"""Eight days, and the hour that has begun: a longer period is of whole days."""
KEPT_DAYS = 90 + 1
"""90 days, and the day that has begun."""
_MICROSECONDS = HOUR_SECONDS * 1_000_000


@dataclass(frozen=True, eq=False)
class Bins:
    """Sums of some quantities: a row of `sums` for each of `numbers` (ascending), a column a quantity.

    A bin without an event has no row.
    """

    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def with_sums(self, numbers: NDArray[np.int64], sums: NDArray[np.float64], kept: int | None = None) -> Bins:
        """Add sums, of each bin one or more; the latest `kept` bins are held."""
        every = np.concatenate([self.numbers, numbers])
        held = np.concatenate([self.sums, sums]) if len(self.numbers) else sums
        known, place = np.unique(every, return_inverse=True)
        columns = [np.bincount(place, column, minlength=len(known)) for column in held.T]
        first = 0 if kept is None else max(0, len(known) - kept)
        return Bins(known[first:], np.column_stack(columns).astype(np.float64)[first:])

    def total(self, first: int, last: int) -> tuple[float, ...]:
        """Sum of each quantity from one bin to another, both included; empty where nothing was ever added."""
        begin, end = self.numbers.searchsorted((first, last + 1))
        return tuple(np.add.reduce(self.sums[begin:end], axis=0).tolist())

    def by_slot(self, first: int, last: int, width: int) -> NDArray[np.float64]:
        """Sums of slots of `width` bins, the first from `first` on; shape (slots, quantities)."""
        begin, end = self.numbers.searchsorted((first, last + 1))
        slots = -(-(last + 1 - first) // width)
        place = (self.numbers[begin:end] - first) // width
        columns = [np.bincount(place, column, minlength=slots) for column in self.sums[begin:end].T]
        return np.column_stack(columns) if columns else np.empty((slots, 0))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same bins and sums."""
        if not isinstance(other, Bins):
            return NotImplemented
        return np.array_equal(self.numbers, other.numbers) and np.array_equal(self.sums, other.sums)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class PeriodSums:
    """Sums by hour of the latest KEPT_HOURS hours with an event, and by day (UTC) of the latest KEPT_DAYS days.

    Hours and days are numbered since 1970. An event of a wrong time in the future takes the place of one of each.
    """

    hours: Bins = field(default_factory=Bins)
    days: Bins = field(default_factory=Bins)

    def with_values(self, at: pa.ChunkedArray, *quantities: NDArray[np.float64]) -> PeriodSums:
        """Add events at the times `at` (timestamps in microseconds, none null), of which each has these quantities."""
        if not len(at):
            return self
        found = np.asarray(at.cast(pa.int64()).to_numpy(), np.int64) // _MICROSECONDS
        new = Bins().with_sums(found, np.column_stack(quantities))
        return PeriodSums(
            self.hours.with_sums(new.numbers, new.sums, KEPT_HOURS),
            self.days.with_sums(new.numbers // DAY_HOURS, new.sums, KEPT_DAYS),
        )

    def total(self, first: int, last: int) -> tuple[float, ...]:
        """Sum of each quantity from one hour to another, both included; empty where nothing was ever added.

        Of more hours than are kept it is that of the whole days in which these hours are.
        """
        if last - first < KEPT_HOURS:
            return self.hours.total(first, last)
        return self.days.total(first // DAY_HOURS, last // DAY_HOURS)

    def by_slot(self, first: int, last: int, width: int) -> NDArray[np.float64]:
        """Sums of slots of `width` hours, the first from the hour `first` on; shape (slots, quantities).

        Of more hours than are kept the slots are of whole days.
        """
        if last - first < KEPT_HOURS:
            return self.hours.by_slot(first, last, width)
        return self.days.by_slot(first // DAY_HOURS, last // DAY_HOURS, max(1, width // DAY_HOURS))
