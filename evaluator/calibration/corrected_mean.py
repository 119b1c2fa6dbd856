"""Mean of a metric, estimated from a judge's scores of all answers and people's labels of a few."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evaluator.calibration.agreement import Agreement
from evaluator.calibration.bootstrap import Estimate
from evaluator.calibration.labelled import Floats, LabelledRows

_NORMAL = NormalDist().inv_cdf(0.975)
_LABELS = (50, 100, 200, 300, 500, 1000, 2000)
_LEAST_INFORMATIVE = 0.1


@dataclass(frozen=True)
class Means:
    """Estimates of one mean, the share or the average score that people would give all answers.

    `judge` takes the judge's word for all answers; its interval says nothing of the judge's own error. `labels` takes
    the labelled answers alone. `corrected` joins both, `trust` (0 to 1) being how much of the judge is in it.
    `rogan_gladen` corrects a share of yes by the judge's rates, None where these say little.
    """

    judge: Estimate
    labels: Estimate
    corrected: Estimate
    trust: float | None
    rogan_gladen: float | None


@dataclass(frozen=True)
class MoreLabels:
    """How wide the intervals would be with so many labels."""

    labels: int
    corrected: float
    labels_alone: float


def means(rows: LabelledRows, agreed: Agreement) -> Means:
    """Estimate the mean label of all answers, with 95 % intervals.

    The labelled answers must be drawn at random from all, or with known probabilities (`weight`): labels that people
    give as they please, such as likes, say nothing of the answers that nobody rated.

    Formula: corrected = trust * mean(f on the unlabelled) + mean(Y - trust * f on the labelled) with f the score, Y
    the label and trust = cov(Y, f) / ((1 + n / N) var(f)), kept in 0..1, for n labelled and N unlabelled answers;
    variance = trust^2 var(f) / N + var(Y - trust * f) / n. Source: PPI++, arXiv 2311.01453. Variances are those of
    sums over questions, since answers to one are not independent, and means are weighted (Hajek); the quantile is
    Student's for the number of labelled questions. Rogan and Gladen, Am. J. Epidemiol. 107 (1978):
    (observed + TNR - 1) / (TPR + TNR - 1).
    """
    known = ~np.isnan(rows.label)
    labelled, unlabelled = rows.where(known), rows.where(~known)
    quantile = _student(labelled.questions - 1)
    alone = _mean(labelled, labelled.label)
    judge = _interval(_mean(rows, rows.score), _variance(rows, rows.score), _student(rows.questions - 1))
    labels = _interval(alone, _variance(labelled, labelled.label), quantile)
    trust = _trust(labelled, unlabelled)
    corrected = labels
    if trust is not None and alone is not None:
        residual = labelled.label - trust * labelled.score
        shift = _mean(labelled, residual)
        rest = _mean(unlabelled, unlabelled.score)
        variance = trust**2 * _variance(unlabelled, unlabelled.score) + _variance(labelled, residual)
        if shift is not None and rest is not None:
            corrected = _interval(trust * rest + shift, variance, quantile)
    return Means(judge, labels, corrected, trust, _rogan_gladen(rows, agreed))


def more_labels(rows: LabelledRows, found: Means) -> list[MoreLabels]:
    """Say what more labels would buy, by the variances seen so far; labels are taken from the unlabelled answers."""
    known = ~np.isnan(rows.label)
    labelled, unlabelled = rows.where(known), rows.where(~known)
    if found.trust is None or labelled.questions < 2:
        return []
    n, total = len(labelled), len(rows)
    y = _variance(labelled, labelled.label) * n
    f = _variance(unlabelled, unlabelled.score) * len(unlabelled)
    both = _covariance(labelled, labelled.label, labelled.score) * n
    result = []
    for labels in _LABELS:
        if n < labels < total:
            rest = total - labels
            trust = min(1.0, max(0.0, both / (f * (1 + labels / rest)))) if f > 0 else 0.0
            variance = trust**2 * f / rest + max(0.0, y - 2 * trust * both + trust**2 * f) / labels
            quantile = _student(labels - 1)
            widths = 2 * quantile * np.sqrt(variance), 2 * quantile * np.sqrt(y / labels)
            result.append(MoreLabels(labels, float(widths[0]), float(widths[1])))
    return result


def _trust(labelled: LabelledRows, unlabelled: LabelledRows) -> float | None:
    if labelled.questions < 2 or not len(unlabelled):
        return None
    variance = _variance(labelled, labelled.score) + _variance(unlabelled, unlabelled.score)
    if variance <= 0:
        return 0.0
    return float(np.clip(_covariance(labelled, labelled.label, labelled.score) / variance, 0.0, 1.0))


def _rogan_gladen(rows: LabelledRows, agreed: Agreement) -> float | None:
    observed = _mean(rows, (rows.score >= rows.threshold).astype(np.float64))
    tpr, tnr = agreed.tpr.value, agreed.tnr.value
    if observed is None or tpr is None or tnr is None or tpr + tnr - 1 < _LEAST_INFORMATIVE:
        return None
    return float(np.clip((observed + tnr - 1) / (tpr + tnr - 1), 0.0, 1.0))


def _mean(rows: LabelledRows, values: Floats) -> float | None:
    return float(np.average(values, weights=rows.weight)) if len(rows) else None


def _variance(rows: LabelledRows, values: Floats) -> float:
    return _covariance(rows, values, values)


def _covariance(rows: LabelledRows, x: Floats, y: Floats) -> float:
    """Covariance of two weighted means, by sums over questions."""
    questions = rows.questions
    if questions < 2:
        return 0.0
    sums = [
        np.bincount(rows.question, rows.weight * (values - np.average(values, weights=rows.weight)), questions)
        for values in (x, y)
    ]
    return float(sums[0] @ sums[1] / rows.weight.sum() ** 2 * questions / (questions - 1))


def _interval(value: float | None, variance: float, quantile: float) -> Estimate:
    if value is None or not np.isfinite(quantile):
        return Estimate(value)
    half = quantile * float(np.sqrt(variance))
    return Estimate(value, value - half, value + half)


def _student(degrees: int) -> float:
    """The 97.5 % quantile of Student's t; Abramowitz and Stegun 26.7.5, right to 0.01 from 3 degrees of freedom on."""
    if degrees < 3:
        return float("inf")
    z = _NORMAL
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    total: float = z + sum(term / degrees**power for power, term in enumerate(terms, 1))
    return total
