"""Ticks of axes: round values, and round times of a zone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

_HOUR = 3600
_HOURS = (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672, 1344)
_DAY, _WEEK = 24, 168
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MONDAY = date(1970, 1, 5).toordinal()
"""Steps of weeks count from it, others of days from the first day."""
_MOST_TIMES = 9


@dataclass(frozen=True)
class ValueTicks:
    """Ends of an axis, which are round, and the round values from one to the other."""

    low: float
    high: float
    step: float

    @property
    def values(self) -> tuple[float, ...]:
        """The values of all ticks, ascending."""
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
    """Return at most `most` ticks with a step of 1, 2 or 5 times a power of ten, which enclose the values.

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


def time_ticks(begin: datetime, end: datetime, zone: tzinfo = UTC) -> tuple[tuple[datetime, str], ...]:
    """Return up to ten times from `begin` to `end` that are round in the zone, and how each is called.

    That is an hour, or the day where it begins. Where clocks are changed two ticks are farther apart, or nearer.
    """
    length = (end - begin).total_seconds() / _HOUR
    step = next((one for one in _HOURS if length / one < _MOST_TIMES), _HOURS[-1])
    found: list[tuple[datetime, str]] = []
    for at, text in _round_times(begin.astimezone(zone).date(), end.astimezone(zone).date(), step, zone):
        # Of a day that begins at one o'clock, that hour comes again.
        if begin <= at <= end and not (found and at <= found[-1][0]):
            found.append((at, text))
    return tuple(found)


def _round_times(first: date, last: date, step: int, zone: tzinfo) -> Iterator[tuple[datetime, str]]:
    origin = _MONDAY if step >= _WEEK else _FIRST_DAY
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        if step >= _DAY and (ordinal - origin) % (step // _DAY):
            continue
        day = date.fromordinal(ordinal)
        for hour in range(0, _DAY, step):
            # A time that clocks leave out is the one that they show then: a day without midnight still begins.
            at = datetime.combine(day, time(hour), zone).astimezone(UTC)
            local = at.astimezone(zone)
            if local.date() == day and hour in (0, local.hour):
                yield at, f"{day:%-d %b}" if hour == 0 else f"{local:%H:%M}"
