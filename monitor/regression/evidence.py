"""The e-detector: evidence, gathered batch by batch, that a mean has moved above a level."""

from __future__ import annotations

from typing import Literal

import numpy as np

from monitor.regression.betting import BETS, Floats, log_capital, log_mean_exp


class Evidence:
    """Shiryaev-Roberts e-detector for "since some batch the mean of the values is above `level`".

    For each of the bets, `R_b = (1 + R_{b-1}) * prod_i (1 + c * w_i * (x_i / level - 1))`; the evidence is the
    mean of R over the bets. While the mean stays at or below `level`, the mean number of batches until the
    evidence first reaches A is at least A, whatever the distribution on [0, 1] and whenever one looks (Shin,
    Ramdas and Rinaldo, "E-detectors", arXiv 2203.03532). A fall of a mean is a rise of `1 - x`: with
    `level = 1 - m0` the factors are those of the paper, `1 + lambda * w * (m0 - x)`, lambda = c / (1 - m0).
    """

    def __init__(self) -> None:
        self._log_detector = np.full(len(BETS), -np.inf)

    def add(self, values: Floats, weights: Floats, level: float) -> None:
        """Add one batch; the order of its values does not matter. `level` may change if that is settled before it."""
        if not level > 0.0:
            raise ValueError(f"level is {level} and must be above 0: a bet is a share of it")
        self._log_detector = np.logaddexp(0.0, self._log_detector) + log_capital(values, weights, level)

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        return log_mean_exp(self._log_detector)


class Alarm:
    """Goes on when the evidence of a mean above a level reaches a threshold, and off on as much against it.

    The evidence against it restarts with every batch, as that for it does. A confidence sequence of the mean from the
    alarm on would first have to outweigh all that came before the recovery: a bad week would take weeks to end.
    """

    def __init__(self, log_threshold: float) -> None:
        self._log_threshold = log_threshold
        self._for, self._against = Evidence(), Evidence()
        self.is_on = False

    @property
    def log_evidence(self) -> float:
        """Natural logarithm of the evidence for it; -inf without any."""
        return self._for.log_value

    @property
    def log_evidence_against(self) -> float:
        """Natural logarithm of the evidence that it is over; -inf while it is off."""
        return self._against.log_value

    def add(self, values: Floats, weights: Floats, level: float) -> Literal["on", "off"] | None:
        """Add one batch of values in [0, 1]; gives what changed."""
        self._for.add(values, weights, level)
        if self.is_on:
            self._against.add(1.0 - values, weights, 1.0 - level)
            if self.log_evidence_against < self._log_threshold:
                return None
            self._for, self.is_on = Evidence(), False
            return "off"
        if self.log_evidence < self._log_threshold:
            return None
        self._against, self.is_on = Evidence(), True
        return "on"
