"""Likeness of questions: which of many earlier ones asks nearly the same in nearly the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz import fuzz, process, utils

LEAST = 60.0
"""Per cent of likeness below which two questions are not alike."""
CHARACTERS = 300
"""Characters of a question that are compared."""


@dataclass(frozen=True, slots=True)
class Like:
    """Place of an earlier question in its list, and how alike it is in per cent."""

    place: int
    percent: float


def most_alike(questions: Sequence[str | None], earlier: Sequence[str | None]) -> list[Like | None]:
    """Give for each question the earlier one that is most like it, of equal ones the first; None where none is.

    Likeness is the mean of rapidfuzz's ratios of the sets of words and of the sorted words: the first alone takes a
    question of one word to be like each that has the word.
    """
    if not questions or not earlier:
        return [None] * len(questions)
    asked, known = _prepared(questions), _prepared(earlier)
    ratios = np.add(
        process.cdist(asked, known, scorer=fuzz.token_set_ratio, dtype=np.float32, workers=1),
        process.cdist(asked, known, scorer=fuzz.token_sort_ratio, dtype=np.float32, workers=1),
    )
    ratios /= 2
    # An empty question is like no other.
    ratios[:, [not text for text in known]] = 0
    ratios[[not text for text in asked], :] = 0
    places = ratios.argmax(axis=1)
    return [
        Like(int(place), float(row[place])) if row[place] >= LEAST else None
        for place, row in zip(places, ratios, strict=True)
    ]


def _prepared(texts: Sequence[str | None]) -> list[str]:
    return [utils.default_process((text or "")[:CHARACTERS]) for text in texts]
