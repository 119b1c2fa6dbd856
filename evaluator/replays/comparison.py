"""Comparison of a run with its baseline and the runs between, case by case, by each metric that scored both."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluator.replays.significance import probabilities_by_cases, probability_by_runs, splits
from lake.spec.case_vocabulary import CASE_PASSED

_Z = 1.96
_SMALLEST = 1e-9
SEASON = 50
"""Runs after a baseline that all keep power to find a fall."""

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

    `by_cases` and `by_runs` are probabilities of values as bad as these where nothing changed, of the worst way to part
    `runs` runs in those before and the last ones (`significance`). Both must come to `level` for a regression.
    """

    metric: str
    pairs: int
    before: float
    after: float
    mean_difference: float
    lower: float
    upper: float
    by_cases: float
    by_runs: float
    level: float
    runs: int = 2

    @property
    def is_worse(self) -> bool:
        """Whether it shows a regression."""
        return self.mean_difference < 0 and self.probability <= self.level

    @property
    def probability(self) -> float:
        """The larger one of both, as both must be small."""
        return max(self.by_cases, self.by_runs)

    @property
    def is_suspect(self) -> bool:
        """Whether it is worse than single answers vary, so that it is a regression unless the whole run is unlucky."""
        return self.mean_difference < 0 and self.by_cases <= self.level

    @property
    def needed_pairs(self) -> int:
        """So many cases must be answered worse than in each run before: the last run is the worst by 1 / `runs`."""
        return math.ceil(-math.log(self.level / len(splits(self.runs)), self.runs))


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
    def is_suspect(self) -> bool:
        """Whether one of the metrics is worse than single answers vary."""
        return any(metric.is_suspect for metric in self.metrics)

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
        """Return how many cases became this."""
        return sum(case.outcome == outcome for case in self.cases)


def compare(
    before: Scores,
    after: Scores,
    alpha: float,
    number: int,
    unanswered: Collection[str] = frozenset(),
    between: Sequence[Scores] = (),
) -> Comparison:
    """Compare two runs by the cases that both have; `number` says the how-many-th run after its baseline this is.

    Cases that are `unanswered` now are worse than before, and do not pass. `between` are runs after the baseline, in
    their order, in which nothing changed: they say how much answers and runs vary.

    Run n may use the share `share_of_alpha` of alpha: half of it is for `CASE_PASSED`, the other half is divided among
    the others. The sum over all runs, metrics and splits is at most `alpha`, so that is the probability that a
    deployment which did not change is ever called worse by its cases (union bound). Nothing is assumed of how runs and
    metrics depend on each other. The test by runs depends on its splits so strongly that half the level stands for all.
    """
    after = dict(after) | {case: {CASE_PASSED: 0.0} for case in unanswered}
    both = sorted(before.keys() & after.keys())
    names = sorted({metric for case in both for metric in before[case].keys() & after[case].keys()})
    levels = _levels(names, alpha * share_of_alpha(number))
    runs = [{case: run[case] for case in both if case in run} for run in (before, *between, after)]
    metrics = tuple(_of_metric(name, runs, levels[name]) for name in names)
    changes = [_change(case, before[case], after[case], case not in unanswered) for case in both]
    return Comparison(metrics, tuple(sorted(changes, key=lambda one: (one.difference, one.case_id))))


def share_of_alpha(number: int) -> float:
    """Return the share of alpha that run `number` after the baseline may use; all of them sum to 1.

    A third goes to the first runs, so that a new baseline is of use at once, the rest equally to each of a season.
    """
    early = 1 / (number * (number + 1))
    return early / 3 + (2 / 3 / SEASON if number <= SEASON else 0.0)


def _change(case_id: str, before: Mapping[str, float], after: Mapping[str, float], is_answered: bool) -> CaseChange:
    difference = sum(after[metric] - before[metric] for metric in before.keys() & after.keys())
    stopped = before.get(CASE_PASSED) == 1 and after.get(CASE_PASSED) == 0
    return CaseChange(case_id, difference, is_answered, stopped)


def _levels(names: Sequence[str], level: float) -> Mapping[str, float]:
    others = [name for name in names if name != CASE_PASSED]
    if len(others) in (0, len(names)):
        return dict.fromkeys(names, level / max(1, len(names)))
    return dict.fromkeys(others, level / 2 / len(others)) | {CASE_PASSED: level / 2}


def _of_metric(metric: str, runs: Sequence[Scores], level: float) -> MetricComparison:
    cases = [case for case in runs[0] if metric in runs[0][case] and metric in runs[-1][case]]
    values = np.array([[run.get(case, {}).get(metric, np.nan) for run in runs] for case in cases])
    values = values[:, ~np.isnan(values).all(axis=0)]
    differences = values[:, -1] - values[:, 0]
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / len(differences) ** 0.5 if len(differences) > 1 else float("inf")
    possible = splits(values.shape[1])
    return MetricComparison(
        metric=metric,
        pairs=len(differences),
        before=float(values[:, 0].mean()),
        after=float(values[:, -1].mean()),
        mean_difference=mean,
        lower=mean - _Z * error,
        upper=mean + _Z * error,
        by_cases=min(1.0, len(possible) * min(probabilities_by_cases(values, possible))),
        by_runs=min(1.0, 2 * min(probability_by_runs(values, last) for last in possible)),
        level=level,
        runs=values.shape[1],
    )
