"""Evidence, gathered batch by batch, that a mean has moved above a level: the e-detector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, begins_of
from monitor.detect.regression.e_detector.betting import BETS, log_pay_offs
from monitor.detect.regression.e_detector.design_effect import Dependence

_SUMMED = 512
"""Batches, after which sums begin anew: a year of them would lose digits."""


@dataclass(frozen=True)
class Trajectory:
    """The evidence over a run of batches: of each bet after each step, the first of which is before all.

    `steps` are the steps that each batch of the run ends with; a batch without a value takes none.
    """

    sums: Floats
    logs: Floats
    steps: Integers
    log_share: float = 0.0
    """Of a mixture, that the evidence has."""

    @cached_property
    def log_detectors(self) -> Floats:
        """Logarithm of R of each bet after each step; shape (bets, steps)."""
        return self.sums + self.logs

    @cached_property
    def log_most(self) -> Floats:
        """At least the logarithm of the evidence after each batch; shape (batches,)."""
        return np.asarray(self.log_detectors.max(axis=0)[self.steps])

    def log_values(self, batches: Integers) -> Floats:
        """Logarithm of what the evidence has in the mixture after these batches; shape (batches,)."""
        of_bets = self.log_detectors[:, self.steps[batches]]
        return np.asarray(np.logaddexp.reduce(of_bets, axis=0) - np.log(len(BETS)) + self.log_share)


@dataclass(slots=True, init=False, eq=False)
class Evidence:
    """Shiryaev-Roberts e-detector for "since some batch the mean of the values is above its level".

    For each of the bets, `R_b = (1 + R_{b-1}) * prod_i (1 + c * w_i * (x_i / level_i - 1))`; the evidence is the
    mean of R over the bets. While the mean of the values at each level stays at or below it, the mean number of batches
    until the evidence first reaches A is at least A, whatever the distribution on [0, 1], however many of a batch are
    at which level, and whenever one looks (Shin, Ramdas and Rinaldo, "E-detectors", arXiv 2203.03532): a level
    and a weight are known before the value, so each factor is at most 1 on average. A fall of a mean is a rise
    of `1 - x`: with `level = 1 - m0` the factors are those of the paper, `1 + lambda * w * (m0 - x)`,
    lambda = c / (1 - m0).

    Conversations of one batch that depend on each other (`Dependence`) are taken for fewer: the logarithm of their
    product is divided by the design effect of their batch, which is known before. As it is 1 at least, the root of a
    factor that is at most 1 on average is that too.

    With `S_b`, the sum of the logarithms of the products up to batch b, `R_b = e^(S_b) * sum_(j <= b) e^(-S_(j-1))`:
    so the batches of a year are two running sums, and in any portions they give the same to the last bit.
    """

    _sums: Floats
    _logs: Floats
    _steps: int

    def __init__(self) -> None:
        self._sums, self._logs = np.zeros(len(BETS)), np.full(len(BETS), -np.inf)
        self._steps = 0

    def trajectory(
        self,
        values: Floats,
        weights: Floats,
        level: Floats | float,
        numbers: Integers,
        batches: int,
        share: float = 1.0,
        dependence: Dependence | None = None,
    ) -> Trajectory:
        """Return how it would go on with so many batches; `numbers` are those of the values' batches, in order.

        `level`, above 0, is one of all values or one of each, and may change from batch to batch if that is settled
        before. `share` is what the evidence has in a mixture. The order of a batch's values does not matter.
        """
        if not np.min(level, initial=1.0) > 0.0:
            raise ValueError(f"level is {np.min(level)} and must be above 0: a bet is a share of it")
        begins = begins_of(numbers)
        steps = np.searchsorted(numbers[begins], np.arange(batches), side="right")
        gains = np.add.reduceat(log_pay_offs(values, weights, level), begins, axis=1) if len(begins) else _NOTHING
        if dependence is not None and len(begins):
            gains = gains / dependence.effects(weights, numbers)
        sums = np.concatenate([self._sums[:, None], gains], axis=1)
        logs = np.concatenate([self._logs[:, None], np.empty_like(gains)], axis=1)
        for begin, end in pairwise([0, *range(_SUMMED - self._steps % _SUMMED, len(begins), _SUMMED), len(begins)]):
            part, after = slice(begin, end + 1), slice(begin + 1, end + 1)
            summed, grown = sums[:, part].copy(), sums[:, part].copy()
            first = logs[:, begin]
            if (self._steps + begin) % _SUMMED == 0:
                first, summed[:, 0] = sums[:, begin] + first, 0.0
            np.cumsum(summed, axis=1, out=summed)
            grown[:, 0], grown[:, 1:] = first, -summed[:, :-1]
            sums[:, after] = summed[:, 1:]
            logs[:, after] = np.logaddexp.accumulate(grown, axis=1)[:, 1:]
        return Trajectory(sums, logs, steps, math.log(share))

    def advance_to(self, trajectory: Trajectory, batch: int) -> None:
        """Move to the state after this batch of the trajectory."""
        step = trajectory.steps[batch]
        self._sums, self._logs = trajectory.sums[:, step].copy(), trajectory.logs[:, step].copy()
        self._steps += int(step)

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        return float(np.logaddexp.reduce(self._sums + self._logs) - np.log(len(BETS)))


_NOTHING = np.zeros((len(BETS), 0))
