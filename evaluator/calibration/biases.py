"""Biases of a judge: what its scores should not depend on, such as chance, the order of the chunks, and length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluator.calibration.bootstrap import Estimate, bootstrapped, weighted_mean
from evaluator.calibration.labelled import Floats, LabelledRows


@dataclass(frozen=True)
class Repeatability:
    """The same answers scored several times.

    `same` is the share of answers whose scores are all yes (`Rows.threshold` or more) or all no; `deviation` the root
    of the mean variance of an answer's scores.
    """

    answers: int
    draws: int
    same: Estimate
    deviation: float | None


def repeatability(rows: LabelledRows, draws: Floats, seed: int = 0) -> Repeatability:
    """Compare draws (answers, draws) with each other; answers that lack a score in a draw are left out.

    Draws of one prompt show how far chance goes, draws with the chunks in other orders how far their positions do.
    """
    whole = np.asarray(~np.isnan(draws).any(axis=1))
    chosen, draws = rows.where(whole), draws[whole]
    if not len(draws) or draws.shape[1] < 2:
        return Repeatability(len(draws), draws.shape[1], Estimate(None), None)
    yes = draws >= rows.threshold
    same = np.asarray(yes.all(axis=1) | ~yes.any(axis=1), dtype=np.float64)
    share = bootstrapped({"same": partial(weighted_mean, same)}, chosen, seed)["same"]
    return Repeatability(len(draws), draws.shape[1], share, float(np.sqrt(draws.var(axis=1, ddof=1).mean())))


def length_bias(rows: LabelledRows, seed: int = 0) -> Estimate:
    """How much more the judge gives to longer answers than people do: above 0 where it favours them, -1 to 1.

    Formula: mean of (score - label) over the longer half of the labelled answers less that over the others; the halves
    are parted at the median number of words. None where lengths are unknown or all the same.
    """
    known = rows.where(~np.isnan(rows.label) & ~np.isnan(rows.length))
    median = np.median(known.length) if len(known) else np.nan
    longer = (known.length > median).astype(np.float64)
    excess = known.score - known.label

    def of(weights: Floats) -> Floats:
        return weighted_mean(excess, weights * longer) - weighted_mean(excess, weights * (1 - longer))

    return bootstrapped({"bias": of}, known, seed)["bias"]
