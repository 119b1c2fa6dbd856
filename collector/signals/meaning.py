"""Meaning of a candidate, found from its texts: a value, a confidence, and the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from collector.signals.candidates import SignalCandidate
from collector.signals.lexicon import Lexicon
from lake.spec.vocabulary import Signal

REGENERATE_CONFIDENCE = 0.6
EDIT_CONFIDENCE = 0.4
_VALUES: Mapping[str, float] = {Signal.REGENERATE: -0.5, Signal.EDIT: -0.5, Signal.CORRECTION: -1.0}
_LEAST_SIMILARITY = 0.6
_MOST_CHARACTERS = 2_000
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class RequestTexts:
    """The texts of a request."""

    question: str | None
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """Value from -1 to 1, confidence from 0 to 1, and what was seen."""

    value: float
    confidence: float
    seen: Mapping[str, Any] = field(default_factory=dict)


def meaning(candidate: SignalCandidate, asked: Mapping[str, RequestTexts], lexicon: Lexicon) -> Meaning | None:
    """Return the meaning of a candidate, None if it has none; `asked` has the texts of its requests by event id."""
    value = _VALUES[candidate.signal]
    if candidate.signal == Signal.REGENERATE:
        return Meaning(value, REGENERATE_CONFIDENCE)
    earlier, later = asked.get(candidate.earlier.event_id), asked.get(candidate.later.event_id)
    if later is None or earlier is None:
        return None
    if candidate.signal == Signal.EDIT:
        similarity = edit_similarity(earlier, later)
        return Meaning(value, EDIT_CONFIDENCE, {"similarity": similarity}) if similarity is not None else None
    found = lexicon.find_rejection(later.question)
    if found is None:
        return None
    return Meaning(value, found.confidence, {"phrase": found.phrase, "language": found.language})


def edit_similarity(earlier: RequestTexts, later: RequestTexts) -> float | None:
    """Share of words that two questions have in common in the same order, from 0.6 to 1; None where it is no edit.

    Two questions about other documents are no edit, nor are two equal texts, nor two that have less in common: those
    are two questions of a client that does not send the history. Python's `SequenceMatcher.ratio` over words, or
    over characters where a script has no spaces.
    """
    if not earlier.question or not later.question or earlier.documents != later.documents:
        return None
    one, other = (_words(text.question or "") for text in (earlier, later))
    if earlier.question == later.question or not one or not other:
        return None
    ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
    return round(ratio, 2) if ratio >= _LEAST_SIMILARITY else None


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_MOST_CHARACTERS].casefold())
