import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import (
    Judged,
    Verdict,
    answer_correctness,
    factual_f_beta,
    factual_f_beta_of_verdicts,
)
from tests.evaluator.metrics.llm.verdicts.completions import VERDICTS, assert_bounds

COUNTS = st.integers(0, 9)


def test_worked_examples() -> None:
    """One right, one wrong, one left out: F 1/2; with a similarity of .9 and weights .75 and .25: .6."""
    assert factual_f_beta(1, 1, 1) == Judged.known(0.5)
    assert answer_correctness(factual_f_beta(1, 1, 1), 0.9).value == pytest.approx(0.6, abs=1e-12)


def test_nothing_to_compare_is_null_and_one_empty_side_is_zero() -> None:
    """An answer without statements is not right, and what no reference has is not either."""
    assert factual_f_beta(0, 0, 0) == factual_f_beta_of_verdicts([], []) == Judged(None, "no_claims", None, None)
    assert factual_f_beta(0, 0, 2) == factual_f_beta(0, 4, 0) == Judged.known(0.0)
    assert factual_f_beta_of_verdicts([], [None]) == Judged.known(0.0)
    assert answer_correctness(factual_f_beta(0, 0, 2), 0.3).value == pytest.approx(0.075, abs=1e-12)
    assert answer_correctness(factual_f_beta(0, 0, 0), 0.3) == Judged.nothing("no_claims")


def test_beta_weighs_what_is_left_out() -> None:
    """F2 of precision 1/3 and recall 1 is 5/7, F0 is precision alone."""
    assert factual_f_beta(1, 2, 0, beta=2).value == pytest.approx(5 / 7, abs=1e-12)
    assert factual_f_beta(1, 2, 5, beta=0).value == pytest.approx(1 / 3, abs=1e-12)


def test_a_part_of_weight_zero_is_not_read() -> None:
    """Similarity alone needs no statements, facts alone need no similarity; weights need not add up to 1."""
    assert answer_correctness(factual_f_beta(0, 0, 0), 0.8, (0, 2)) == Judged.known(0.8)
    assert answer_correctness(factual_f_beta(1, 1, 1), None, (3, 0)) == Judged.known(0.5)
    assert answer_correctness(factual_f_beta(1, 1, 1), 0.9, (3, 1)).value == pytest.approx(0.6, abs=1e-12)


def test_missing_parts_make_bounds() -> None:
    """An open verdict moves the factual part, a similarity that nobody measured is from -1 to 1."""
    half_open = factual_f_beta_of_verdicts([True, None], [True])
    assert (half_open.value, half_open.low, half_open.high) == (None, pytest.approx(2 / 3), 1.0)
    found = answer_correctness(half_open, 0.5, (1, 1))
    assert (found.value, found.reason) == (None, "judge_failed")
    assert (found.low, found.high) == (pytest.approx(7 / 12), 0.75)
    for similarity in (None, math.nan):
        assert answer_correctness(factual_f_beta(1, 0, 0), similarity) == Judged(None, "judge_failed", 0.5, 1.0)


@pytest.mark.parametrize("weights", [(0, 0), (-1, 2), (math.nan, 1), (math.inf, 1)])
def test_weights_that_weigh_nothing_are_an_error(weights: tuple[float, float]) -> None:
    """They are configuration, not data."""
    with pytest.raises(ValueError, match="weights are two numbers of 0 or more"):
        answer_correctness(factual_f_beta(1, 0, 0), 1.0, weights)


def test_counts_and_beta_out_of_range_are_an_error() -> None:
    """The message has the value."""
    with pytest.raises(ValueError, match=r"0 or more, not \(1, -1, 0\)"):
        factual_f_beta(1, -1, 0)
    for beta in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"beta is a number of 0 or more, not {beta}"):
            factual_f_beta(1, 1, 1, beta)


@given(COUNTS.filter(bool), COUNTS, COUNTS, st.floats(0.1, 9))
def test_it_is_the_weighted_harmonic_mean_of_precision_and_recall(
    right: int, wrong: int, left_out: int, beta: float
) -> None:
    """And in 0 to 1."""
    precision, recall = right / (right + wrong), right / (right + left_out)
    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    value = factual_f_beta(right, wrong, left_out, beta).value
    assert value == pytest.approx(expected, abs=1e-12)
    assert 0 < (value or 0.0) <= 1


@given(VERDICTS.map(lambda verdicts: verdicts[:5]), VERDICTS.map(lambda verdicts: verdicts[:5]))
def test_the_bounds_are_those_of_all_completions(answer: list[Verdict], reference: list[Verdict]) -> None:
    """Whatever the missing verdicts are, and no wider; also after the similarity is weighed in."""
    assert_bounds(factual_f_beta_of_verdicts, answer, reference)
    assert_bounds(lambda *sides: answer_correctness(factual_f_beta_of_verdicts(*sides), 0.25), answer, reference)
