"""Agreement of a judge's scores with people's labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluator.calibration.bootstrap import Estimate, Statistic, bootstrapped, divided, weighted_mean
from evaluator.calibration.labelled import PASS_THRESHOLD, Floats, LabelledRows


@dataclass(frozen=True)
class Agreement:
    """A judge beside people, on the answers that both have scored.

    `kappa` is Cohen's, of yes and no; `weighted_kappa` the one with quadratic weights, of the scores as they are.
    `tpr` is the share of what people pass that the judge passes, `tnr` the share of what they do not pass that it does
    not; `prevalence` the share that people pass. With few failures kappa is low although `accuracy` is high: look at
    all of them. `auroc` is how probable it is that an answer that people pass has the higher score.
    """

    answers: int
    questions: int
    prevalence: Estimate
    accuracy: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    tpr: Estimate
    tnr: Estimate
    auroc: Estimate


@dataclass(frozen=True)
class Difference:
    """Another judge less this one, on the same answers. `accepted` says whether the other may take its place."""

    kappa: Estimate
    tpr: Estimate
    tnr: Estimate
    accepted: bool


LEAST_KAPPA_DIFFERENCE = -0.03
LEAST_RATE_DIFFERENCE = -0.02


def agreement(rows: LabelledRows, seed: int = 0) -> Agreement:
    """Compare scores with labels, yes or no by `rows.threshold` and by 0.5; intervals by bootstrap over questions.

    Cohen, Educ. Psychol. Meas. 20 (1960): kappa = (observed agreement - agreement by chance) / (1 - that by chance).
    With quadratic weights it is 1 - mean of (x - y)^2 / mean of (x - y)^2 over all pairs of answers, which is the same
    for yes and no (Cohen 1968). Rows without a label are left out.
    """
    labelled = rows.where(~np.isnan(rows.label))
    judged, passed = _yes(labelled.score, rows.threshold), _yes(labelled.label)
    statistics: dict[str, Statistic] = {
        "prevalence": partial(weighted_mean, passed),
        "accuracy": partial(weighted_mean, 1.0 - abs(judged - passed)),
        "kappa": partial(_kappa, judged, passed),
        "weighted_kappa": partial(_kappa, labelled.score, labelled.label),
        "tpr": partial(_rate, judged, passed),
        "tnr": partial(_rate, 1.0 - judged, 1.0 - passed),
        "auroc": _auroc(labelled.score, passed),
    }
    return Agreement(len(labelled), labelled.questions, **bootstrapped(statistics, labelled, seed))


def difference(rows: LabelledRows, other: Floats, seed: int = 0) -> Difference:
    """Compare another judge's scores of the same answers with these, both by `rows.threshold`.

    It is accepted where the interval of the difference in kappa stays above -0.03 and neither rate drops by 2 points
    or more. Rows without a label or without the other's score are left out.
    """
    chosen = ~np.isnan(rows.label) & ~np.isnan(other)
    both = rows.where(chosen)
    mine, theirs = _yes(both.score, rows.threshold), _yes(other[chosen], rows.threshold)
    passed = _yes(both.label)

    found = bootstrapped(
        {
            "kappa": lambda w: _kappa(theirs, passed, w) - _kappa(mine, passed, w),
            "tpr": lambda w: _rate(theirs, passed, w) - _rate(mine, passed, w),
            "tnr": lambda w: _rate(1 - theirs, 1 - passed, w) - _rate(1 - mine, 1 - passed, w),
        },
        both,
        seed,
    )
    kappa, tpr, tnr = found["kappa"], found["tpr"], found["tnr"]
    rates = [rate.value for rate in (tpr, tnr)]
    accepted = (
        kappa.low is not None
        and kappa.low > LEAST_KAPPA_DIFFERENCE
        and all(rate is not None and rate > LEAST_RATE_DIFFERENCE for rate in rates)
    )
    return Difference(kappa, tpr, tnr, accepted)


def _yes(values: Floats, threshold: float = PASS_THRESHOLD) -> Floats:
    return (values >= threshold).astype(np.float64)


def _rate(judged: Floats, passed: Floats, weights: Floats) -> Floats:
    return divided(weights @ (judged * passed), weights @ passed)


def _kappa(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    x_mean, y_mean = divided(weights @ x, total), divided(weights @ y, total)
    apart = divided(weights @ (x - y) ** 2, total)
    # The mean over all pairs, by the means and the means of squares.
    by_chance = divided(weights @ x**2, total) + divided(weights @ y**2, total) - 2.0 * x_mean * y_mean
    return 1.0 - divided(apart, by_chance)


def _auroc(score: Floats, passed: Floats) -> Statistic:
    """Mann and Whitney's statistic; equal scores count half."""
    order = np.argsort(score, kind="stable")
    passed = passed[order]
    starts = np.flatnonzero(np.diff(score[order], prepend=-1.0))

    def of(weights: Floats) -> Floats:
        weights = weights[:, order]
        good = np.add.reduceat(weights * passed, starts, axis=1)
        bad = np.add.reduceat(weights * (1.0 - passed), starts, axis=1)
        below = np.cumsum(bad, axis=1) - bad / 2.0
        return divided((good * below).sum(axis=1), good.sum(axis=1) * bad.sum(axis=1))

    return of
