import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import UNDECIDED, Judged, Verdict, context_precision
from tests.evaluator.metrics.llm.verdicts.completions import CLAIMS, assert_bounds


def test_worked_examples() -> None:
    """The second of two contexts is useful: 1/2; the first and third of three: (1 + 2/3) / 2."""
    assert context_precision([False, True]) == Judged.known(0.5)
    assert context_precision([True, False, True]).value == pytest.approx(5 / 6, abs=1e-12)


def test_no_contexts_and_no_useful_one() -> None:
    """Without contexts there is no number; contexts of no use, or of which a judge is not sure, are 0."""
    assert context_precision([]) == Judged(None, "no_contexts", None, None)
    assert context_precision([False, UNDECIDED]) == Judged.known(0.0)


def test_a_missing_verdict_that_does_not_matter_leaves_the_value() -> None:
    """After a useful first context a second is perfect whether it is useful or not."""
    assert context_precision([True, None]) == Judged.known(1.0)
    assert context_precision([None, True]) == Judged(None, "judge_failed", 0.5, 1.0)


@given(st.lists(st.sampled_from([True, False, None]), max_size=9))
def test_the_bounds_are_those_of_all_completions(verdicts: list[Verdict]) -> None:
    """Whatever the missing verdicts are, and no wider."""
    assert_bounds(context_precision, verdicts)


@given(CLAIMS)
def test_useful_contexts_first_is_perfect_and_last_is_worst(useful: list[Verdict]) -> None:
    """All useful is 1; no order of the same contexts is better than useful first, or worse than useful last."""
    values = [context_precision(order).value or 0.0 for order in itertools.permutations(useful[:5])]
    ordered = sorted(useful[:5], reverse=True)
    assert context_precision(ordered) == Judged.known(float(any(ordered)))
    assert max(values) == context_precision(ordered).value
    assert min(values) == pytest.approx(context_precision(ordered[::-1]).value, abs=1e-12)
    assert 0 <= min(values) <= max(values) <= 1


def test_two_thousand_contexts_without_verdicts_are_bounded() -> None:
    """A failed judge on a long list costs no more than a working one."""
    assert context_precision([None] * 2000) == Judged(None, "judge_failed", 0.0, 1.0)
