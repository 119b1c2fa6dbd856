"""Tokens of many texts at once against the rules of SQuAD as they are written, one after the other."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics.language.numbered_tokens import NumberedTokens
from evaluator.metrics.language.tokens import Tokenisation, tokens, tokens_of_any_script
from runtime.words import split_unspaced

_AROUND = "a{0}the x{0}Y Σ{0}Σ{0}你"
"""A character beside articles, within a word, at both ends of one, beside one that is lower case by its place."""
_SOME = 2_048

MARKS = list(".,'_ \n\x00\x1f\x80\x85\xa0“’。\u0301\u2028\u200b\u3000\uffff\ud800\udc00\U0010ffff")
LETTERS = list("aİΣς你かกßŉⒶ²٣𝒂😀")
ODD = st.sampled_from([*MARKS, *LETTERS, "The", "an", "cat"])
TEXTS = st.lists(ODD | st.characters(), max_size=12).map("".join)


def rules_of_squad(text: str) -> list[str]:
    """Lower-case, without ASCII punctuation, without articles, split at whitespace."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def rules_of_any_script(text: str) -> list[str]:
    return [piece for token in rules_of_squad(text) for piece in split_unspaced(token)]


RULES = {"squad": rules_of_squad, "any_script": rules_of_any_script}


def assert_numbered_by_the_rules(texts: Sequence[str], tokenisation: Tokenisation) -> None:
    numbered = NumberedTokens.of(texts, tokenisation)
    expected = [RULES[tokenisation](text) for text in texts]
    assert numbered.lengths.tolist() == [len(one) for one in expected]
    ends = list(accumulate(numbered.lengths.tolist(), initial=0))
    by_number: dict[int, str] = {}
    for (start, end), one in zip(pairwise(ends), expected, strict=True):
        for number, token in zip(numbered.numbers[start:end].tolist(), one, strict=True):
            assert by_number.setdefault(number, token) == token
    assert len(set(by_number.values())) == len(by_number)
    assert all(0 <= number < numbered.distinct for number in by_number)


@pytest.mark.parametrize("tokenisation", ["squad", "any_script"])
@example([""])
@example(["a the", "“the”cat", "cat “ ”"])
@example(["the\ud800\udc00", "the𐀀", "the\U00010000"])
@example(["ΟΔΟΣ. ΣΑΣ’Σ", "οδος σας’ς"])
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_tokens_of_texts_together_are_those_of_the_rules(tokenisation: Tokenisation, texts: list[str]) -> None:
    """Any texts: as many tokens as the rules give, and two have one number if and only if they are equal."""
    assert_numbered_by_the_rules(texts, tokenisation)


@pytest.mark.slow
@pytest.mark.parametrize("tokenisation", ["squad", "any_script"])
def test_every_character_is_taken_by_the_rules(tokenisation: Tokenisation) -> None:
    """Each of the 1,114,112 code points, surrogates too, in all places that matter."""
    split = tokens if tokenisation == "squad" else tokens_of_any_script
    for start in range(0, sys.maxunicode + 1, _SOME):
        characters = [chr(code) for code in range(start, start + _SOME)]
        text = "\n".join(_AROUND.format(character) for character in characters)
        assert_numbered_by_the_rules([text], tokenisation)
        assert split(text) == RULES[tokenisation](text)
