"""Citation matcher: a context holds a fact if it contains it, letter by letter, marks and case aside."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from evaluator.metrics.language.numbers import Number, numbers_in
from evaluator.metrics.matchers.canonical import canonical, is_usable
from evaluator.metrics.matchers.canonical_lines import CanonicalLines, canonical_forms
from evaluator.metrics.matchers.matcher import FactsFound, FindFacts, Span, Spans, checked_work
from evaluator.metrics.scores import ScoredBy
from lake.spec.texts.unicode_forms import UnicodeForm, in_one_form

_FIRST = itemgetter(0)

_DIGIT = re.compile(r"\d")
_WRITTEN_NUMBER = re.compile(r"\d+(?: \d+)*")
_ANY_NUMBER = r"(?<!\d)\d{1,40}(?: \d{1,9}){0,6}"
_NEAR = 40
"""Characters around a fact that decide what its first and last numbers are."""
_SIGN_WORDS = ("minus", "moins", "menos", "meno", "минус", "мінус")
_LEAST_ANCHOR = 6
"""Characters of words that are looked for; shorter ones stand everywhere."""
_FIRST_WORD = re.compile(r"[^\W\d_]{2,}(?=\s)")
_LAST_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}\Z")
_SENTENCE_BEFORE = re.compile(r"(?:\A|[^\W\d][.!?:;]\s)\Z")
_MARK_AFTER = re.compile(r"[.,;:!?)]*(?:\s|\Z)")
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
        """Return a function that remembers nothing."""
        return self._find

    def _find(self, facts: Sequence[str], contexts: Sequence[str]) -> FactsFound:
        checked_work(facts, contexts, _MOST)
        lines = CanonicalLines.of(tuple(contexts if self.as_written else map(in_one_form, contexts)))
        held: list[list[int]] = [[] for _ in contexts]
        for index, written in enumerate(facts):
            fact, form, has_numbers = self._read(written)
            for line in _lines_with_numbers(fact, form, lines) if has_numbers else map(_FIRST, lines.places(form)):
                held[line].append(index)
        return FactsFound.of(held, len(facts))

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Return where each context says each fact first."""
        if self.as_written and not self.trimmed:
            return spans_as_written(facts, canonical_forms(facts), contexts)
        checked_work(facts, contexts, _MOST)
        forms = [self._in_form(context) for context in contexts]
        lines = CanonicalLines.of([form.text for form in forms])
        held: list[list[tuple[int, Span]]] = [[] for _ in contexts]
        for index, written in enumerate(facts):
            fact, form, has_numbers = self._read(written)
            places: Iterable[tuple[int, int, int]] = (
                _places_with_numbers(fact, form, lines, set())
                if has_numbers
                else ((line, at, len(form)) for line, at in lines.places(form))
            )
            for line, at, length in places:
                held[line].append((index, forms[line].span(*lines.span(line, at, length))))
        return held

    def _read(self, written: str) -> tuple[str, str, bool]:
        """Return a fact in its Unicode form, in its canonical form, and whether numbers of it are to be compared."""
        fact = written if self.as_written else in_one_form(written)
        form = canonical(fact).strip() if self.trimmed else canonical(fact)
        return fact, form, not self.as_written and _DIGIT.search(fact) is not None

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


def spans_as_written(facts: Sequence[str], forms: Sequence[str], contexts: Sequence[str]) -> Spans:
    """Return what `AIDIAL_RAG_EVAL.spans` does, of facts whose canonical forms are known."""
    checked_work(facts, contexts, _MOST)
    lines = CanonicalLines.of(contexts)
    held: list[list[tuple[int, Span]]] = [[] for _ in contexts]
    for index, form in enumerate(forms):
        for line, at in lines.places(form):
            held[line].append((index, lines.span(line, at, len(form))))
    return held


def fact_ranks(facts: Sequence[str], contexts: Sequence[str]) -> Sequence[int]:
    """Rank of the first chunk, from 0, that contains each fact; `ABSENT` where none does.

    A fact is in a chunk if its canonical form is a substring of the chunk's, and its numbers are the same. A fact that
    a chunk's border cuts is absent.
    """
    return CITATION.finder()(facts, contexts).ranks


