"""Clocks of machines, which differ and are set while a process runs, and times near the ends of the calendar."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

Moment = TypeVar("Moment", date, datetime)

SKEW = timedelta(hours=1)
"""How far the clocks of machines that share a lake may be apart, the time of a commit included."""

_LEAST = timedelta(seconds=1)
"""A smaller difference counts only once it has added up: clocks are corrected in small steps all the time."""


def age_of(since: timedelta) -> float:
    """Return the seconds since a time that another clock gave: 0 for one that is ahead by no more than `SKEW`."""
    return 0.0 if -SKEW <= since < timedelta(0) else since.total_seconds()


def moved(at: Moment, by: timedelta) -> Moment:
    """Return a day or a time that is later by so much, or earlier; at most the last, or the first, that there is.

    A line may be of any year that can be written.
    """
    try:
        return at + by
    except OverflowError:
        is_earlier = by < timedelta(0)
        if isinstance(at, datetime):
            return (at.min if is_earlier else at.max).replace(tzinfo=at.tzinfo)
        return at.min if is_earlier else at.max


class ClockSteps:
    """Steps of the wall clock: by how much it was set between two calls, as seen from the monotonic clock."""

    def __init__(
        self,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._apart = self._measure()

    def since_last(self) -> timedelta:
        """Return the step since the last call, forward or back; zero where there was none of a second or more."""
        apart = self._measure()
        step = apart - self._apart
        if abs(step) < _LEAST:
            return timedelta(0)
        self._apart = apart
        return step

    def _measure(self) -> timedelta:
        at = self._clock()
        return at - datetime.fromtimestamp(0, UTC) - timedelta(seconds=self._monotonic())
