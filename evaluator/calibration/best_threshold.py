"""Threshold from which on a judge's score is best taken for a yes, by people's labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evaluator.calibration.agreement import Agreement, agreement
from evaluator.calibration.bootstrap import Estimate, bootstrapped, divided, estimate_of, resampled_weights
from evaluator.calibration.labelled import PASS_THRESHOLD, Floats, LabelledRows

_MOST_CUTS = 200
"""Of more scores as many, evenly spread, are tried: enough beside what labels can tell apart."""


@dataclass(frozen=True)
class BestThreshold:
    """The least score that is a yes with which judge and people agree most, and how well they do then.

    `balanced_accuracy`, the mean of TPR and TNR, is that of labels that the threshold was not chosen by. `agreement` is
    that of all labels, and so a little too good.
    """

    threshold: Estimate
    balanced_accuracy: Estimate
    agreement: Agreement


def best_threshold(rows: LabelledRows, seed: int = 0) -> BestThreshold | None:
    """Return the threshold of the greatest balanced accuracy; None where all labels or all scores are the same.

    Thresholds lie in the middle between two scores; of several that are equally good the one nearest to
    `rows.threshold` is taken. Its interval has the best thresholds of resampled questions. The balanced accuracy is the
    mean over these samples of that of the questions which are not in the sample (out of bag; Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993), with the quantiles of these.
    """
    labelled = rows.where(~np.isnan(rows.label))
    cuts = _cuts(labelled.score, rows.threshold)
    passed = (labelled.label >= PASS_THRESHOLD).astype(np.float64)
    if not len(cuts) or passed.min() == passed.max():
        return None
    accuracies = _balanced_accuracies(labelled, passed, cuts)

    def best(weights: Floats) -> Floats:
        found = accuracies(weights)
        return np.where(np.isnan(found).all(axis=1), np.nan, cuts[np.nanargmax(np.nan_to_num(found, nan=-1.0), axis=1)])

    threshold = bootstrapped({"best": best}, labelled, seed)["best"]
    assert threshold.value is not None  # noqa: S101 - both labels are there
    value = float(threshold.value)
    agreed = agreement(replace(labelled, threshold=value), seed)
    return BestThreshold(threshold, _out_of_bag(labelled, accuracies, seed), agreed)


def _cuts(score: Floats, usual: float) -> Floats:
    """Return the middles between two scores, those first that are nearest to the usual threshold.

    The usual one stands for its middle where it lies between the same scores.
    """
    distinct = np.unique(score)
    if len(distinct) > _MOST_CUTS:
        distinct = distinct[np.linspace(0, len(distinct) - 1, _MOST_CUTS).astype(np.int64)]
    below, above = distinct[:-1], distinct[1:]
    middles = np.round((below + above) / 2, 3)
    middles = np.where((middles <= below) | (middles > above), above, middles)
    cuts = np.where((below < usual) & (usual <= above), usual, middles)
    return np.asarray(cuts[np.argsort(np.round(abs(cuts - usual), 9), kind="stable")], dtype=np.float64)


def _balanced_accuracies(rows: LabelledRows, passed: Floats, cuts: Floats) -> Callable[[Floats], Floats]:
    """Return the function from weights (resamples, rows) to the balanced accuracy of each cut (resamples, cuts)."""
    judged = (rows.score[:, np.newaxis] >= cuts).astype(np.float64)

    def of(weights: Floats) -> Floats:
        good, bad = weights * passed, weights * (1.0 - passed)
        tpr = divided(good @ judged, np.broadcast_to(good.sum(axis=1)[:, np.newaxis], (len(weights), len(cuts))))
        tnr = divided(bad @ (1.0 - judged), np.broadcast_to(bad.sum(axis=1)[:, np.newaxis], (len(weights), len(cuts))))
        return (tpr + tnr) / 2.0

    return of


def _out_of_bag(rows: LabelledRows, accuracies: Callable[[Floats], Floats], seed: int) -> Estimate:
    found = []
    for drawn in resampled_weights(rows, seed) if rows.questions > 1 else ():
        inside, outside = accuracies(drawn), accuracies(rows.weight * (drawn == 0))
        chosen = np.nan_to_num(inside, nan=-1.0).argmax(axis=1)
        values = outside[np.arange(len(outside)), chosen]
        found.append(np.where(np.isnan(inside).all(axis=1), np.nan, values))
    whole = np.concatenate([np.empty(0), *found])
    known = whole[np.isfinite(whole)]
    return estimate_of(float(known.mean()), found) if len(known) else Estimate(None)
