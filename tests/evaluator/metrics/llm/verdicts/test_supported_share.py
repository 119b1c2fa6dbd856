import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import (
    UNDECIDED,
    Judged,
    Verdict,
    all_supported,
    contradicted_share,
    macro_share,
    right_share,
    supported_share,
)
from tests.evaluator.metrics.llm.verdicts.completions import CLAIMS, VERDICTS, assert_bounds

EINSTEIN = [True, False]
COHERE_ANSWER = [True] * 6
COHERE_CHANGED = [True, True, False, False, True, False]
COHERE_COVERAGE = [False, False, False, True, False, True]


@pytest.mark.parametrize(
    ("verdicts", "value"), [(EINSTEIN, 1 / 2), (COHERE_ANSWER, 1.0), (COHERE_CHANGED, 1 / 2), (COHERE_COVERAGE, 1 / 3)]
)
def test_worked_examples(verdicts: list[Verdict], value: float) -> None:
    """Faithfulness 1/2 of two claims and 6/6; correctness 3/6 where 2022 became 1922; coverage 2/6."""
    assert supported_share(verdicts) == Judged.known(value)


def test_undecided_is_not_supported_unless_it_shall_pass() -> None:
    """A judge that does not know does not vouch for the claim."""
    assert supported_share([True, UNDECIDED, False]).value == 1 / 3
    assert supported_share([True, UNDECIDED, False], undecided_passes=True).value == 2 / 3


def test_of_no_claims_there_is_no_share() -> None:
    """An answer that claims nothing is neither faithful nor not."""
    nothing = Judged(None, "no_claims", None, None)
    assert all_supported([]) == contradicted_share([]) == right_share([], []) == nothing
    assert supported_share([]) == macro_share([[], []]) == macro_share([]) == nothing


def test_a_missing_verdict_makes_null_with_bounds() -> None:
    """One of three claims is open."""
    assert supported_share([True, None, False]) == Judged(None, "judge_failed", 1 / 3, 2 / 3)


@pytest.mark.parametrize(
    ("verdicts", "value"),
    [([True, True], 1.0), ([True] * 7 + [False], 0.0), ([True, UNDECIDED], 0.0), ([None, False], 0.0), ([False], 0.0)],
)
def test_one_claim_without_support_makes_a_text_unfaithful(verdicts: list[Verdict], value: float) -> None:
    """Whatever the others are, also where one of them is missing."""
    assert all_supported(verdicts) == Judged.known(value)


def test_what_a_missing_verdict_may_change_is_not_known() -> None:
    assert all_supported([True, None]) == Judged(None, "judge_failed", 0.0, 1.0)
    assert contradicted_share([False, None]) == Judged(None, "judge_failed", 0.5, 1.0)
    assert right_share([True, None], [False, True]) == Judged(None, "judge_failed", 0.5, 1.0)


def test_denied_is_another_thing_than_not_found() -> None:
    """Of four claims the texts lack one and deny another."""
    assert contradicted_share([True, UNDECIDED, False, True]) == Judged.known(1 / 4)


def test_a_claim_is_right_by_the_reference_or_where_that_is_silent_by_the_contexts() -> None:
    """What neither decides is no error: it is left out."""
    of_reference: list[Verdict] = [True, False, UNDECIDED, UNDECIDED, UNDECIDED]
    of_contexts: list[Verdict] = [False, True, True, False, UNDECIDED]
    assert right_share(of_reference, of_contexts) == Judged.known(2 / 4)
    assert right_share([UNDECIDED], [UNDECIDED]) == Judged(None, "no_claims", None, None)


def test_mean_over_answers() -> None:
    """Four claims of which three hold, and one that does not; an answer without claims weighs nothing."""
    answers: list[list[Verdict]] = [[True, True, True, False], [False], []]
    assert macro_share(answers) == Judged.known(0.375)


@pytest.mark.parametrize("verdict", ["yes", "", 2, 0.5])
def test_what_is_no_verdict_is_an_error(verdict: Verdict) -> None:
    """A judge's word that nobody has read is not taken for a no."""
    with pytest.raises(ValueError, match=r"verdict is True, False, 'undecided' or None.*not "):
        supported_share([verdict])


@given(VERDICTS)
def test_the_bounds_of_a_share_are_those_of_all_completions(verdicts: list[Verdict]) -> None:
    """Whatever the missing verdicts are, and no wider."""
    for number in (supported_share, all_supported, contradicted_share, lambda some: right_share(some, some[::-1])):
        assert_bounds(number, verdicts)


@given(st.lists(st.lists(st.sampled_from([True, False, None]), max_size=3), max_size=3))
def test_the_bounds_of_a_mean_are_those_of_all_completions(answers: list[list[Verdict]]) -> None:
    """Whatever the missing verdicts are, and no wider."""
    assert_bounds(lambda *each: macro_share(each), *answers)


@given(CLAIMS.flatmap(lambda claims: st.tuples(st.just(claims), st.permutations(claims))))
def test_the_order_of_claims_makes_no_difference(orders: tuple[list[Verdict], list[Verdict]]) -> None:
    """Claims have no rank."""
    assert supported_share(orders[0]) == supported_share(orders[1])


@given(CLAIMS)
def test_one_more_supported_claim_never_lowers_the_share(claims: list[Verdict]) -> None:
    """And one more that is not never lifts it."""
    before = supported_share(claims).value
    assert before is not None
    assert (supported_share([*claims, False]).value or 0) <= before <= (supported_share([*claims, True]).value or 0)
