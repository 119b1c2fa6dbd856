"""When did a mean change?"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from monitor.regression.betting import Floats
from monitor.regression.evidence import ALL

_Sums = tuple[float, float, float]
_REMEMBERED = 500
_LOG_LIKELIHOOD_RATIO = -math.log(1.0 - math.sqrt(0.95))
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The most likely start of the first batch after a change; the true one is from `earliest` to `latest` (95 %)."""

    at: datetime
    earliest: datetime
    latest: datetime


class History:
    """Sums of the last 500 batches, from which the change point of their mean is found.

    For each batch that may be the first after the change the squared error around two means, before and from there on,
    gives the likelihood of normal values with one variance, `-n / 2 * log(error)`. The interval is that of all
    candidates whose logarithm is within `-log(1 - sqrt(0.95))` = 3.68 of the best (the 95 % point of the likelihood
    ratio at a change, Eo and Morley, Quantitative Economics 2015).
    """

    def __init__(self) -> None:
        self._starts: deque[datetime] = deque(maxlen=_REMEMBERED)
        self._sums: deque[dict[int, _Sums]] = deque(maxlen=_REMEMBERED)

    def add(self, values: Floats, weights: Floats, start: datetime, segments: NDArray[np.intp] | None = None) -> None:
        """Add a batch whose first value is of `start`; `segments` are the numbers of the values' segments."""
        self._starts.append(start)
        sums = {ALL: _sums(values, weights)}
        for segment in () if segments is None else np.unique(segments).tolist():
            sums[segment] = _sums(values[segments == segment], weights[segments == segment])
        self._sums.append(sums)

    def fall(self, segment: int = ALL) -> ChangePoint | None:
        """Give where the mean, or that of a segment, fell most likely; None where it is nowhere lower than before."""
        return self._change(-1.0, segment)

    def rise(self, segment: int = ALL) -> ChangePoint | None:
        """Give where the mean, or that of a segment, rose most likely; None where it is nowhere higher than before."""
        return self._change(1.0, segment)

    def _change(self, sign: float, segment: int) -> ChangePoint | None:
        starts = [start for start, of_batch in zip(self._starts, self._sums, strict=True) if segment in of_batch]
        sums = np.array([of_batch[segment] for of_batch in self._sums if segment in of_batch]).reshape(-1, 3)
        before, total = np.cumsum(sums, axis=0)[:-1], sums.sum(axis=0)
        after = total - before
        step = sign * (after[:, 1] / after[:, 0] - before[:, 1] / before[:, 0]) if len(before) else np.empty(0)
        if not (step > _ROUNDING).any():
            return None
        error = sum(np.maximum(side[:, 2] - side[:, 1] ** 2 / side[:, 0], 0.0) for side in (before, after))
        logs = np.where(step > _ROUNDING, -total[0] / 2 * np.log(error + _ROUNDING), -np.inf)
        (likely,) = np.nonzero(logs >= logs.max() - _LOG_LIKELIHOOD_RATIO)
        at, first, last = (starts[int(i) + 1] for i in (np.argmax(logs), likely[0], likely[-1]))
        return ChangePoint(at, first, last)


def _sums(values: Floats, weights: Floats) -> _Sums:
    return float(weights.sum()), float(weights @ values), float(weights @ values**2)
