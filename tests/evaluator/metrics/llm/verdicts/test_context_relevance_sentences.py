import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import Judged, context_relevance_sentences

TEXTS = st.text(alphabet=st.sampled_from('aB1.!? \n")'), max_size=30)


def test_worked_example() -> None:
    """One of two sentences is needed."""
    contexts = ["Paris is the capital of France. It has two million people."]
    assert context_relevance_sentences(contexts, "Paris is the capital of France.") == Judged.known(0.5)


@pytest.mark.parametrize(
    "extracted", ["Insufficient Information", "Insufficient Information.", " insufficient information.\n", "", " \n"]
)
def test_a_judge_that_needs_no_sentence_makes_zero(extracted: str) -> None:
    """The phrase that stands for none is not a sentence, with a full stop or without."""
    assert context_relevance_sentences(["A is b. C is d."], extracted) == Judged.known(0.0)


def test_without_contexts_there_is_nothing_of_use() -> None:
    """Also where they are blank."""
    nothing = Judged.known(0.0, "no_contexts")
    assert context_relevance_sentences([], "Something.") == context_relevance_sentences(["", " \n"], None) == nothing


def test_more_than_there_is_counts_as_all_and_a_lost_reply_is_open() -> None:
    """A judge that repeats itself does not pass 1."""
    assert context_relevance_sentences(["A is b.", "C is d."], "A is b. C is d. A is b.") == Judged.known(1.0)
    assert context_relevance_sentences(["A is b."], None) == Judged(None, "judge_failed", 0.0, 1.0)


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_a_share_is_from_zero_to_one_in_any_order_of_contexts(contexts: list[str], extracted: str) -> None:
    """All that was there is 1, if there was something."""
    found = context_relevance_sentences(contexts, extracted)
    assert found.value is not None
    assert 0 <= found.value <= 1
    assert found == context_relevance_sentences(contexts[::-1], extracted)
    everything = context_relevance_sentences(contexts, "\n".join(contexts))
    assert everything.value == float(bool("".join(contexts).strip()))
