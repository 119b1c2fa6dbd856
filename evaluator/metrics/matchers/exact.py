"""Exact matcher: a context holds a fact if it is the same string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Spans
from evaluator.metrics.scores import ScoredBy


@dataclass(frozen=True)
class ExactMatcher:
    """A fact is held by a context that is the same string: for page names and ids (aidial-rag-eval 0.7.0)."""

    judge = ScoredBy.LEXICAL

    @property
    def name(self) -> str:
        """`exact`."""
        return "exact"

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "2"

    def finder(self) -> FindFacts:
        """Return a function that compares strings."""
        return _find_equal

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Return the whole of each context that is a fact."""
        return [[(i, (0, len(context))) for i, fact in enumerate(facts) if fact == context] for context in contexts]

    def is_usable(self, fact: str) -> bool:
        """Whether it is not empty; a page may be called by a mark."""
        return bool(fact)


def _find_equal(facts: Sequence[str], contexts: Sequence[str]) -> FactsFound:
    return FactsFound.of([[i for i, fact in enumerate(facts) if fact == context] for context in contexts], len(facts))


EXACT = ExactMatcher()
"""Finds a fact where it is the whole context."""
