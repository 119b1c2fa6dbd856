"""Change point of a series: the time at which its mean most likely changed, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.detect.causes.series import Floats

_WITHIN = 2.0
"""Places whose log likelihood is within so much of the best one's are in the interval, about 95 %."""
_LEAST_SIDE = 5


@dataclass(frozen=True)
class ChangePoint:
    """Numbers of answers: `place` is the first after the change, which was after `first` and not after `last`."""

    place: int
    first: int
    last: int


def change_point(numbers: Floats, repeats: float) -> ChangePoint | None:
    """Give the change point of numbers in their order in time; None where there are too few.

    `repeats` are the answers a conversation: answers of one conversation are not independent, so that the likelihood
    is divided by it.
    """
    total = len(numbers)
    if total < 2 * _LEAST_SIDE:
        return None
    sums, squares = np.cumsum(numbers), float((numbers**2).sum())
    left = np.arange(1, total)
    within = squares - sums[:-1] ** 2 / left - (sums[-1] - sums[:-1]) ** 2 / (total - left)
    likelihood = -total / 2 * np.log(np.maximum(within, 0.25)) / max(repeats, 1.0)
    middle = slice(_LEAST_SIDE - 1, total - _LEAST_SIDE)
    best = int(np.argmax(likelihood[middle])) + _LEAST_SIDE - 1
    near = np.flatnonzero(likelihood >= likelihood[best] - _WITHIN)
    return ChangePoint(best + 1, int(near[0]), int(near[-1]) + 1)
