"""Paired comparison of two runs: its levels, its error rate, and what it finds."""

import numpy as np
import pytest

from evaluator.replays.comparison import Comparison, Outcome, compare, share_of_alpha

CASES = 60


def scores(values: np.ndarray, metric: str = "case_passed") -> dict[str, dict[str, float]]:
    return {f"case-{n}": {metric: float(value)} for n, value in enumerate(values)}


@pytest.mark.slow
def test_a_deployment_that_does_not_change_is_seldom_called_worse_in_all_its_runs() -> None:
    """20 runs after one baseline, 100 times; each case passes with its own probability. Promised are 5 %.

    By single answers alone: that whole runs differ makes an alarm rarer only.
    """
    random = np.random.default_rng(1)
    called = 0
    for _ in range(100):
        passes = random.uniform(0, 1, CASES)
        before = scores(random.random(CASES) < passes)
        runs = (compare(before, scores(random.random(CASES) < passes), 0.05, number) for number in range(1, 21))
        called += any(one.is_suspect for one in runs)
    assert called <= 9, "of 100 draws of 5 %, 97 % are at most 9"


def test_a_drop_is_found_and_a_rise_is_none() -> None:
    random = np.random.default_rng(2)
    good, bad = random.random(CASES) < 0.95, random.random(CASES) < 0.2
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
    assert sum(map(share_of_alpha, range(1, 5000))) == pytest.approx(1, rel=1e-3)
    for number in (1, 2, 50, 51):
        levels = [metric.level for metric in compare(both, both, 0.05, number).metrics]
        assert sum(levels) == pytest.approx(0.05 * share_of_alpha(number))
    by_name = {metric.metric: metric.level for metric in compare(both, both, 0.04, 1).metrics}
    assert by_name == pytest.approx({"case_passed": 0.0036, "facts_recall": 0.0018, "bleu": 0.0018})


def test_what_only_one_run_has_is_not_compared() -> None:
    before, after = scores(np.ones(3)), scores(np.zeros(2)) | {"new": {"case_passed": 0.0}}
    found = compare(before, after, 0.05, 1)
    assert [one.case_id for one in found.cases] == ["case-0", "case-1"]
    assert compare({}, after, 0.05, 1).metrics == ()


def nights(random: np.random.Generator, swing: float, number: int, drop: float = 0.0, start: int = 1) -> list:
    """Runs of cases that pass with a probability of their own; each night moves the logits of all by one draw."""
    passes = random.beta(1.7, 0.3, CASES)
    found = []
    for night in range(number):
        odds = passes * (1 - drop if night >= start else 1)
        moved = odds / (odds + (1 - odds) * np.exp(-swing * random.normal()))
        found.append(scores(random.random(CASES) < moved))
    return found


def compared(runs: list, number: int) -> Comparison:
    return compare(runs[0], runs[number], 0.05, number, between=runs[1:number])


@pytest.mark.slow
def test_nights_on_which_all_cases_are_answered_worse_are_seldom_a_regression() -> None:
    """12 nights, 25 times, with a swing of a logit: single answers alone would call most of them worse."""
    random = np.random.default_rng(1)
    regressions = suspects = 0
    for _ in range(25):
        runs = nights(random, 1.0, 13)
        found = [compared(runs, number) for number in range(1, 13)]
        suspects += any(one.is_suspect for one in found)
        regressions += any(one.is_regression for one in found)
    assert regressions <= 3, "of 25 draws of 5 %, 97 % are at most 3"
    assert suspects >= 10


def test_a_drop_is_found_once_the_spread_of_runs_is_known() -> None:
    """Cases that pass less often by 0.3 of 0.85 from night 8 on are a regression within five nights, not the first."""
    random = np.random.default_rng(1)
    found = 0
    for _ in range(10):
        runs = nights(random, 0.0, 13, drop=0.35, start=8)
        found += any(compared(runs, number).is_regression for number in range(8, 13))
    assert found == 10


def test_a_fall_that_one_run_does_not_show_is_suspected() -> None:
    """It could be a bad night: three nights of the same show that it is none."""
    well, worse = scores(np.arange(200) >= 20), scores(np.arange(200) >= 50)
    found = [compared([well] + [worse] * 4, number) for number in range(1, 5)]
    assert [one.is_suspect for one in found] == [True] * 4
    assert [one.is_regression for one in found] == [False, False, True, True]


def test_a_total_failure_is_a_regression_at_once() -> None:
    """Also where nights differ much: no swing of a logit explains it."""
    swinging = [scores(np.arange(25) >= some) for some in (1, 9, 3, 7, 0, 8)]
    for number in (1, 5):
        runs = [*swinging[:number], scores(np.zeros(25))]
        assert compared(runs, number).is_regression
