"""Attributes of traffic that follow from the time of a request alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.detect.regression.observations import Segment

_HOUR = 3_600_000_000
_PARTS = ("00:00 to 06:00 UTC", "06:00 to 12:00 UTC", "12:00 to 18:00 UTC", "18:00 to 24:00 UTC")
_FIRST_WEEKDAY = 3
"""1970 began on a Thursday, the fourth day of a week."""
TIME_OF_DAY, WEEKEND = "time_of_day", "weekend"
CALENDAR = (TIME_OF_DAY, WEEKEND)
"""Names of these attributes, which `segment_by` may have beside those of `scores.segment`."""


def calendar_classes(at: NDArray[np.int64], names: tuple[str, ...]) -> tuple[NDArray[np.intp], tuple[Segment, ...]]:
    """Return the class of each time, in microseconds since 1970, by those of `names` that are of the calendar (UTC)."""
    hours = at // _HOUR
    time_of_day = (hours % 24 // 6).astype(np.intp)
    weekend = is_weekend(at).astype(np.intp)
    kinds = tuple(
        tuple(pair for pair in ((TIME_OF_DAY, part), (WEEKEND, "yes" if is_weekend else "no")) if pair[0] in names)
        for part in _PARTS
        for is_weekend in (False, True)
    )
    return time_of_day * 2 + weekend, kinds


def is_weekend(at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether times, in microseconds since 1970, are of a Saturday or Sunday (UTC)."""
    return np.asarray((at // (24 * _HOUR) + _FIRST_WEEKDAY) % 7 >= 5)
