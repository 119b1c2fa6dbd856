"""Test of a change against ordinary variation: the time after an onset beside the same hours of earlier days."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.detect.causes.series import Floats

LEAST_CONVERSATIONS = 8
"""Conversations that a window needs."""
_PRIOR_WEIGHT = 6
"""Degrees of freedom that the variance within windows counts for, beside that between days."""
_NO_DAYS_FACTOR = 4.0
"""Variance is so many times that of sampling where too few days say how days differ."""
_LEAST_VARIANCE = 0.01
"""Of one conversation: a series that was constant may vary by chance all the same."""


@dataclass(frozen=True)
class ConversationWindows:
    """Conversations of windows of equal length and time of day; window 0 is after the onset, the others before.

    `pairs` gives for each answer the number of its window and conversation, -1 for one that is in no window.
    """

    pairs: NDArray[np.int64]
    window_of_pair: NDArray[np.int64]
    count: int


def windows_of(windows: NDArray[np.int64], conversations: NDArray[np.int64], count: int) -> ConversationWindows:
    """Return the windows; `windows` has the number of each answer's window, -1 for none."""
    size = int(conversations.max(initial=0)) + 1
    is_in = windows >= 0
    found, places = np.unique(windows[is_in] * size + conversations[is_in], return_inverse=True)
    pairs = np.full(len(windows), -1, np.int64)
    pairs[is_in] = places
    return ConversationWindows(pairs, found // size, count)


def p_value(numbers: Floats, known: NDArray[np.bool_], windows: ConversationWindows) -> float | None:
    """Return the two-sided p-value of window 0 against the others; None where there is too little to compare.

    A conversation counts once in a window. The variance between days is shrunk towards that of sampling (a moderated
    t test; Smyth 2004), and is never taken to be less.
    """
    use = known & (windows.pairs >= 0)
    places = windows.pairs[use]
    counts = np.bincount(places, minlength=len(windows.window_of_pair))
    sums = np.bincount(places, numbers[use], minlength=len(windows.window_of_pair))
    there = counts > 0
    means, of = sums[there] / counts[there], windows.window_of_pair[there]
    sizes = np.bincount(of, minlength=windows.count)
    if sizes[0] < LEAST_CONVERSATIONS:
        return None
    days = [number for number in range(1, windows.count) if sizes[number] >= LEAST_CONVERSATIONS]
    if not days:
        return None
    level = np.array([means[of == number].mean() for number in (0, *days)])
    # Of the days before alone: a change must not hide itself by what it adds to the variance.
    of_one = max(float(np.mean([means[of == number].var(ddof=1) for number in days])), _LEAST_VARIANCE)
    sampling, after = of_one * float(np.mean(1 / sizes[days])), of_one / float(sizes[0])
    if len(days) > 1:
        freedom = len(days) - 1 + _PRIOR_WEIGHT
        between = float(level[1:].var(ddof=1)) * (len(days) - 1) + sampling * _PRIOR_WEIGHT
        variance = max(between / freedom, sampling)
        spread = variance / len(days) + max(variance, variance - sampling + after)
    else:
        freedom, spread = _PRIOR_WEIGHT, _NO_DAYS_FACTOR * (sampling + after)
    return two_sided_t(float(abs(level[0] - level[1:].mean()) / np.sqrt(spread)), freedom)


def two_sided_t(value: float, freedom: int) -> float:
    """Return the two-sided p-value of Student's t (Abramowitz and Stegun 26.7.3 and 26.7.4), to about 1e-15."""
    angle = math.atan2(abs(value), math.sqrt(freedom))
    is_odd = freedom % 2 == 1
    term = math.cos(angle) if is_odd else 1.0
    total = term if freedom > 1 or not is_odd else 0.0
    for step in range(3 if is_odd else 2, freedom, 2):
        term *= (step - 1) / step * math.cos(angle) ** 2
        total += term
    within = math.sin(angle) * total
    return max(0.0, 1.0 - (2 / math.pi * (angle + within) if is_odd else within))