def _lines_with_numbers(fact: str, form: str, lines: CanonicalLines) -> Iterator[int]:
    """Yield each line that holds a fact with the same numbers."""
    anchor = _anchor(form)
    if anchor is None:
        yield from map(_FIRST, _places_with_numbers(fact, form, lines, set()))
        return
    done, has_others = set[int](), False
    for line, _ in lines.places(anchor):
        context = lines.contexts[line]
        start = context.find(fact)
        if start >= 0 and _is_read_alike(fact, context, start):
            done.add(line)
            yield line
        else:
            has_others = True
    if has_others:
        yield from map(_FIRST, _places_with_numbers(fact, form, lines, done))


def _places_with_numbers(fact: str, form: str, lines: CanonicalLines, done: set[int]) -> Iterator[tuple[int, int, int]]:
    """Yield each line that holds a fact with the same numbers, where it begins first and its length.

    `done` are lines that are not asked for.
    """
    wanted: list[Number] | None = None
    for line, at, length in _candidates(form, lines, done):
        if line in done:
            continue
        start, end = lines.span(line, at, length)
        context = lines.contexts[line]
        if not _is_read_alike(fact, context, start):
            wanted = numbers_in(fact) if wanted is None else wanted
            if not _has_numbers(context, (start, end), wanted):
                continue
        done.add(line)
        yield line, at, length


def _is_read_alike(fact: str, context: str, start: int) -> bool:
    """Whether a fact stands there as it is written, and nothing beside it makes other numbers of its own.

    Most facts do, and to read numbers takes ten times as long. A sign, a digit, a currency or a word such as million
    may stand beside.
    """
    if not context.startswith(fact, start):
        return False
    end = start + len(fact)
    if context[start - 1 : start].isalnum() or context[end : end + 1].isalnum():
        return False
    if fact[-1] not in ".!?" and _DIGIT.search(context, end, end + 3):
        return False
    first = _FIRST_WORD.match(fact)
    begins_alike = (
        first[0].lower() not in _SIGN_WORDS if first else _SENTENCE_BEFORE.search(context[max(0, start - 3) : start])
    )
    if not begins_alike:
        return False
    if _LAST_WORD.search(fact[-_NEAR:]):
        return True
    is_closed = fact[-1] in ".!?%)" or context[end : end + 1] in ("", *".,;:!?)")
    return is_closed and _MARK_AFTER.match(context, end) is not None


def _candidates(form: str, lines: CanonicalLines, done: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the line, beginning and length of all that says a fact, with its numbers or any others.

    `done` are lines whose places need not be given.
    """
    text = lines.text
    common = _anchor(form)
    anchor = form if common is None else common
    has_others = common is None
    before = form.index(anchor)
    line = counted = 0
    at = text.find(anchor, before)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        if text.startswith(form, at - before):
            yield line, at - before, len(form)
        has_others |= line not in done
        at = text.find(anchor, at + 1)
    # Most facts stand nowhere but where they are as written, and a pattern takes long to make.
    if not has_others:
        return
    line = counted = 0
    for found in re.finditer(_ANY_NUMBER.join(map(re.escape, _WRITTEN_NUMBER.split(form))), text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        yield line, counted, found.end() - counted


def _anchor(form: str) -> str | None:
    """Return the longest words that all ways of writing a fact have in common; None where they are short."""
    longest = max(_WRITTEN_NUMBER.split(form), key=len)
    return longest if len(longest) >= _LEAST_ANCHOR else None


def _has_numbers(context: str, span: Span, wanted: Sequence[Number]) -> bool:
    start, end = span
    first = max(0, start - _NEAR)
    there = [
        one for one in numbers_in(context[first : end + _NEAR]) if one.start < end - first and start - first < one.end
    ]
    return len(there) == len(wanted) and all(map(Number.agrees_with, wanted, there))
