"""Limits at any volume: evidence, minute by minute, that the share of bad events has risen above the usual one.

A share of a window needs a minimum of events. A bot of 20 requests a day has too few for hours, although eight bad ones
in a row are no chance. So the minutes with events, each with its share of bad ones, are bet on as scores are
(`Evidence`): as long as the mean of these shares is at most the usual share, the mean time to an alert is at least a
year of such minutes. A minute counts once, however often somebody tries again within it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from monitor.detect.limits.minute_counts import Numbers, Usual
from monitor.detect.regression.e_detector.evidence import Evidence

_PRIOR_BAD, _PRIOR_EVENTS = 2.0, 20.0
"""Events of a deployment that nothing is known of."""
_HIGHEST = 0.9
"""Above a share like this no other stands out."""
_LEAST_USUAL = 0.1
"""Nobody is told of a few bad events in a row, however few there usually were."""
_DAYS = 365
_LEAST_A_DAY = 20
_RECENT, _RECENT_SHARE = 4, 0.5
"""Minutes with events, and the mean share of bad ones in them, without which no evidence is computed."""
CLEAN = 8
"""Minutes with events without a bad one, after which an alert on few events is over."""


def usual_share(usual: Usual) -> float:
    """Return the share of bad events that is taken for usual, from those older than two days."""
    return max(_LEAST_USUAL, (_PRIOR_BAD + usual.bad) / (_PRIOR_EVENTS + usual.total))


def has_risen(
    minutes: Numbers, shares: NDArray[np.float64], usual: Usual, limit: float, *, above_limit: bool = False
) -> NDArray[np.bool_]:
    """Return for each minute with events whether, with those before it, the share of bad ones has risen.

    `minutes` are counted from 1970, and `shares` are those of bad events in them. Where the usual share is the limit
    or more nothing has. With `above_limit` the share has risen where it is above the limit beyond chance, and above the
    usual share too.
    """
    level = max(usual_share(usual), limit) if above_limit else usual_share(usual)
    risen = np.zeros(len(shares), dtype=np.bool_)
    most, needed = (_HIGHEST, level) if above_limit else (limit, _RECENT_SHARE)
    if level >= most or last_bad_stretch(minutes, shares, needed) is None:
        return risen
    trajectory = Evidence().trajectory(shares, np.ones(len(shares)), level, np.arange(len(shares)), len(shares))
    days = max(1.0, (int(minutes[-1]) - int(minutes[0])) / (24 * 60))
    threshold = math.log(_DAYS * max(_LEAST_A_DAY, len(shares) / days))
    return np.asarray(trajectory.log_values(np.arange(len(shares))) >= threshold)


def last_bad_stretch(minutes: Numbers, shares: NDArray[np.float64], share: float) -> int | None:
    """Return the last of the minutes with events that had, with the three before it, at least this mean share.

    None where there is none: then nothing has risen above that share.
    """
    if len(shares) < _RECENT:
        return None
    places = np.flatnonzero(latest_mean(shares, _RECENT) >= share)
    return int(minutes[places[-1]]) if places.size else None


def is_clean(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each minute with events whether it and the seven before it had no bad one."""
    clean = np.zeros(len(shares), dtype=np.bool_)
    if len(shares) >= CLEAN:
        bad = np.concatenate([[0.0], np.cumsum(shares)])
        clean[CLEAN - 1 :] = bad[CLEAN:] - bad[:-CLEAN] <= 0.0
    return clean


def latest_mean(shares: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Return for each minute with events the mean of so many shares up to it, as if those before the first were 0."""
    sums = np.concatenate([np.zeros(number), np.cumsum(shares)])
    return np.asarray((sums[number:] - sums[:-number]) / number)
