"""Words of an answer that stand in no context, against the tokens that are counted."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics.language.absent_words import absent_words
from evaluator.metrics.language.tokens import tokens
from tests.evaluator.metrics.language.test_token_overlap import TEXTS


@example("the cat's the-hat Σ’a", ["cats"])
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_what_is_not_marked_is_covered(text: str, others: list[str]) -> None:
    """The tokens outside of the marks all stand in some other text, and each mark has one that stands in none."""
    places = absent_words(text, others)
    known = {token for other in others for token in tokens(other)}
    outside, done = [], 0
    for start, end in places:
        assert done <= start < end
        assert not known.issuperset(tokens(text[start:end]))
        outside.append(text[done:start])
        done = end
    outside.append(text[done:])
    assert known.issuperset(token for part in outside for token in tokens(part))
    assert sum(1 for token in Counter(tokens(text)) if token not in known) == 0 or places


def test_neighbours_are_one_place() -> None:
    """Marks and case are no difference, articles are never absent, and characters are those of the text."""
    assert absent_words("The cat, SAT on\na mat.", ["cat; mat!"]) == [(9, 15)]
    assert absent_words("the a an", []) == []
    assert absent_words("İs“ 🦜 cat", ["cat"]) == [(0, 5)]


def test_chinese_characters_are_words() -> None:
    """In the form for any script one character is marked, and not the whole sentence."""
    assert absent_words("你好吗 cat", ["你吗"], "any_script") == [(1, 2), (4, 7)]
    assert absent_words("你好吗", ["你吗"]) == [(0, 3)]
