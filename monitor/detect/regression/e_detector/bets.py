"""Bets on the conversations of many batches, each at its segment's level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Integers
from monitor.detect.regression.e_detector.design_effect import Dependence

ALL = -1
"""Number that stands for all segments together."""


@dataclass(frozen=True, slots=True)
class Bets:
    """Bets in a run of so many `batches`: values in [0, 1], weights in (0, 1], and of each its segment's number, its
    level and its batch, these in order.

    `slack` is how much lower the levels of each batch are where all segments are bet on together, see `slack_of`, and
    `dependence` how the conversations of a batch depend on each other; None where they are independent.
    """

    values: Floats
    weights: Floats
    levels: Floats
    segments: Integers
    numbers: Integers
    batches: int = 1
    slack: Floats | None = None
    dependence: Dependence | None = None

    @property
    def mirrored(self) -> Self:
        """The bets that the mean is below the levels."""
        slack = None if self.slack is None else -self.slack
        return replace(self, values=1.0 - self.values, levels=1.0 - self.levels, slack=slack)

    def where(self, chosen: NDArray[np.bool_] | bool) -> Self:
        """Return the bets that are chosen; `chosen` has shape (bets,)."""
        if np.all(chosen):
            return self
        return self._of(np.flatnonzero(np.broadcast_to(chosen, self.values.shape)))

    def between(self, first: int, after: int) -> Self:
        """Return the batches from the `first` to the one before `after`."""
        begin, end = np.searchsorted(self.numbers, [first, after])
        found = self._of(slice(begin, end))
        slack = None if self.slack is None else self.slack[first:after]
        dependence = self.dependence and self.dependence.between(first, after)
        return replace(found, numbers=found.numbers - first, batches=after - first, slack=slack, dependence=dependence)

    def on(self, part: int) -> tuple[Floats, Floats, Floats, Integers]:
        """Return values, weights, levels and batches of those on one segment, or on `ALL`."""
        if part != ALL:
            of_it = self.segments == part
            return self.values[of_it], self.weights[of_it], self.levels[of_it], self.numbers[of_it]
        if self.slack is None:
            return self.values, self.weights, self.levels, self.numbers
        # To lower the levels would change the bets, which the slack was worked out for; and to raise the values
        # by less than nothing might lose more than there is.
        slack = self.slack[self.numbers]
        return self.values + np.maximum(slack, 0.0), self.weights, self.levels - np.minimum(slack, 0.0), self.numbers

    def _of(self, places: Integers | slice) -> Self:
        values, weights, levels = self.values[places], self.weights[places], self.levels[places]
        return replace(
            self,
            values=values,
            weights=weights,
            levels=levels,
            segments=self.segments[places],
            numbers=self.numbers[places],
        )


def slack_of(bets: Bets, levels: Floats, shares: Floats, level: float) -> Floats | None:
    """Return how much lower the levels of each batch's bets may be, as the mean of all is known better than each.

    `levels` are those of the segments, which had these `shares` when `level` was found for all of them together.
    Given the segments and weights of a batch, its product has the mean `prod_i (1 + c * w_i * (mu_i / level_i - 1))`,
    at most `exp(c * sum_s a_s * (mu_s - level_s))` with `a_s = sum_(i in s) w_i / level_s`: so it is at most 1 where
    `sum_s a_s * mu_s <= sum_s a_s * level_s`, even if one mean is above its level. Of `a` the part
    `theta * shares`, theta being the smallest `a_s / shares_s`, is bounded by `theta * level`, and the rest by the
    segments' own levels. None where nothing is known better.
    """
    there = shares > 0.0
    gap = float(shares[there] @ levels[there]) - level
    if not gap > 0.0:
        return None
    size = len(levels)
    stakes = np.bincount(bets.numbers * size + bets.segments, bets.weights / bets.levels, bets.batches * size)
    stakes = stakes.reshape(bets.batches, size)
    theta, total = (stakes[:, there] / shares[there]).min(axis=1), stakes.sum(axis=1)
    return np.asarray(np.divide(theta * gap, total, out=np.zeros(bets.batches), where=total > 0.0))
