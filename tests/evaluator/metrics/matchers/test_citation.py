import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from evaluator.metrics import ABSENT, CITATION, fact_ranks
from evaluator.metrics.matchers import citation
from evaluator.metrics.matchers.canonical import canonical


def letter_by_letter(text: str) -> str:
    """The matcher's rule as it is written down: one character at a time."""
    spaced = "".join(c.lower() if c.isalnum() else " " for c in text)
    while "  " in spaced:
        spaced = spaced.replace("  ", " ")
    return spaced


@pytest.mark.slow
def test_every_character_is_taken_as_the_matcher_takes_it() -> None:
    """All of Unicode: which characters are alphanumeric, and what is their lower case."""
    for code in range(sys.maxunicode + 1):
        assert canonical(f"x{chr(code)}x") == letter_by_letter(f"x{chr(code)}x"), hex(code)


@example("ΟΔΟΣ, ΟΔΟΣ")
@given(st.text(alphabet=st.one_of(st.sampled_from("aΣσςİ ._-\n"), st.characters()), max_size=30))
def test_a_text_is_canonical_as_letter_by_letter(text: str) -> None:
    """The fast rule and the written one agree on any text, final sigmas included."""
    assert canonical(text) == letter_by_letter(text)


@example("0", "", "$0")
@given(st.text(min_size=1), st.text(), st.text())
def test_a_citation_stands_in_the_text_that_it_was_cut_from(fact: str, before: str, after: str) -> None:
    """A fact between two words is found, and a chunk before it does not hide it.

    Without the words a sign of money behind it would make another amount of a number.
    """
    chunk = f"{before} says {fact} too {after}"
    assert fact_ranks([f" {fact} "], ["", chunk])[0] == 1


def test_a_fact_that_a_border_cuts_is_absent() -> None:
    """Two chunks that hold a half each do not hold the fact."""
    assert fact_ranks(["blue whale"], ["a blue", "whale sings"]) == [ABSENT]


_PIECES = (
    "minus |-|$|5|20|1|000|,|.|%| million| USD| kg| the fee is| is| a| x 10^5|e5| |\n|(|)|–|½|²|€ | 3 | of|: |! |. The"
)


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["5 x 10^5 of all orders."], 2, 22)
@example(["The 5 fees (in USD 3 a day"], 0, 18)
@example(["It is 3 minus 5 of all orders."], 8, 29)
@given(
    st.lists(
        st.lists(st.sampled_from(_PIECES.split("|")), min_size=1, max_size=14).map("".join), min_size=1, max_size=2
    ),
    st.integers(0, 40),
    st.integers(1, 60),
)
def test_a_fact_that_stands_as_it_is_written_has_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch, contexts: list[str], start: int, end: int
) -> None:
    """Numbers that are not read, as nothing beside the fact changes them, are those that would be read."""
    fact = contexts[0][start:end] or contexts[0]
    found, places = CITATION.finder()([fact], contexts), CITATION.spans([fact], contexts)
    with monkeypatch.context() as patch:
        patch.setattr(citation, "_is_read_alike", lambda *_: False)
        assert CITATION.finder()([fact], contexts) == found
        assert CITATION.spans([fact], contexts) == places
    assert [len(of_context) for of_context in places] == list(found.counts)


def test_words_between_numbers_may_be_repeated() -> None:
    """A context at the beginning of the row is found, with its numbers written in fewer characters."""
    assert fact_ranks(["1,000 stores 2,000 stores 3"], ["1000 stores 2000 stores 3"]) == [0]
