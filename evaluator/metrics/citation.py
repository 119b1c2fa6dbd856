"""Where facts stand in retrieved chunks, decided as the citation matcher of aidial-rag-eval 0.7.0 does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

ABSENT = -1

_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_TWO_WHEN_LOWER = "İ"  # The only character whose lower case is two; the package's highlights shift by one after it.
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def canonical(text: str) -> str:
    """Turn each run of characters that are not alphanumeric into one space, and letters to lower case.

    Nothing is trimmed, so an outer space of a fact must be met in the chunk too.
    """
    if text.isascii():
        spaced = text.translate(_ASCII)
        while "  " in spaced:
            spaced = spaced.replace("  ", " ")
        return spaced
    # The matcher lowers letter by letter and so never makes a final sigma; lower() of a whole text would.
    return _NOT_ALPHANUMERIC.sub(" ", text).replace("Σ", "σ").lower()


def canoniser() -> Callable[[str], str]:
    """Give a `canonical` that works on each distinct text once."""
    return cache(canonical)


def is_usable(fact: str) -> bool:
    """Whether a fact holds a letter or digit; one without is found in every chunk that has a space."""
    return any(character.isalnum() for character in fact)


def canonical_span(fact: str, text: str) -> tuple[int, int] | None:
    """Characters of a text that a canonical fact stands in first, start and end; None where it does not.

    A run of spaces and marks that the fact ends in belongs to it as a whole.
    """
    start = canonical(text).find(fact)
    if start < 0:
        return None
    origins = canonical_origins(text)
    return origins[start], origins[start + len(fact)]


def canonical_origins(text: str) -> list[int]:
    """Index in the text of each character of its canonical form, and the text's length."""
    origins: list[int] = []
    done = 0
    for run in _NOT_ALPHANUMERIC.finditer(text):
        origins.extend(range(done, run.start() + 1))
        done = run.end()
    origins.extend(range(done, len(text)))
    if _TWO_WHEN_LOWER in text:
        origins = [origin for origin in origins for _ in range(1 + (text[origin] == _TWO_WHEN_LOWER))]
    return [*origins, len(text)]


def fact_ranks(facts: Sequence[str], contexts: Sequence[str], canonise: Callable[[str], str] = canonical) -> list[int]:
    """Rank of the first chunk, from 0, that contains each fact; `ABSENT` where none does.

    A fact is in a chunk if its canonical form is a substring of the chunk's. There are no word boundaries: `12`
    stands in `2012`. A fact that a chunk's border cuts is absent.
    """
    chunks = [canonise(context) for context in contexts]
    return [_first_containing(canonise(fact), chunks) for fact in facts]


def _first_containing(fact: str, chunks: Sequence[str]) -> int:
    return next((rank for rank, chunk in enumerate(chunks) if fact in chunk), ABSENT)
