"""Observations of a detector: conversations, one by one, and in columns, as a year of them is many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Integers, Times, microseconds, sizes_of

Segment = tuple[tuple[str, str], ...]
"""Names and values of what is known of an observation's traffic, by name; empty where nothing is."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One conversation in one batch: the weighted mean of its scores, in [0, 1], and its weight, in (0, 1].

    `segment` is the class of traffic of its first score.
    """

    at: datetime
    value: float
    weight: float = 1.0
    segment: Segment = ()

    def __post_init__(self) -> None:
        if not (0.0 <= self.value <= 1.0 and 0.0 < self.weight <= 1.0):
            raise ValueError(f"value {self.value} must be within [0, 1] and weight {self.weight} within (0, 1]")


@dataclass(frozen=True)
class Observations:
    """Conversations of one batch after the other, none of them empty; see `Observation` for what one is.

    `segments` are places in `kinds`, and `begins` the places of the batches' first ones.
    """

    at: Times
    values: Floats
    weights: Floats
    segments: Integers
    begins: Integers
    kinds: Sequence[Segment] = ((),)

    @classmethod
    def of(cls, batch: Sequence[Observation]) -> Self:
        """Return the conversations of one batch as columns."""
        pairs = np.array([(one.value, one.weight) for one in batch], dtype=np.float64).reshape(-1, 2)
        kinds = tuple(dict.fromkeys(one.segment for one in batch))
        places = {segment: place for place, segment in enumerate(kinds)}
        return cls(
            np.array([microseconds(one.at) for one in batch], dtype=np.int64),
            pairs[:, 0],
            pairs[:, 1],
            np.array([places[one.segment] for one in batch], dtype=np.intp),
            np.zeros(min(1, len(batch)), dtype=np.intp),
            kinds,
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def batches(self) -> int:
        """Number of batches."""
        return len(self.begins)

    @property
    def starts(self) -> Times:
        """Time of each batch's first conversation, where they are ordered."""
        return self.at[self.begins]

    @cached_property
    def sizes(self) -> Integers:
        """How many conversations each batch has."""
        return sizes_of(self.begins, len(self))

    @cached_property
    def numbers(self) -> Integers:
        """Number of each conversation's batch, from 0 on; shape (conversations,)."""
        return np.repeat(np.arange(self.batches), self.sizes)

    def between(self, first: int, after: int) -> Self:
        """Return the batches from the `first` to the one before `after`."""
        if (first, after) == (0, self.batches):
            return self
        begin = self.begins[first]
        part = slice(begin, self.begins[after] if after < self.batches else len(self))
        columns = self.at[part], self.values[part], self.weights[part], self.segments[part]
        return type(self)(*columns, self.begins[first:after] - begin, self.kinds)

    def ordered(self) -> Self:
        """Put each batch in an order that does not depend on the one that it came in."""
        ranks = {segment: rank for rank, segment in enumerate(sorted(set(self.kinds)))}
        segments = np.array([ranks[segment] for segment in self.kinds])[self.segments]
        order = np.lexsort((segments, self.weights, self.values, self.at, self.numbers))
        columns = self.at[order], self.values[order], self.weights[order], self.segments[order]
        return type(self)(*columns, self.begins, self.kinds)

    def joined(self, later: Self, most: int) -> Self:
        """Return the last so many of these and later ones of the same kinds, as one batch."""
        at, values = np.concatenate([self.at, later.at]), np.concatenate([self.values, later.values])
        weights, segments = (
            np.concatenate([self.weights, later.weights]),
            np.concatenate([self.segments, later.segments]),
        )
        # Copies: a view of the last ones would hold those of a year.
        columns = at[-most:].copy(), values[-most:].copy(), weights[-most:].copy(), segments[-most:].copy()
        return type(self)(*columns, np.zeros(1, dtype=np.intp), later.kinds)

    def since(self, at: datetime) -> Self:
        """Return the conversations from a time on, as one batch."""
        return self.where(self.at >= microseconds(at))

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the conversations that are chosen, as one batch; `chosen` has shape (conversations,)."""
        columns = self.at[chosen], self.values[chosen], self.weights[chosen], self.segments[chosen]
        return type(self)(*columns, np.zeros(1, dtype=np.intp), self.kinds)
