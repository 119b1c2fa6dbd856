from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import Judged, context_entity_recall

TAJ = ["Taj Mahal", "Yamuna", "Agra", "1631", "Shah Jahan", "Mumtaz Mahal"]
NAMES = st.lists(st.sampled_from("abcAB"), max_size=6)


def test_worked_examples() -> None:
    """Four of six entities, and one of six."""
    contexts = ["Taj Mahal", "Agra", "Shah Jahan", "Mumtaz Mahal", "India"]
    assert context_entity_recall(TAJ, contexts) == Judged.known(4 / 6)
    assert context_entity_recall(TAJ, ["Taj Mahal", "UNESCO", "India"]) == Judged.known(1 / 6)


def test_an_entity_that_is_listed_twice_counts_once() -> None:
    """Or twice below, as in ragas' older interface."""
    assert context_entity_recall(["Agra", "Agra", "India"], ["Agra", "Agra"]) == Judged.known(1 / 2)
    assert context_entity_recall(["Agra", "Agra", "India"], ["Agra"], denominator="listed") == Judged.known(1 / 3)


def test_no_entities_and_lists_that_are_lost() -> None:
    """A reference without entities is null whatever the contexts have; contexts without any have none of them."""
    assert context_entity_recall([], None) == context_entity_recall([], ["a"]) == Judged.nothing("no_entities")
    assert context_entity_recall(["a"], []) == Judged.known(0.0)
    lost = Judged(None, "judge_failed", 0.0, 1.0)
    assert context_entity_recall(None, ["a"]) == context_entity_recall(["a"], None) == lost


def test_strings_are_compared_as_they_are() -> None:
    """Neither case nor blanks are folded."""
    assert context_entity_recall(["Agra", " India"], ["agra", "India"]) == Judged.known(0.0)


@given(NAMES.filter(bool), NAMES, st.sampled_from("abcAB"))
def test_one_more_entity_in_the_contexts_never_lowers_it(reference: list[str], contexts: list[str], more: str) -> None:
    """It is 0 to 1, 1 where the contexts have all, and no order or repeat matters."""
    value = context_entity_recall(reference, contexts).value
    assert value is not None
    assert 0 <= value <= (context_entity_recall(reference, [*contexts, more]).value or 0.0) <= 1
    assert context_entity_recall(reference, reference[::-1]) == Judged.known(1.0)
    assert context_entity_recall([*reference[::-1], reference[0]], [*contexts[::-1], *contexts]).value == value
