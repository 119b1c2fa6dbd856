"""Power of the detector: how small a drop would be found, and how soon."""

from __future__ import annotations

import math

import numpy as np

from monitor.detect.regression.arrays import Floats
from monitor.detect.regression.e_detector.betting import BETS, log_mean_exp, weighted_mean

_LONGEST = 10_000.0
_BISECTIONS = 12


class DetectionPower:
    """What a detector could find at the traffic and the scores of now, as a rule of thumb.

    A drop is imagined as a share of the conversations that get the worst score; of all drops of the mean that is the
    hardest to see. The evidence is then taken to grow as it does on average, so that the delay is about the median.

    `values` and `weights` are those of conversations while all is well, `baselines` is the `m0` in (0, 1) of each, and
    `per_batch` the number of conversations of a batch.
    """

    def __init__(
        self, values: Floats, weights: Floats, baselines: Floats, per_batch: float, log_threshold: float
    ) -> None:
        levels = 1.0 - baselines
        self._mean = weighted_mean(values, weights)
        self._log_threshold = log_threshold
        self._usual = per_batch * np.log1p(np.outer(BETS, weights * ((1.0 - values) / levels - 1.0))).mean(axis=1)
        self._worst = per_batch * np.log1p(np.outer(BETS, weights * (1.0 / levels - 1.0))).mean(axis=1)

    def delay(self, mean: float) -> float:
        """Batches until a fall to `mean` is found; infinite where that takes more than 10,000 of them."""
        growth = self._growth(mean)
        if not self._is_found(growth, _LONGEST):
            return math.inf
        low, high = 0.0, math.log(_LONGEST)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if self._is_found(growth, math.exp(middle)):
                high = middle
            else:
                low = middle
        return math.exp(high)

    def smallest_drop(self, reference: float, batches: float) -> float | None:
        """Smallest drop below `reference` that is found within `batches`; None where none is."""
        if not self._is_found(self._growth(0.0), batches):
            return None
        unseen, seen = 0.0, reference
        for _ in range(_BISECTIONS):
            middle = (unseen + seen) / 2
            if self._is_found(self._growth(reference - middle), batches):
                seen = middle
            else:
                unseen = middle
        return seen

    def _growth(self, mean: float) -> Floats:
        share = 1.0 - min(1.0, max(0.0, mean) / self._mean) if self._mean > 0.0 else 0.0
        return np.asarray((1.0 - share) * self._usual + share * self._worst)

    def _is_found(self, growth: Floats, batches: float) -> bool:
        # R after b batches is the sum of exp(k * growth) for k from 1 to b; bets that lose add nothing.
        winning = growth[growth > 0.0]
        if not len(winning):
            return False
        logs = batches * winning + np.log(-np.expm1(-batches * winning)) - np.log(-np.expm1(-winning))
        return log_mean_exp(logs) + math.log(len(winning) / len(growth)) >= self._log_threshold
