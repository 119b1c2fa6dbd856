"""Canonical form of a text, in which the citation matcher of aidial-rag-eval 0.7.0 compares facts and chunks."""

from __future__ import annotations

import re

TWO_WHEN_LOWER = "İ"
"""The only character whose lower case is two; the package's highlights shift by one after it."""

_ASCII = "".join(c.lower() if c.isalnum() else " " for c in map(chr, range(128))).encode().ljust(256)
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def canonical(text: str) -> str:
    """Turn each run of characters that are not alphanumeric into one space, and letters to lower case.

    Nothing is trimmed, so an outer space of a fact must be met in the chunk too.
    """
    if text.isascii():
        spaced = text.encode().translate(_ASCII).decode()
        while "  " in spaced:
            spaced = spaced.replace("  ", " ")
        return spaced
    # The matcher lowers letter by letter and so never makes a final sigma; lower() of a whole text would.
    return _NOT_ALPHANUMERIC.sub(" ", text).replace("Σ", "σ").lower()


def is_usable(fact: str) -> bool:
    """Whether a fact holds a letter or digit; one without is found in every chunk that has a space."""
    return any(character.isalnum() for character in fact)


def canonical_origins(text: str) -> list[int]:
    """Index in the text of each character of its canonical form, and the text's length."""
    origins: list[int] = []
    done = 0
    for run in _NOT_ALPHANUMERIC.finditer(text):
        origins.extend(range(done, run.start() + 1))
        done = run.end()
    origins.extend(range(done, len(text)))
    if TWO_WHEN_LOWER in text:
        origins = [origin for origin in origins for _ in range(1 + (text[origin] == TWO_WHEN_LOWER))]
    return [*origins, len(text)]
