"""Places of the facts of a case in its chunks, as the citation matcher finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.metrics import CITATION
from evaluator.metrics.cells import UnscorableRowError
from lake.queries.ground_truth.cases import FactPlace


def found_places(facts: Sequence[str], chunks: Sequence[str]) -> list[FactPlace | None]:
    """Return the first place of each fact, None where no chunk holds it.

    Raises UnscorableRowError for thousands of facts in megabytes of chunks.
    """
    found: dict[int, FactPlace] = {}
    for chunk, spans in enumerate(CITATION.spans(facts, chunks)):
        for number, (start, end) in spans:
            found.setdefault(number, (chunk, start, end))
    return [found.get(number) for number in range(len(facts))]


def places_of(case: Mapping[str, Any]) -> list[FactPlace | None]:
    """Return where each fact of a case stands: as the case has it, else in the first chunk where it is found."""
    facts, chunks = [one or "" for one in case["facts"] or ()], [one or "" for one in case["context"] or ()]
    citations = list(case["citations"] or ())
    citations += [None] * (len(facts) - len(citations))
    try:
        places = found_places(facts, chunks)
    except UnscorableRowError:
        places = [None] * len(facts)
    return [_stored(citation, chunks) or place for citation, place in zip(citations, places, strict=False)]


def _stored(citation: Mapping[str, Any] | None, chunks: Sequence[str]) -> FactPlace | None:
    if citation is None or None in (citation["chunk"], citation["start"], citation["end"]):
        return None
    chunk, start, end = citation["chunk"], citation["start"], citation["end"]
    is_there = 0 <= chunk < len(chunks) and 0 <= start < end <= len(chunks[chunk])
    return (chunk, start, end) if is_there else None
