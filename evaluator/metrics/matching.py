"""What a matcher of facts is, and what it finds: where each fact stands, and how many facts each context holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluator.metrics.citation import ABSENT

Span = tuple[int, int]
FindFacts = Callable[[Sequence[str], Sequence[str]], "FactsFound"]


@dataclass(frozen=True)
class FactsFound:
    """Where facts stand among contexts.

    `ranks` are one a fact: the rank from 0 of the first context that holds it, `ABSENT` where none does. `counts` are
    one a context: how many of the facts it holds. A repeated context counts again, and so does a repeated fact. `held`
    are the indexes of the facts that each context holds, where a matcher tells them.
    """

    ranks: Sequence[int]
    counts: Sequence[int]
    held: Sequence[Sequence[int]] = ()

    @classmethod
    def of(cls, held: Sequence[Sequence[int]], facts: int) -> FactsFound:
        """Give ranks and counts from the indexes of the facts that each context holds."""
        ranks = [ABSENT] * facts
        for rank in range(len(held) - 1, -1, -1):
            for index in held[rank]:
                ranks[index] = rank
        return cls(ranks, [len(indexes) for indexes in held], held)

    def first(self, k: int | None) -> FactsFound:
        """Give what is found in the first k contexts."""
        if k is None:
            return self
        ranks = [rank if rank < k else ABSENT for rank in self.ranks]
        return FactsFound(ranks, self.counts[:k], self.held[:k])

    @property
    def found(self) -> int:
        """How many of the facts stand in some context."""
        return sum(rank != ABSENT for rank in self.ranks)


class FactMatcher(Protocol):
    """Decides whether a context holds a fact.

    `name` stands in the names of metrics that use it (empty for the citation matcher), `version` in their versions;
    `judge` is what it goes by, lexical or embedding.
    """

    @property
    def judge(self) -> str: ...  # noqa: D102

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def version(self) -> str: ...  # noqa: D102

    def finder(self) -> FindFacts:
        """Give a function from facts and contexts to what is found; it may remember texts, so use one a frame."""
        ...

    def span(self, fact: str, context: str) -> Span | None:
        """Give the first characters of a context that hold the fact, start and end, or None."""
        ...

    def is_usable(self, fact: str) -> bool:
        """Whether a fact can be looked for at all; one that cannot is an input error and not counted."""
        ...
