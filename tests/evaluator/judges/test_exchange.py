"""Types of an exchange with a judge."""

from evaluator.judges.exchange import Reason
from lake.spec.vocabulary import UnscoredReason


def test_the_reasons_of_a_judge_are_words_of_the_lake() -> None:
    """Every reason that a judge causes is one of `Reason`, but for one that is not asked, or contradicts itself."""
    of_judges = {one.value for one in UnscoredReason if one.value.startswith("judge_")}
    assert {one.value for one in Reason} == of_judges - {
        UnscoredReason.JUDGE_IS_THE_MODEL,
        UnscoredReason.JUDGE_ORDERS_DIFFER,
    }
