"""Tokens as unitxt counts them: the normalisation of SQuAD, and how many tokens two texts share."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

_ASCII_SPACES = "\t\n\r\v\f\x1c\x1d\x1e\x1f"
_DELETIONS = str.maketrans(_ASCII_SPACES, " " * len(_ASCII_SPACES), string.punctuation)
_ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")

TokenCounts = Mapping[str, int]


def tokens(text: str) -> list[str]:
    """Split a text as unitxt does for token overlap (the SQuAD rules, in this order).

    Lower-case; delete the 32 ASCII punctuation marks and leave no space, so `state-of-the-art` is one token and
    `3.14` is `314`; put a space for the words a, an and the; split at whitespace.
    """
    plain = text.lower().translate(_DELETIONS)
    if plain.isascii() and plain.isprintable():
        # Only letters, digits and spaces are left, so a word's border is a space: no need to search for borders.
        return [token for token in plain.split() if token not in _ARTICLES]
    return _ARTICLE.sub(" ", plain).split()


def token_counter() -> Callable[[str], TokenCounts]:
    """Give a function from a text to the counts of its tokens that splits each distinct text once."""
    return cache(lambda text: Counter(tokens(text)))


def shared_tokens(counted: TokenCounts, *others: TokenCounts) -> int:
    """Size of the multiset intersection of `counted` with all of `others` taken together."""
    return sum(min(count, sum(other.get(token, 0) for other in others)) for token, count in counted.items())
