"""The words of a search: which of them a text has, where they stand in it, and the part of a text around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SHORT = re.compile("[A-Za-z]{1,2}")
_AROUND = ".,;:?!…\"'“”‘’„«»()"
"""What a sentence has around its words, and is not searched."""
_BEFORE = 60
"""Characters of an excerpt before the first word that is searched."""


def wanted_words(text: str) -> list[str]:
    """Return the words of a search, each once, without the marks of a sentence around them.

    Words of at most two Latin letters, such as "in", are left out beside longer ones: they stand within many words.
    """
    words = list(dict.fromkeys(word.strip(_AROUND) or word for word in text.split()))
    return [one for one in words if not _SHORT.fullmatch(one)] or words


def words_in(text: str, words: Sequence[str]) -> list[str]:
    """Return the words that a text has, in upper or lower case, parts of longer words too."""
    said = text.casefold()
    return [word for word in words if word.casefold() in said]


def places_of(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where words stand in a text: start and end, in characters."""
    if words:
        # Of words with the same beginning the longest is marked.
        either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        yield from (found.span() for found in re.finditer(either, text, re.IGNORECASE))


def excerpt(text: str | None, most: int, words: Sequence[str] = ()) -> str | None:
    """Return at most so many characters of a text: its beginning, or the part that has the first of the words."""
    if text is None or len(text) <= most:
        return text
    first = next(places_of(text, words), (0, 0))
    if first[1] < most:
        return text[: most - 1] + "…"
    begin = min(first[0] - _BEFORE, len(text) - most + 1)
    end = begin + most - 2
    return f"…{text[begin:]}" if end >= len(text) - 1 else f"…{text[begin:end]}…"
