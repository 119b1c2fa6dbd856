"""Tokens as unitxt counts them: the normalisation of SQuAD, and how many tokens two texts share."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from runtime.words import has_unspaced, split_unspaced, unspaced_places

ASCII_SPACES = "\t\n\r\v\f\x1c\x1d\x1e\x1f"
PUNCTUATION = string.punctuation.encode()
_TO_SPACES = bytes.maketrans(ASCII_SPACES.encode(), b" " * len(ASCII_SPACES))
ARTICLES = frozenset(("a", "an", "the"))
# The words a, an and the: a pattern that begins with a letter is found faster than one that begins with a border.
_ARTICLE = re.compile(r"(?:a(?<!\wa)n?|t(?<!\wt)he)\b")

TokenCounts = Mapping[str, int]
Tokenisation = Literal["squad", "any_script"]


def tokens(text: str) -> list[str]:
    """Split a text as unitxt does for token overlap (the SQuAD rules, in this order).

    Lower-case; delete the 32 ASCII punctuation marks and leave no space, so `state-of-the-art` is one token and
    `3.14` is `314`; put a space for the words a, an and the; split at whitespace.
    """
    # Bytes, for they are translated ten times faster; those of other characters are no ASCII.
    code = text.lower().encode("utf-8", "surrogatepass")
    plain = code.translate(_TO_SPACES, PUNCTUATION).decode("utf-8", "surrogatepass")
    if plain.isascii() and plain.isprintable():
        # Only letters, digits and spaces are left, so a word's border is a space: no need to search for borders.
        return [token for token in plain.split() if token not in ARTICLES]
    return _ARTICLE.sub(" ", plain).split()


def tokens_of_any_script(text: str) -> list[str]:
    """Split a text as `tokens` does, and words of scripts without spaces further, as `split_unspaced` does."""
    squad = tokens(text)
    return [piece for token in squad for piece in split_unspaced(token)] if has_unspaced(text) else squad


def changing_places(plain: str, tokenisation: Tokenisation) -> list[int]:
    """Return places in a text without capitals and ASCII punctuation, each within a word that is not one token."""
    places = [match.start() for match in _ARTICLE.finditer(plain)]
    return places if tokenisation == "squad" else places + unspaced_places(plain)


def tokens_of_plain(plain: str, tokenisation: Tokenisation) -> list[str]:
    """Split a text without capitals and ASCII punctuation as the function of `tokeniser` does."""
    squad = _ARTICLE.sub(" ", plain).split()
    return squad if tokenisation == "squad" else [piece for token in squad for piece in split_unspaced(token)]


def tokeniser(tokenisation: Tokenisation) -> Callable[[str], list[str]]:
    """Return the function that splits a text in this way."""
    return tokens if tokenisation == "squad" else tokens_of_any_script


def token_counter(tokenisation: Tokenisation = "squad") -> Callable[[str], TokenCounts]:
    """Return a function from a text to the counts of its tokens that splits each distinct text once."""
    split = tokeniser(tokenisation)
    return cache(lambda text: Counter(split(text)))


def shared_tokens(counted: TokenCounts, other: TokenCounts) -> int:
    """Size of the multiset intersection."""
    return sum(min(count, other[token]) for token, count in counted.items() if token in other)
