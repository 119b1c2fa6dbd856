import re
import string
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics import tokens
from evaluator.metrics.language.tokens import shared_tokens


def test_punctuation_goes_without_a_space_and_articles_go() -> None:
    """The rules of SQuAD: `state-of-the-art` is one token, `3.14` is `314`, vitamin A loses its A, `€` stays."""
    assert tokens("The state-of-the-art, at 3.14 €: vitamin A") == ["stateoftheart", "at", "314", "€", "vitamin"]


def test_an_article_beside_a_typographic_quote_is_an_article() -> None:
    """Articles end at a word border and not only at a space, as in unitxt."""
    assert tokens("“the” cat") == ["“", "”", "cat"]


@example("a\x00the b")
@example("a\x1fthe\tb")
@given(st.text(alphabet=st.one_of(st.sampled_from("aA tTheE.,'_1\n\x00\x1f’Σİ"), st.characters()), max_size=30))
def test_tokens_follow_the_rules_as_written(text: str) -> None:
    """Whatever the text, the tokens are those of SQuAD's four steps one after the other."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    assert tokens(text) == re.sub(r"\b(a|an|the)\b", " ", plain).split()


@given(st.lists(st.text(alphabet=st.sampled_from("aΣσ.' \nthėİ1_"), max_size=12), max_size=4))
def test_tokens_of_joined_texts_are_the_tokens_of_each(texts: list[str]) -> None:
    """Splitting each context once gives what unitxt gives for all contexts joined by spaces."""
    assert Counter(tokens(" ".join(texts))) == Counter(token for text in texts for token in tokens(text))


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_shared_tokens_is_a_multiset_intersection(left: list[str], right: list[str]) -> None:
    """A token counts at most as often as it occurs on both sides, whichever side is first."""
    expected = (Counter(left) & Counter(right)).total()
    assert shared_tokens(Counter(left), Counter(right)) == shared_tokens(Counter(right), Counter(left)) == expected
