import sys

from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics import ABSENT, fact_ranks
from evaluator.metrics.matchers.canonical import canonical


def letter_by_letter(text: str) -> str:
    """The matcher's rule as it is written down: one character at a time."""
    spaced = "".join(c.lower() if c.isalnum() else " " for c in text)
    while "  " in spaced:
        spaced = spaced.replace("  ", " ")
    return spaced


def test_every_character_is_taken_as_the_matcher_takes_it() -> None:
    """All of Unicode: which characters are alphanumeric, and what is their lower case."""
    for code in range(sys.maxunicode + 1):
        assert canonical(f"x{chr(code)}x") == letter_by_letter(f"x{chr(code)}x"), hex(code)


@example("ΟΔΟΣ, ΟΔΟΣ")
@given(st.text(alphabet=st.one_of(st.sampled_from("aΣσςİ ._-\n"), st.characters()), max_size=30))
def test_a_text_is_canonical_as_letter_by_letter(text: str) -> None:
    """The fast rule and the written one agree on any text, final sigmas included."""
    assert canonical(text) == letter_by_letter(text)


@given(st.text(min_size=1), st.text(), st.text())
def test_a_citation_stands_in_the_text_that_it_was_cut_from(fact: str, before: str, after: str) -> None:
    """A fact between two letters is found, and a chunk before it does not hide it."""
    chunk = f"{before} {fact} {after}"
    assert fact_ranks([f" {fact} "], ["", chunk])[0] == 1


def test_a_fact_that_a_border_cuts_is_absent() -> None:
    """Two chunks that hold a half each do not hold the fact."""
    assert fact_ranks(["blue whale"], ["a blue", "whale sings"]) == [ABSENT]
