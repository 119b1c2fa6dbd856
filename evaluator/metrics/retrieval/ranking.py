"""Ranking of one question's retrieved ids against its gold ids, and discounted cumulative gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2


@dataclass(frozen=True)
class IdRanking:
    """Ids that came back, best first, and the ids that ought to.

    `listed` is the length of the gold list with its repeats, which one package divides by. An empty string is a
    context or gold entry without an id: it fills its rank and is never gold.
    """

    retrieved: Sequence[str]
    gold: frozenset[str]
    listed: int

    @classmethod
    def of(cls, retrieved: Sequence[str], gold: Sequence[str]) -> IdRanking:
        """Line up retrieved ids with a gold list."""
        named = [identifier for identifier in gold if identifier]
        return cls(retrieved, frozenset(named), len(named))

    def first(self, k: int | None) -> IdRanking:
        """Return the ranking cut after k ids."""
        return self if k is None else IdRanking(self.retrieved[:k], self.gold, self.listed)

    @cached_property
    def hit_ranks(self) -> list[int]:
        """Ranks from 1 that hold a gold id, repeats of it too."""
        return [rank for rank, identifier in enumerate(self.retrieved, 1) if identifier in self.gold]

    @cached_property
    def credited_ranks(self) -> list[int]:
        """Ranks from 1 of the first place of each gold id; its repeats fill ranks and earn nothing."""
        first: dict[str, int] = {}
        for rank in self.hit_ranks:
            first.setdefault(self.retrieved[rank - 1], rank)
        return list(first.values())

    @property
    def found(self) -> int:
        """How many gold ids came back."""
        return len(self.credited_ranks)

    def precision_at_hits(self) -> float:
        """Sum over the gold ids that came back of the share of gold ids down to their rank."""
        return sum(found / rank for found, rank in enumerate(self.credited_ranks, 1))


def dcg(gains: Sequence[float]) -> float:
    """Sum of gains by rank, each divided by log2(rank + 1), rank from 1."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)
