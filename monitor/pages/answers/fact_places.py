"""Places of the facts of a case in its contexts: word for word, whatever the case and the marks between the words.

That is what the citation matcher of the metrics finds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lake.queries.ground_truth.cases import FactPlace

_WORD = re.compile(r"[^\W_]+")


def places_of(facts: Sequence[str], contexts: Sequence[str]) -> list[FactPlace | None]:
    """Return the first place of each fact; None where it stands nowhere, or has no letter and no digit."""
    return [_place_of(fact, contexts) for fact in facts]


def _place_of(fact: str, contexts: Sequence[str]) -> FactPlace | None:
    words = _WORD.findall(fact)
    if not words:
        return None
    pattern = re.compile(r"[\W_]+".join(map(re.escape, words)), re.IGNORECASE)
    for number, context in enumerate(contexts):
        if found := pattern.search(context):
            return number, found.start(), found.end()
    return None
