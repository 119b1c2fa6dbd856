"""Paired comparison of a run with its baseline, case by case, by each metric that scored both."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluator.replays.signed_rank import probability_of_worse
from lake import CASE_PASSED

_Z = 1.96
_SMALLEST = 1e-9
Scores = Mapping[str, Mapping[str, float]]
"""Values by case and metric, higher is better."""


class Outcome(StrEnum):
    """How a case changed since the baseline."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"


@dataclass(frozen=True)
class MetricComparison:
    """One metric of both runs. `mean_difference` has a 95 % interval by the normal approximation.

    `probability` is that of differences as bad as these where nothing changed (`signed_rank`); `level` is what it must
    come to for a regression.
    """

    metric: str
    pairs: int
    before: float
    after: float
    mean_difference: float
    lower: float
    upper: float
    probability: float
    level: float

    @property
    def is_worse(self) -> bool:
        """Whether it shows a regression."""
        return self.mean_difference < 0 and self.probability <= self.level

    @property
    def needed_pairs(self) -> int:
        """So many cases must be answered worse, and none better, for a regression: each halves the probability."""
        return math.ceil(-math.log2(self.level))


@dataclass(frozen=True)
class CaseChange:
    """A case of both runs: the sum of its differences over the metrics, and what became of it.

    `stopped_passing` says that it agreed with its case before, and does not now.
    """

    case_id: str
    difference: float
    is_answered: bool = True
    stopped_passing: bool = False

    @property
    def outcome(self) -> Outcome:
        """Better, worse, or the same; a case that was answered before and is not now is worse."""
        if not self.is_answered:
            return Outcome.WORSE
        if abs(self.difference) < _SMALLEST:
            return Outcome.SAME
        return Outcome.BETTER if self.difference > 0 else Outcome.WORSE


@dataclass(frozen=True)
class Comparison:
    """A run against its baseline: each metric, and each case that both have, the worst first."""

    metrics: tuple[MetricComparison, ...]
    cases: tuple[CaseChange, ...]

    @property
    def is_regression(self) -> bool:
        """Whether one of the metrics shows one."""
        return any(metric.is_worse for metric in self.metrics)

    @property
    def can_show_regression(self) -> bool:
        """Whether there would be one if each case were answered worse."""
        return any(metric.pairs >= metric.needed_pairs for metric in self.metrics)

    def is_as_good_again(self, fallen: Comparison) -> bool:
        """Whether each metric that `fallen` shows to be worse has its 95 % interval above the middle of its fall.

        That no regression can be shown says nothing: after a fall it takes evidence that it is over.
        """
        lower = {metric.metric: metric.lower for metric in self.metrics}
        fell = (metric for metric in fallen.metrics if metric.is_worse)
        return all(lower.get(metric.metric, -math.inf) > metric.mean_difference / 2 for metric in fell)

    def count(self, outcome: Outcome) -> int:
        """Give how many cases became this."""
        return sum(case.outcome == outcome for case in self.cases)


def compare(
    before: Scores, after: Scores, alpha: float, number: int, unanswered: Collection[str] = frozenset()
) -> Comparison:
    """Compare two runs by the cases that both have; `number` says the how-many-th run after its baseline this is.

    Cases that are `unanswered` now are worse than before, and do not pass.

    Run n may use alpha / (n (n + 1)): half of it is for `CASE_PASSED`, the other half is divided among the others. The
    sum over all runs and metrics is `alpha`, so that is the probability that a deployment which did not change is ever
    called worse (union bound). Nothing is assumed of how runs and metrics depend on each other.
    """
    after = dict(after) | {case: {CASE_PASSED: 0.0} for case in unanswered}
    both = sorted(before.keys() & after.keys())
    names = sorted({metric for case in both for metric in before[case].keys() & after[case].keys()})
    levels = _levels(names, alpha / (number * (number + 1)))
    metrics = tuple(_of_metric(name, [(before[case], after[case]) for case in both], levels[name]) for name in names)
    changes = [_change(case, before[case], after[case], case not in unanswered) for case in both]
    return Comparison(metrics, tuple(sorted(changes, key=lambda one: (one.difference, one.case_id))))


def _change(case_id: str, before: Mapping[str, float], after: Mapping[str, float], is_answered: bool) -> CaseChange:
    difference = sum(after[metric] - before[metric] for metric in before.keys() & after.keys())
    stopped = before.get(CASE_PASSED) == 1 and after.get(CASE_PASSED) == 0
    return CaseChange(case_id, difference, is_answered, stopped)


def _levels(names: Sequence[str], level: float) -> Mapping[str, float]:
    others = [name for name in names if name != CASE_PASSED]
    if len(others) in (0, len(names)):
        return dict.fromkeys(names, level / max(1, len(names)))
    return dict.fromkeys(others, level / 2 / len(others)) | {CASE_PASSED: level / 2}


def _of_metric(
    metric: str, pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], level: float
) -> MetricComparison:
    values = np.array([(old[metric], new[metric]) for old, new in pairs if metric in old and metric in new])
    differences = values[:, 1] - values[:, 0]
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / len(differences) ** 0.5 if len(differences) > 1 else float("inf")
    before, after = (float(one) for one in values.mean(axis=0))
    ends = (mean - _Z * error, mean + _Z * error)
    return MetricComparison(
        metric, len(differences), before, after, mean, *ends, probability_of_worse(differences), level
    )
