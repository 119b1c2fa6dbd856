"""Ticks of axes: round values, and round times in UTC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

_HOUR = 3600
_STEPS = tuple(hours * _HOUR for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672, 1344))
_MONDAY = 4 * 24 * _HOUR
"""The first Monday after 1970 began: steps of weeks count from it."""
_MOST_TIMES = 9


@dataclass(frozen=True)
class ValueTicks:
    """Ends of an axis, which are round, and the round values from one to the other."""

    low: float
    high: float
    step: float

    @property
    def values(self) -> tuple[float, ...]:
        """All of them, ascending."""
        number = round((self.high - self.low) / self.step)
        return tuple(self.low + place * self.step for place in range(number + 1))

    @property
    def decimals(self) -> int:
        """Decimals that tell one tick from the next."""
        return max(0, -math.floor(math.log10(self.step) + 1e-9))

    def label(self, value: float) -> str:
        """A tick's value in words."""
        words = f"{value:,.{self.decimals}f}"
        return words.removeprefix("-") if float(words.replace(",", "")) == 0 else words


def value_ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> ValueTicks:
    """Give at most `most` ticks with a step of 1, 2 or 5 times a power of ten, which enclose the values.

    `whole` is for counts: no tick between two whole numbers.
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    power = math.floor(math.log10((high - low) / (most - 1)))
    power = max(0, power) if whole else power
    step = 0.0
    for factor in (1, 2, 5, 10, 20, 50):
        step = float(f"{factor}e{power}")
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            return ValueTicks(first * step, last * step, step)
    return ValueTicks(math.floor(low / step) * step, math.ceil(high / step) * step, step)


def time_ticks(begin: datetime, end: datetime) -> tuple[tuple[datetime, str], ...]:
    """Give up to nine round times from `begin` to `end`, and how each is called: an hour, or at midnight the day."""
    first, last = begin.timestamp(), end.timestamp()
    step = next((one for one in _STEPS if (last - first) / one < _MOST_TIMES), _STEPS[-1])
    offset = _MONDAY if step >= 7 * 24 * _HOUR else 0
    found = []
    seconds = math.ceil((first - offset) / step) * step + offset
    while seconds <= last:
        at = datetime.fromtimestamp(seconds, UTC)
        found.append((at, f"{at:%-d %b}" if at.hour == 0 else f"{at:%H:%M}"))
        seconds += step
    return tuple(found)
