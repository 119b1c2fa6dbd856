"""Probabilities of a fall: by cases against all orders written out, by runs against scipy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ttest_ind
from scipy.stats import t as student

from evaluator.replays.significance import probabilities_by_cases, probability_by_runs, splits, student_tail

CELLS = st.sampled_from([0.0, 0.5, 1.0, math.nan])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.just(0.0), CELLS, CELLS, st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=3))
def test_it_is_the_share_of_orders_that_are_as_bad(rows: list[tuple[float, ...]]) -> None:
    """The known values of each case in all their orders, each as likely; what is not known stays where it is."""
    values = np.array(rows)
    for last in (1, 2):
        possible = []
        for row in values:
            known = ~np.isnan(row)
            orders = [np.array(row) for _ in range(math.factorial(int(known.sum())))]
            for order, some in zip(orders, itertools.permutations(row[known]), strict=True):
                order[known] = some
            possible.append([np.nansum(order[-last:]) for order in orders])
        sums = [sum(one) for one in itertools.product(*possible)]
        expected = np.mean(np.array(sums) <= np.nansum(values[:, -last:]) + 1e-9)
        assert probabilities_by_cases(values, [last]) == pytest.approx([expected])


@pytest.mark.parametrize(("better", "worse"), [(0, 10), (3, 12), (500, 500), (450, 550)])
def test_of_passes_and_failures_in_two_runs_it_is_the_sign_test(better: int, worse: int) -> None:
    values = np.array([[0.0, 1.0]] * better + [[1.0, 0.0]] * worse + [[1.0, 1.0]] * 5)
    assert probabilities_by_cases(values, [1]) == pytest.approx([binom.cdf(better, better + worse, 0.5)], rel=1e-6)


def test_nothing_that_changed_is_no_evidence() -> None:
    assert probabilities_by_cases(np.ones((5, 3)), [1, 2]) == pytest.approx([1.0, 1.0])


def test_any_run_may_be_the_first_that_fell() -> None:
    """Of long series some of them, so that few are tried."""
    assert splits(2) == [1]
    assert splits(6) == [1, 2, 3, 4, 5]
    assert splits(30) == [1, 2, 3, 4, 5, 7, 10, 14, 20]


def test_by_runs_it_is_students_test_of_log_odds() -> None:
    """With two passes and two failures added to each run."""
    passed = np.array([22, 20, 23, 21, 22, 19, 15, 14, 16])
    values = (np.arange(25)[:, None] < passed).astype(float)
    odds = np.log((passed + 2) / (25 - passed + 2))
    expected = ttest_ind(odds[:-3], odds[-3:], alternative="greater").pvalue
    assert probability_by_runs(values, 3) == pytest.approx(expected)


@pytest.mark.parametrize("runs", [2, 3])
def test_of_few_runs_a_spread_of_a_logit_is_assumed(runs: int) -> None:
    """With half a pass and half a failure added; a run that is not known of a case moves nothing."""
    values = (np.arange(25)[:, None] < np.array([24] * (runs - 1) + [3])).astype(float)
    fall = math.log(24.5 / 1.5) - math.log(3.5 / 22.5)
    expected = student(df=1e9).sf(fall / math.sqrt(1 + 1 / (runs - 1)))
    assert probability_by_runs(values, 1) == pytest.approx(expected, rel=1e-3)
    values[0, 0] = np.nan
    assert probability_by_runs(values, 1) == pytest.approx(expected, rel=0.5)


def test_a_metric_that_is_best_at_0_counts_from_its_other_end() -> None:
    values = np.random.default_rng(1).random((9, 6))
    assert probability_by_runs(values - 1, 2) == pytest.approx(probability_by_runs(values, 2))


@given(st.floats(-50, 50), st.integers(1, 60))
def test_the_tail_of_students_t_is_scipys(value: float, degrees: int) -> None:
    assert student_tail(value, 1.0, degrees) == pytest.approx(student.sf(value, degrees), rel=1e-6, abs=1e-14)


def test_runs_that_do_not_differ_show_any_fall() -> None:
    assert student_tail(0.1, 0.0, 3) == pytest.approx(0.0)
    assert student_tail(0.0, 0.0, 3) == pytest.approx(0.5)
