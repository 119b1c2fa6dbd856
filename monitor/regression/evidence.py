"""The e-detector: evidence, gathered batch by batch, that a mean has moved above a level."""

from __future__ import annotations

from datetime import datetime

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

    def __init__(self, level: float) -> None:
        if not level > 0.0:
            raise ValueError(f"level is {level} and must be above 0: a bet is a share of it")
        self._level = level
        self._log_detector = np.full(len(BETS), -np.inf)
        self._log_cusum = np.zeros(len(BETS))
        self._starts: list[datetime | None] = [None] * len(BETS)

    def add(self, values: Floats, weights: Floats, start: datetime) -> None:
        """Add one batch that begins at `start`; the order of its values does not matter."""
        gains = log_capital(values, weights, self._level)
        self._log_detector = np.logaddexp(0.0, self._log_detector) + gains
        begins_here = self._log_cusum <= 0.0
        self._starts = [start if here else old for here, old in zip(begins_here, self._starts, strict=True)]
        self._log_cusum = np.maximum(self._log_cusum, 0.0) + gains

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        return log_mean_exp(self._log_detector)

    @property
    def since(self) -> datetime | None:
        """Start of the best supported segment: of all bets and first batches the one that has won most (CUSUM)."""
        return self._starts[int(np.argmax(self._log_cusum))]
