"""Where the facts of a case stand in its contexts: word for word, whatever the case and the marks between the words.

That is what the citation matcher of the metrics finds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_WORD = re.compile(r"[^\W_]+")

Place = tuple[int, int, int]
"""A context, from 0, and the characters of it: start and end."""


def places_of(facts: Sequence[str], contexts: Sequence[str]) -> list[Place | None]:
    """Give the first place of each fact; None where it stands nowhere, or has no letter and no digit."""
    return [_place_of(fact, contexts) for fact in facts]


def citations_of(
    facts: Sequence[str], contexts: Sequence[str], statements: Mapping[str, str | None]
) -> list[dict[str, Any]] | None:
    """Give `ground_truth.citations` of facts, each with what it says in other words; None without contexts."""
    if not contexts:
        return None
    places = [place or (None, None, None) for place in places_of(facts, contexts)]
    return [
        {"statement": statements.get(fact), "chunk": chunk, "start": start, "end": end}
        for fact, (chunk, start, end) in zip(facts, places, strict=True)
    ]


def _place_of(fact: str, contexts: Sequence[str]) -> Place | None:
    words = _WORD.findall(fact)
    if not words:
        return None
    pattern = re.compile(r"[\W_]+".join(map(re.escape, words)), re.IGNORECASE)
    for number, context in enumerate(contexts):
        if found := pattern.search(context):
            return number, found.start(), found.end()
    return None
