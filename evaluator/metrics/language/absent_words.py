"""Words of a text that stand in none of some other texts, as character positions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluator.metrics.language.scripts import words_of
from evaluator.metrics.language.tokens import Tokenisation, tokeniser

Span = tuple[int, int]
"""Characters of a text: start and end."""

_BETWEEN_WORDS = re.compile(r"\s*")


def absent_words(text: str, others: Sequence[str], tokenisation: Tokenisation = "squad") -> list[Span]:
    """Give the places of the words of `text` of which a token occurs in none of `others`, in order.

    Neighbours are one place. How often a word occurs is not compared: one that stands in `others` once is never absent.
    """
    split = tokeniser(tokenisation)
    known = {token for other in others for token in split(other)}
    places: list[Span] = []
    for start, end in words_of(text, by_script=tokenisation != "squad"):
        word = text[start:end]
        # Most words are tokens but for their case, and to split each takes as long as all else.
        if word.lower() in known or known.issuperset(split(word)):
            continue
        if places and _BETWEEN_WORDS.fullmatch(text, places[-1][1], start):
            places[-1] = (places[-1][0], end)
        else:
            places.append((start, end))
    return places
