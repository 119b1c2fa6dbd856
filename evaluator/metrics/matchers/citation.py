"""Citation matcher: a context holds a fact if it contains it, letter by letter, marks and case aside."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from evaluator.metrics.language.numbers import Number, numbers_in
from evaluator.metrics.language.unicode_forms import UnicodeForm
from evaluator.metrics.matchers.canonical import canonical, is_usable
from evaluator.metrics.matchers.canonical_lines import CanonicalLines
from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Span, Spans, checked_work
from evaluator.metrics.metric import ScoredBy

_Place = tuple[int, int]
"""Where a fact begins in the lines of a row, and its length there."""

_DIGIT = re.compile(r"\d")
_WRITTEN_NUMBER = re.compile(r"\d+(?: \d+)*")
_ANY_NUMBER = r"(?<!\d)\d{1,40}(?: \d{1,9}){0,6}"
_NEAR = 40
"""Characters around a fact that decide what its first and last numbers are."""
_EDGE = 12
"""Characters at the ends of a fact in which a number may depend on what stands beside the fact."""
_MOST = 1_000_000_000  # Steps; some seconds, and a thousand times what the largest rows of a deployment take.


@dataclass(frozen=True)
class CitationMatcher:
    """A fact is held by a context that contains it, once all but letters and digits is one space and lower case.

    Texts are compared in one Unicode form, and numbers by value: -20 is not 20, 12 does not stand in 2012. Else as in
    aidial-rag-eval 0.7.0: no word boundaries, and an outer space or full stop of the fact must be met too.
    `trimmed=True` leaves out a fact's outer spaces and marks, so that `The sky is blue.` is found in a context that
    ends in `the sky is blue`. `as_written=True` is the package's own rule: it compares characters, also of numbers.

    Raises UnscorableRowError with `too_long` for thousands of facts in megabytes of contexts, which takes minutes.
    """

    trimmed: bool = False
    as_written: bool = False

    judge = ScoredBy.LEXICAL

    @property
    def name(self) -> str:
        """Empty, `trimmed`, or `aidial_rag_eval` for texts as they are written."""
        return "_".join(
            [*(["trimmed"] if self.trimmed else []), *(["aidial_rag_eval"] if self.as_written else [])],
        )

    @property
    def version(self) -> str:
        """Version of the rule."""
        return "1" if self.as_written else "2"

    def finder(self) -> FindFacts:
        """Give a function that remembers nothing."""
        return self._find

    def _find(self, facts: Sequence[str], contexts: Sequence[str]) -> FactsFound:
        _, places = self._places(facts, tuple(self._in_form(context).text for context in contexts))
        return FactsFound.of([[index for index, _ in of_context] for of_context in places], len(facts))

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Give where each context says each fact first."""
        forms = [self._in_form(context) for context in contexts]
        lines, places = self._places(facts, [form.text for form in forms])
        return [
            [(index, forms[line].span(*lines.span(line, *place))) for index, place in of_context]
            for line, of_context in enumerate(places)
        ]

    def _places(
        self, facts: Sequence[str], contexts: Sequence[str]
    ) -> tuple[CanonicalLines, list[list[tuple[int, _Place]]]]:
        """Give for each context, in its form, the facts that it holds, with their first places in the lines."""
        checked_work(facts, contexts, _MOST)
        lines = CanonicalLines.of(contexts)
        held: list[list[tuple[int, _Place]]] = [[] for _ in contexts]
        for index, written in enumerate(facts):
            fact = self._in_form(written).text
            form = canonical(fact).strip() if self.trimmed else canonical(fact)
            if self.as_written or not _DIGIT.search(fact):
                places: Iterable[tuple[int, int, int]] = ((line, at, len(form)) for line, at in lines.places(form))
            else:
                places = _places_with_numbers(fact, form, lines)
            for line, *place in places:
                held[line].append((index, (place[0], place[1])))
        return lines, held

    def _in_form(self, text: str) -> UnicodeForm:
        return UnicodeForm(text, text) if self.as_written else UnicodeForm.of(text)

    def is_usable(self, fact: str) -> bool:
        """Whether it has a letter or digit; one without is found in every context that has a space."""
        return is_usable(fact)


CITATION = CitationMatcher()
"""Finds a fact where a context holds its words, whatever the case and the marks between them; the default."""
TRIMMED = CitationMatcher(trimmed=True)
"""The same without the outer spaces and marks of a fact."""
AIDIAL_RAG_EVAL = CitationMatcher(as_written=True)
"""The same character by character, as aidial-rag-eval 0.7.0 compares: for tables to be exchanged."""


def fact_ranks(facts: Sequence[str], contexts: Sequence[str]) -> Sequence[int]:
    """Rank of the first chunk, from 0, that contains each fact; `ABSENT` where none does.

    A fact is in a chunk if its canonical form is a substring of the chunk's, and its numbers are the same. A fact that
    a chunk's border cuts is absent.
    """
    return CITATION.finder()(facts, contexts).ranks


def _places_with_numbers(fact: str, form: str, lines: CanonicalLines) -> Iterator[tuple[int, int, int]]:
    """Give each line that holds a fact with the same numbers, where it begins first and its length."""
    done = set[int]()
    wanted: list[Number] | None = None
    has_numbers_within = _DIGIT.search(fact[:_EDGE] + fact[-_EDGE:]) is None
    for line, at, length in _candidates(form, lines, done):
        if line in done:
            continue
        start, end = lines.span(line, at, length)
        context = lines.contexts[line]
        if not (has_numbers_within and context[start:end] == fact):
            wanted = numbers_in(fact) if wanted is None else wanted
            if not _has_numbers(context, (start, end), wanted):
                continue
        done.add(line)
        yield line, at, length


def _candidates(form: str, lines: CanonicalLines, done: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Give the line, beginning and length of all that says a fact, with its numbers or any others.

    `done` are lines whose places need not be given.
    """
    text = lines.text
    line = counted = 0
    at = text.find(form)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        yield line, at, len(form)
        at = text.find(form, at + 1)
    words = _WRITTEN_NUMBER.split(form)
    # Most facts stand nowhere but where they are as written, and a pattern takes long to make.
    if all(line in done for line, _ in lines.places(max(words, key=len))):
        return
    line = counted = 0
    for found in re.finditer(_ANY_NUMBER.join(map(re.escape, words)), text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        yield line, counted, found.end() - counted


def _has_numbers(context: str, span: Span, wanted: Sequence[Number]) -> bool:
    start, end = span
    first = max(0, start - _NEAR)
    there = [
        one for one in numbers_in(context[first : end + _NEAR]) if one.start < end - first and start - first < one.end
    ]
    return len(there) == len(wanted) and all(map(Number.agrees_with, wanted, there))
