import pytest
from hypothesis import given

from evaluator.metrics.llm.verdicts import UNDECIDED, Judged, Verdict, aspect_critique, odd_strictness
from tests.evaluator.metrics.llm.verdicts.completions import VERDICTS, completions


def test_the_majority_decides() -> None:
    """Two of three are enough, and a vote that is undecided is not a yes."""
    assert aspect_critique([True, False, True]) == aspect_critique([True]) == Judged.known(1.0)
    assert aspect_critique([True, False, False]) == aspect_critique([UNDECIDED]) == Judged.known(0.0)


def test_a_tie_is_null() -> None:
    """Which vote came first means nothing."""
    assert aspect_critique([True, False]) == aspect_critique([False, True]) == Judged(None, "tie", None, None)


def test_missing_votes_are_null_unless_the_majority_is_there() -> None:
    """Two of three need no third."""
    assert aspect_critique([True, True, None]) == Judged.known(1.0)
    assert aspect_critique([False, None, False]) == Judged.known(0.0)
    assert aspect_critique([True, False, None]) == aspect_critique([]) == Judged(None, "judge_failed", 0.0, 1.0)


@pytest.mark.parametrize(("asked", "votes"), [(1, 1), (2, 3), (3, 3), (4, 5)])
def test_strictness_is_odd(asked: int, votes: int) -> None:
    """So that there is no tie."""
    assert odd_strictness(asked) == votes


def test_no_vote_is_no_strictness() -> None:
    """The message has the value."""
    with pytest.raises(ValueError, match="1 or more, not 0"):
        odd_strictness(0)


@given(VERDICTS)
def test_a_value_holds_whatever_the_missing_votes_are(votes: list[Verdict]) -> None:
    """And in any order; null where they matter, where there is a tie, and where there are none."""
    values = {aspect_critique(each).value for each in completions(votes)}
    found = aspect_critique(votes)
    assert found == aspect_critique(votes[::-1])
    assert {found.value} == (values if len(values) == 1 else {None})
    assert found.value is not None or found.reason in ("tie", "judge_failed")
