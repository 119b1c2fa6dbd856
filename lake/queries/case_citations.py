"""Citations of a case: where each of its facts stands in its chunks, and what it says in other words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

FactPlace = tuple[int, int, int]
"""Chunk, from 0, and the characters in it where a fact begins and ends."""

FindPlaces = Callable[[Sequence[str], Sequence[str]], Sequence[FactPlace | None]]
"""Gives of each fact its first place in the chunks, None where it stands in none."""


def citations_of(
    facts: Sequence[str], chunks: Sequence[str], statements: Mapping[str, str | None], find: FindPlaces
) -> list[dict[str, Any]] | None:
    """Give `ground_truth.citations` of facts, with what each says in other words; None where there are no chunks."""
    if not chunks:
        return None
    places = [place or (None, None, None) for place in find(facts, chunks)]
    return [
        {"statement": statements.get(fact), "chunk": chunk, "start": start, "end": end}
        for fact, (chunk, start, end) in zip(facts, places, strict=True)
    ]


def statements_of(case: Mapping[str, Any]) -> dict[str, str | None]:
    """Give, by its fact, what each citation of a case says in other words."""
    both = zip(case["facts"] or (), case["citations"] or (), strict=False)
    return {fact: citation.get("statement") for fact, citation in both if citation is not None}
