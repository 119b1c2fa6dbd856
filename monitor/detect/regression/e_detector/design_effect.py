"""Design effect of batches: by how much more their means vary than those of independent conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from monitor.detect.regression.arrays import Floats, Integers, begins_of

_LEAST_PAIRS = 12
_ERRORS = 2.0
"""By how many standard errors the correlation is taken smaller than it was seen."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """What is known before each batch of a run of how the conversations of a batch, and of a day, depend on each other.

    `correlations` are the intraclass correlations of the batches before; `day_effect` is the design effect of days.
    """

    correlations: Floats
    day_effect: float = 1.0

    def between(self, first: int, after: int) -> Self:
        """Return that of the batches from the `first` to the one before `after`."""
        return type(self)(self.correlations[first:after], self.day_effect)

    def effects(self, weights: Floats, numbers: Integers) -> Floats:
        """Return the design effect of each batch that has values; `numbers` are the batches of these `weights`.

        The effective number of its conversations is `sum(w)^2 / sum(w^2)` (Kish, "Survey Sampling", 1965).
        """
        begins = begins_of(numbers)
        mass, squares = np.add.reduceat(weights, begins), np.add.reduceat(weights**2, begins)
        return design_effect(self.correlations[numbers[begins]], mass**2 / squares, self.day_effect)


def design_effect(correlation: Floats | float, conversations: Floats | float, day_effect: float) -> Floats:
    """Return `1 + correlation * (n - 1)` of batches of n conversations, that of days where it is greater."""
    return np.asarray(np.maximum(1.0 + correlation * (conversations - 1.0), day_effect))


@dataclass(slots=True, init=False, eq=False)
class BatchCorrelation:
    """Sums of batches, from which the correlation of the conversations of one batch follows.

    It is that of the differences between a batch and the one before, so that a fall makes one difference of many.
    """

    _sums: Floats
    _last: Floats | None

    def __init__(self) -> None:
        self._sums = np.zeros(10)
        self._last = None
        """Of the last batch: the sums of w, w x and w^2."""

    def add(self, values: Floats, weights: Floats, numbers: Integers) -> None:
        """Add batches in order of time; `numbers` are those of the values' batches."""
        batches = _sums_of(values, weights, numbers)
        self._sums = self._after_each(batches)[-1].copy()
        self._last = batches[-1, :3].copy()

    def before_each(self, values: Floats, weights: Floats, numbers: Integers) -> Floats:
        """Return the correlation as it is known before each of these batches; shape (batches,)."""
        return _correlations(self._after_each(_sums_of(values, weights, numbers))[:-1])

    @property
    def latest(self) -> float:
        """Correlation of all batches so far, from 0 to 1: two standard errors less than was seen; 0 of few batches."""
        return float(_correlations(self._sums[None])[0])

    def _after_each(self, batches: Floats) -> Floats:
        """Return the sums of now and those after each batch; shape (batches + 1, sums)."""
        known = np.empty((0, 3)) if self._last is None else self._last[None]
        mass, sums, squares = np.vstack([known, batches[:, :3]]).T
        change, of_sums = np.diff(mass), np.diff(sums)
        alone, together = squares[1:] + squares[:-1], mass[1:] ** 2 + mass[:-1] ** 2
        columns = (np.ones(len(change)), of_sums**2, of_sums * change, change**2, alone, alone**2, together)
        pairs = np.zeros((len(batches), 7))
        pairs[len(batches) - len(change) :] = np.stack(columns, axis=1)
        # One after the other, so that the portions in which they come do not matter.
        return np.asarray(np.cumsum(np.vstack([self._sums, np.hstack([pairs, batches[:, 2:]])]), axis=0))


def _sums_of(values: Floats, weights: Floats, numbers: Integers) -> Floats:
    """Return the sums of w, w x, w^2, w^2 x and w^2 x^2 of each batch; shape (batches, 5)."""
    squares = weights**2
    columns = np.stack([weights, weights * values, squares, squares * values, squares * values**2], axis=1)
    return np.asarray(np.add.reduceat(columns, begins_of(numbers), axis=0))


def _correlations(sums: Floats) -> Floats:
    """Return the correlation by each row of sums.

    Two neighbouring batches, of weights W and W' with squares Q and Q', differ in their sums of residuals by a square
    of `v * (Q + Q' + correlation * (W^2 + W'^2 - Q - Q'))` on average, v being the variance of one conversation.
    """
    pairs, of_sums, both, change, alone, alone_squares, together, squares, products, second = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = products / squares
        variance = second / squares - mean**2
        seen = of_sums - 2.0 * mean * both + mean**2 * change
        # The variance of a sum of squared differences of which two share a batch, for normal values.
        error = variance * np.sqrt(3.0 * alone_squares)
        found = (seen - variance * alone - _ERRORS * error) / (variance * (together - alone))
    return np.where((pairs >= _LEAST_PAIRS) & np.isfinite(found), np.clip(found, 0.0, 1.0), 0.0)
