"""The citation matcher and the exact matcher: a fact as a part of a chunk, or as the whole of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.metrics.citation import canonical, canonical_span, canoniser, is_usable
from evaluator.metrics.matching import FactsFound, FindFacts, Span


@dataclass(frozen=True)
class CitationMatcher:
    """A fact is held by a context that contains it, once all but letters and digits is one space and lower case.

    As in aidial-rag-eval 0.7.0: no word boundaries, and an outer space or full stop of the fact must be met too.
    `trimmed=True` leaves out a fact's outer spaces and marks, so that `The sky is blue.` is found in a context that
    ends in `the sky is blue`.
    """

    trimmed: bool = False

    judge = "lexical"

    @property
    def name(self) -> str:
        """Empty, or `trimmed`."""
        return "trimmed" if self.trimmed else ""

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def finder(self) -> FindFacts:
        """Give a function that brings each distinct text to its canonical form once."""
        canonise = canoniser()
        return lambda facts, contexts: self._find(facts, contexts, canonise)

    def _find(self, facts: Sequence[str], contexts: Sequence[str], canonise: Callable[[str], str]) -> FactsFound:
        looked_for = list(enumerate(self._form(canonise(fact)) for fact in facts))
        chunks = [canonise(context) for context in contexts]
        return FactsFound.of([[i for i, fact in looked_for if fact in chunk] for chunk in chunks], len(facts))

    def span(self, fact: str, context: str) -> Span | None:
        """Give where the context says the fact first."""
        return canonical_span(self._form(canonical(fact)), context)

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit; one without is found in every context that has a space."""
        return is_usable(fact)

    def _form(self, fact: str) -> str:
        return fact.strip() if self.trimmed else fact


@dataclass(frozen=True)
class ExactMatcher:
    """A fact is held by a context that is the same string: for page names and ids (aidial-rag-eval 0.7.0)."""

    judge = "lexical"

    @property
    def name(self) -> str:
        """`exact`."""
        return "exact"

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def finder(self) -> FindFacts:
        """Give a function that compares strings."""
        return _find_equal

    def span(self, fact: str, context: str) -> Span | None:
        """Give the whole context where it is the fact."""
        return (0, len(context)) if fact == context else None

    def is_usable(self, fact: str) -> bool:
        """Whether it is not empty; a page may be called by a mark."""
        return bool(fact)


def _find_equal(facts: Sequence[str], contexts: Sequence[str]) -> FactsFound:
    return FactsFound.of([[i for i, fact in enumerate(facts) if fact == context] for context in contexts], len(facts))


CITATION = CitationMatcher()
TRIMMED = CitationMatcher(trimmed=True)
EXACT = ExactMatcher()
