"""The e-detector: evidence, gathered batch by batch, that a mean has moved above a level."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from monitor.regression.betting import BETS, Floats, log_capital, log_mean_exp

ALL = -1
"""Number that stands for all segments together."""


class Evidence:
    """Shiryaev-Roberts e-detector for "since some batch the mean of the values is above its level".

    For each of the bets, `R_b = (1 + R_{b-1}) * prod_i (1 + c * w_i * (x_i / level_i - 1))`; the evidence is the
    mean of R over the bets. While the mean of the values at each level stays at or below it, the mean number of batches
    until the evidence first reaches A is at least A, whatever the distribution on [0, 1], however many of a batch are
    at which level, and whenever one looks (Shin, Ramdas and Rinaldo, "E-detectors", arXiv 2203.03532): a level
    and a weight are known before the value, so each factor is at most 1 on average. A fall of a mean is a rise
    of `1 - x`: with `level = 1 - m0` the factors are those of the paper, `1 + lambda * w * (m0 - x)`,
    lambda = c / (1 - m0).
    """

    def __init__(self) -> None:
        self._log_detector = np.full(len(BETS), -np.inf)

    def add(self, values: Floats, weights: Floats, level: Floats | float) -> None:
        """Add one batch; the order of its values does not matter.

        `level`, one of all or one of each, may change if that is settled before the batch.
        """
        if not np.min(level) > 0.0:
            raise ValueError(f"level is {level} and must be above 0: a bet is a share of it")
        self._log_detector = np.logaddexp(0.0, self._log_detector) + log_capital(values, weights, level)

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        return log_mean_exp(self._log_detector)


@dataclass(frozen=True, slots=True)
class Bets:
    """What is bet on in one batch: values in [0, 1], weights in (0, 1], and of each its segment's number and level.

    `slack` is how much lower the levels are where all segments are bet on together, see `slack_of`.
    """

    values: Floats
    weights: Floats
    levels: Floats
    segments: NDArray[np.intp]
    slack: float = 0.0

    @property
    def mirrored(self) -> Self:
        """Give those that the mean is below the levels."""
        return replace(self, values=1.0 - self.values, levels=1.0 - self.levels, slack=-self.slack)

    def on(self, part: int, evidence: Evidence) -> None:
        """Add to the evidence of one segment, or of `ALL`, those on it, if there are any."""
        if part == ALL and not self.slack:
            evidence.add(self.values, self.weights, self.levels)
            return
        if part == ALL:
            # To lower the levels would change the bets, which the slack was worked out for; and to raise the values
            # by less than nothing might lose more than there is.
            higher, lower = max(self.slack, 0.0), min(self.slack, 0.0)
            evidence.add(self.values + higher, self.weights, self.levels - lower)
            return
        of_it = self.segments == part
        if of_it.any():
            evidence.add(self.values[of_it], self.weights[of_it], self.levels[of_it])


def slack_of(bets: Bets, levels: Floats, shares: Floats, level: float) -> float:
    """Give how much lower the levels of a batch's bets may be, as the mean of all is known better than each.

    `levels` are those of the segments, which had these `shares` when `level` was found for all of them together.
    Given the segments and weights of a batch, its product has the mean `prod_i (1 + c * w_i * (mu_i / level_i - 1))`,
    at most `exp(c * sum_s a_s * (mu_s - level_s))` with `a_s = sum_(i in s) w_i / level_s`: so it is at most 1 where
    `sum_s a_s * mu_s <= sum_s a_s * level_s`, even if one mean is above its level. Of `a` the part
    `theta * shares`, theta being the smallest `a_s / shares_s`, is bounded by `theta * level`, and the rest by the
    segments' own levels.
    """
    gap = float(shares[shares > 0.0] @ levels[shares > 0.0]) - level
    if not gap > 0.0:
        return 0.0
    stakes = np.bincount(bets.segments, bets.weights / bets.levels, len(levels))
    theta = float((stakes[shares > 0.0] / shares[shares > 0.0]).min())
    return theta * gap / float(stakes.sum()) if len(bets.values) else 0.0


class Mixture:
    """Evidence that the mean of some segment is above its level: `R_all / 2 + sum_s R_s / (2 * segments)`.

    So a change of one small segment is not lost among the others. A mean of e-detectors is one. Where there is but
    one segment it is `R_all`. `segments` may grow from one to more: the new ones begin at 0, and what `R_all` gives up
    they may have.
    """

    def __init__(self) -> None:
        self._parts: dict[int, Evidence] = {}
        self._segments = 1

    def add(self, bets: Bets, segments: int) -> None:
        """Add one batch of at least one bet; a segment without any in it stays as it is."""
        self._segments = segments
        for part in (ALL, *(np.unique(bets.segments).tolist() if segments > 1 else ())):
            bets.on(part, self._parts.setdefault(part, Evidence()))

    @property
    def log_parts(self) -> dict[int, float]:
        """Natural logarithm of what each part has in the mixture, by number of the segment or `ALL`."""
        return {part: evidence.log_value + self._log_share(part) for part, evidence in self._parts.items()}

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        parts = list(self.log_parts.values())
        if len(parts) < 2:
            return parts[0] if parts else -math.inf
        return float(np.logaddexp.reduce(parts))

    def _log_share(self, part: int) -> float:
        if self._segments == 1:
            return 0.0
        return -math.log(2.0) if part == ALL else -math.log(2.0 * self._segments)


class Alarm:
    """Goes on when the evidence of a mean above its level reaches a threshold, and off on as much against it.

    The evidence against it is that of the mirror image for each part of the mixture that had the most when it went on,
    or has reached the threshold alone since: otherwise those segments that are well would end the alarm of one that is
    not. It restarts with every batch, as that for it does. A confidence sequence of the mean from the alarm on would
    first have to outweigh all that came before the recovery: a bad week would take weeks to end.
    """

    def __init__(self, log_threshold: float) -> None:
        self._log_threshold = log_threshold
        self._for = Mixture()
        self._against: dict[int, Evidence] = {}
        self.is_on = False

    @property
    def log_evidence(self) -> float:
        """Natural logarithm of the evidence for it; -inf without any."""
        return self._for.log_value

    @property
    def log_evidence_against(self) -> float:
        """Natural logarithm of the evidence that it is over, or that the last one is; -inf before the first."""
        return min((one.log_value for one in self._against.values()), default=-math.inf)

    @property
    def leading(self) -> int:
        """The part of the mixture with the most evidence for it: the number of a segment, or `ALL`."""
        parts = self._for.log_parts
        return max(parts, key=lambda part: parts[part], default=ALL)

    def add(self, bets: Bets, segments: int = 1) -> Literal["on", "off"] | None:
        """Add one batch; gives what changed. Without a bet it is no batch."""
        if not len(bets.values):
            return None
        self._for.add(bets, segments)
        if not self.is_on:
            return self._begin() if self.log_evidence >= self._log_threshold else None
        against = bets.mirrored
        for part, evidence in self._against.items():
            against.on(part, evidence)
        self._against |= {part: Evidence() for part in self._convinced() if part not in self._against}
        if self.log_evidence_against < self._log_threshold:
            return None
        self._for, self.is_on = Mixture(), False
        return "off"

    def _begin(self) -> Literal["on"]:
        self._against = {part: Evidence() for part in {*self._convinced(), self.leading}}
        self.is_on = True
        return "on"

    def _convinced(self) -> list[int]:
        return [part for part, log_value in self._for.log_parts.items() if log_value >= self._log_threshold]
