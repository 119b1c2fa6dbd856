"""Statement matcher: a context holds a fact if it says it in nearly the same words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from rapidfuzz import fuzz

from evaluator.metrics.matchers.canonical import canonical, canonical_origins, is_usable
from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Span, Spans, checked_work
from evaluator.metrics.scores import ScoredBy
from lake.spec.texts.unicode_forms import UnicodeForm, in_one_form

DEFAULT_THRESHOLD = 85.0
_LONGEST = 500
_MOST = 100_000_000  # Steps; some seconds, for a step by edits takes ten times one to the letter.


@dataclass(frozen=True)
class StatementMatcher:
    """A fact is held by a context that has a stretch of its length which is alike to `threshold` percent.

    Texts are taken as by the citation matcher, without outer spaces, and alike means rapidfuzz's `partial_ratio`: 100
    times the share of characters that stand in both in the same order. In a context that is shorter than the fact the
    whole is compared. It finds small edits and no paraphrases, and a wrong digit or a lost `not` is a small edit: where
    that matters, use citations.

    A statement of more than 500 characters is only looked for word by word, as a citation: comparing it by edits takes
    too long.
    """

    threshold: float = DEFAULT_THRESHOLD

    judge = ScoredBy.LEXICAL

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 100:
            raise ValueError(f"threshold is a percentage over 0 and up to 100, not {self.threshold!r}")

    @property
    def name(self) -> str:
        """`statement`."""
        return "statement"

    @property
    def version(self) -> str:
        """Version of the rule, with the threshold if another was chosen."""
        return "2" if self.threshold == DEFAULT_THRESHOLD else f"2-threshold={self.threshold:g}"

    def finder(self) -> FindFacts:
        """Return a function that brings each distinct text to its canonical form once."""
        stripped = cache(_stripped)
        return lambda facts, contexts: self._find(facts, contexts, stripped)

    def _find(self, facts: Sequence[str], contexts: Sequence[str], stripped: Callable[[str], str]) -> FactsFound:
        checked_work(facts, contexts, _MOST)
        looked_for = [stripped(fact) for fact in facts]
        chunks = [stripped(context) for context in contexts]
        held = [[i for i, fact in enumerate(looked_for) if self._stretch(fact, chunk)] for chunk in chunks]
        return FactsFound.of(held, len(facts))

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Return the stretch of each context that is most like a fact, where it is alike enough."""
        checked_work(facts, contexts, _MOST)
        found = [[(index, self._span(fact, context)) for index, fact in enumerate(facts)] for context in contexts]
        return [[(index, span) for index, span in of_context if span is not None] for of_context in found]

    def _span(self, fact: str, context: str) -> Span | None:
        form = UnicodeForm.of(context)
        spaced = canonical(form.text)
        stretch = self._stretch(_stripped(fact), spaced.strip())
        if stretch is None:
            return None
        origins, shift = canonical_origins(form.text), len(spaced) - len(spaced.lstrip())
        return form.span(origins[stretch[0] + shift], origins[stretch[1] + shift])

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit."""
        return is_usable(fact)

    def _stretch(self, fact: str, chunk: str) -> Span | None:
        start = chunk.find(fact)
        if start >= 0:
            return start, start + len(fact)
        if len(fact) > _LONGEST:
            return None
        # The other way round, any word of the fact would be a chunk that holds it.
        if len(chunk) <= len(fact):
            return (0, len(chunk)) if fuzz.ratio(fact, chunk) >= self.threshold else None
        best = fuzz.partial_ratio_alignment(fact, chunk, score_cutoff=self.threshold)
        return None if best is None else (best.dest_start, best.dest_end)


def _stripped(text: str) -> str:
    return canonical(in_one_form(text)).strip()


STATEMENT = StatementMatcher()
"""Finds a fact in nearly the same words."""
