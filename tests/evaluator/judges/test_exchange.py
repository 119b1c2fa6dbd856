"""Types of an exchange with a judge."""

from evaluator.judges import Reason
from lake.spec.vocabulary import UnscoredReason


def test_the_reasons_of_a_judge_are_words_of_the_lake() -> None:
    """Each is one of `Reason`, but for those of judges that are not asked, or contradict themselves."""
    of_judges = {one.value for one in UnscoredReason if one.value.startswith("judge_")}
    assert {one.value for one in Reason} == of_judges - {
        UnscoredReason.JUDGE_IS_THE_MODEL,
        UnscoredReason.JUDGE_ORDERS_DIFFER,
    }
