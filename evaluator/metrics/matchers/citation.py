"""Citation matcher: a context holds a fact if it contains it, letter by letter, marks and case aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.matchers.canonical import canonical, is_usable
from evaluator.metrics.matchers.canonical_lines import CanonicalLines
from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Span, Spans, checked_work
from evaluator.metrics.metric import ScoredBy

_MOST = 1_000_000_000  # Steps; some seconds, and a thousand times what the largest rows of a deployment take.


@dataclass(frozen=True)
class CitationMatcher:
    """A fact is held by a context that contains it, once all but letters and digits is one space and lower case.

    As in aidial-rag-eval 0.7.0: no word boundaries, and an outer space or full stop of the fact must be met too.
    `trimmed=True` leaves out a fact's outer spaces and marks, so that `The sky is blue.` is found in a context that
    ends in `the sky is blue`.

    Raises UnscorableRowError with `too_long` for thousands of facts in megabytes of contexts, which takes minutes.
    """

    trimmed: bool = False

    judge = ScoredBy.LEXICAL

    @property
    def name(self) -> str:
        """Empty, or `trimmed`."""
        return "trimmed" if self.trimmed else ""

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1"

    def finder(self) -> FindFacts:
        """Give a function that remembers nothing."""
        return self._find

    def _find(self, facts: Sequence[str], contexts: Sequence[str]) -> FactsFound:
        checked_work(facts, contexts, _MOST)
        lines = CanonicalLines.of(contexts)
        held: list[list[int]] = [[] for _ in contexts]
        for index, fact in enumerate(facts):
            for line, _ in lines.places(self._form(fact)):
                held[line].append(index)
        return FactsFound.of(held, len(facts))

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Give where each context says each fact first."""
        checked_work(facts, contexts, _MOST)
        lines = CanonicalLines.of(contexts)
        spans: list[list[tuple[int, Span]]] = [[] for _ in contexts]
        for index, fact in enumerate(facts):
            form = self._form(fact)
            for line, at in lines.places(form):
                spans[line].append((index, lines.span(line, at, len(form))))
        return spans

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit; one without is found in every context that has a space."""
        return is_usable(fact)

    def _form(self, fact: str) -> str:
        return canonical(fact).strip() if self.trimmed else canonical(fact)


CITATION = CitationMatcher()
"""Finds a fact where a context holds its words, whatever the case and the marks between them; the default."""
TRIMMED = CitationMatcher(trimmed=True)
"""The same without the outer spaces and marks of a fact."""


def fact_ranks(facts: Sequence[str], contexts: Sequence[str]) -> Sequence[int]:
    """Rank of the first chunk, from 0, that contains each fact; `ABSENT` where none does.

    A fact is in a chunk if its canonical form is a substring of the chunk's. There are no word boundaries: `12`
    stands in `2012`. A fact that a chunk's border cuts is absent.
    """
    return CITATION.finder()(facts, contexts).ranks
