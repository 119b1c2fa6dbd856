"""Paired comparison of two runs: its levels, its error rate, and what it finds."""

import numpy as np
import pytest

from evaluator.replays.comparison import Outcome, compare

CASES = 60


def scores(values: np.ndarray, metric: str = "case_passed") -> dict[str, dict[str, float]]:
    return {f"case-{n}": {metric: float(value)} for n, value in enumerate(values)}


def test_a_deployment_that_does_not_change_is_seldom_called_worse_in_all_its_runs() -> None:
    """20 runs after one baseline, 100 times; each case passes with its own probability. Promised are 5 %."""
    random = np.random.default_rng(1)
    called = 0
    for _ in range(100):
        passes = random.uniform(0, 1, CASES)
        before = scores(random.random(CASES) < passes)
        runs = (compare(before, scores(random.random(CASES) < passes), 0.05, number) for number in range(1, 21))
        called += any(one.is_regression for one in runs)
    assert called <= 9, "of 100 draws of 5 %, 97 % are at most 9"


def test_a_drop_is_found_and_a_rise_is_none() -> None:
    random = np.random.default_rng(2)
    good, bad = random.random(CASES) < 0.95, random.random(CASES) < 0.6
    assert compare(scores(good), scores(bad), 0.05, 1).is_regression
    found = compare(scores(bad), scores(good), 0.05, 1)
    assert not found.is_regression
    assert found.count(Outcome.BETTER) > found.count(Outcome.WORSE)
    [metric] = found.metrics
    assert metric.mean_difference == pytest.approx(good.mean() - bad.mean())
    assert metric.lower < metric.mean_difference < metric.upper


def test_the_levels_of_all_runs_and_metrics_sum_to_alpha() -> None:
    """So that no number of runs breaks the promise; half is for whether cases pass."""
    both = {"case": {"case_passed": 1.0, "facts_recall": 1.0, "bleu": 0.5}}
    levels = [[metric.level for metric in compare(both, both, 0.05, n).metrics] for n in range(1, 5000)]
    assert sum(map(sum, levels)) == pytest.approx(0.05, rel=1e-3)
    by_name = {metric.metric: metric.level for metric in compare(both, both, 0.04, 1).metrics}
    assert by_name == pytest.approx({"case_passed": 0.01, "facts_recall": 0.005, "bleu": 0.005})


def test_what_only_one_run_has_is_not_compared() -> None:
    before, after = scores(np.ones(3)), scores(np.zeros(2)) | {"new": {"case_passed": 0.0}}
    found = compare(before, after, 0.05, 1)
    assert [one.case_id for one in found.cases] == ["case-0", "case-1"]
    assert compare({}, after, 0.05, 1).metrics == ()
