"""Matcher of facts, and what it finds: where each fact stands, and how many facts each context holds."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from evaluator.metrics.cells import checked_size

if TYPE_CHECKING:
    import pandas as pd

ABSENT = -1
"""Rank of a fact that no context holds."""

_PER_CONTEXT = 500
"""Steps that finding a fact in one more context takes, however short it is; a character is one."""

Span = tuple[int, int]
"""Characters of a text: start and end."""

Spans = Sequence[Sequence[tuple[int, Span]]]
"""For each context, the indexes of the facts that it holds, in order, and the characters that hold them."""

FindFacts = Callable[[Sequence[str], Sequence[str]], "FactsFound"]


@dataclass(frozen=True)
class FactsFound:
    """Where facts stand among contexts.

    `ranks` are one a fact: the rank from 0 of the first context that holds it, `ABSENT` where none does. `counts` are
    one a context: how many of the facts it holds. A repeated context counts again, and so does a repeated fact.
    """

    ranks: Sequence[int]
    counts: Sequence[int]

    @classmethod
    def of(cls, held: Sequence[Sequence[int]], facts: int) -> FactsFound:
        """Return ranks and counts from the indexes of the facts that each context holds."""
        ranks = [ABSENT] * facts
        for rank in range(len(held) - 1, -1, -1):
            for index in held[rank]:
                ranks[index] = rank
        return cls(ranks, [len(indexes) for indexes in held])

    def first(self, k: int | None) -> FactsFound:
        """Return what is found in the first k contexts."""
        if k is None:
            return self
        ranks = [rank if rank < k else ABSENT for rank in self.ranks]
        return FactsFound(ranks, self.counts[:k])

    @property
    def found(self) -> int:
        """How many of the facts stand in some context."""
        return sum(rank != ABSENT for rank in self.ranks)


class FactMatcher(Protocol):
    """Decides whether a context holds a fact.

    `name` stands in the names of metrics that use it (empty for the citation matcher), `version` in their versions;
    `judge` is what it goes by, lexical or embedding. It can be hashed: metrics with equal matchers share what is found.
    """

    @property
    def judge(self) -> str: ...  # noqa: D102

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def version(self) -> str: ...  # noqa: D102

    def finder(self) -> FindFacts:
        """Return a function from facts and contexts to what is found; it may remember texts, so use one a frame."""
        ...

    def spans(self, facts: Sequence[str], contexts: Sequence[str]) -> Spans:
        """Return the first characters of each context that hold a fact, for each fact that it holds."""
        ...

    def is_usable(self, fact: str) -> bool:
        """Whether a fact can be looked for at all; one that cannot is an input error and not counted."""
        ...


def checked_work(facts: Sequence[str], contexts: Sequence[str], most: int) -> None:
    """Raise UnscorableRowError with `too_long` where looking for all facts in all contexts takes too many steps."""
    checked_size(len(facts) * sum(len(context) + _PER_CONTEXT for context in contexts), most)


class Finders:
    """The finder of each matcher, for metrics that score the same rows: the facts of a row are looked for once."""

    def __init__(self) -> None:
        self._finders: dict[FactMatcher, FindFacts] = {}

    def of(self, matcher: FactMatcher) -> FindFacts:
        """Return the finder that all metrics with this matcher share."""
        if matcher not in self._finders:
            find = matcher.finder()
            found = cache(lambda facts, contexts: find(facts, contexts))
            self._finders[matcher] = lambda facts, contexts: found(tuple(facts), tuple(contexts))
        return self._finders[matcher]


_FINDERS: dict[int, Finders] = {}


def finders_of(frame: pd.DataFrame) -> Finders:
    """Return the finders that all metrics share which score this very frame; they are forgotten with it."""
    finders = _FINDERS.get(id(frame))
    if finders is None:
        finders = _FINDERS[id(frame)] = Finders()
        weakref.finalize(frame, _FINDERS.pop, id(frame), None)
    return finders
