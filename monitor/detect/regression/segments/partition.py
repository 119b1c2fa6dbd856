"""Choice of the segments of a stream's traffic, from the classes that it has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats
from monitor.detect.regression.observations import Segment

OTHER = "other"
BEYOND = "beyond " * 9
"""Stands for any of the values of an attribute that has too many; longer than a value can be."""
_MOST = 8
_LEAST = 50
"""Conversations of a segment in the reference."""
_GAIN, _FEW = 0.003, 10.0
"""The least share of the variance that an attribute explains, and that times the number of conversations: among fewer
more of it is chance."""
_LONGEST_WORD = 60


@lru_cache(maxsize=10_000)
def segment_of(text: str | None, names: tuple[str, ...]) -> Segment:
    """Read `scores.segment`, of which `names` are used; what is null is left out, and what is no object is nothing."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return ()
    if not isinstance(found, dict):
        return ()
    return tuple((name, _word(found[name])) for name in sorted(names) if found.get(name) is not None)


@dataclass(frozen=True)
class SegmentPartition:
    """The segments of a stream: the `kept` classes by the attributes `by`, and all others together.

    Segments have numbers; that of the others is the last, `len(kept)`, also where there was none of them
    (`has_others`) when the partition was made. Without attributes there is one segment, of all.
    """

    by: tuple[str, ...] = ()
    kept: tuple[Segment, ...] = ()
    has_others: bool = True

    @classmethod
    def of(cls, classes: Mapping[Segment, int], by: tuple[str, ...]) -> SegmentPartition | None:
        """Divide classes, of so many conversations each, by attributes; None where that gives fewer than two segments.

        At most eight segments, each of at least 50 conversations: the largest are kept, the rest is the others, which
        get the smallest of the kept ones too where they are fewer than that. A class with a value that is `BEYOND` is
        of the others.
        """
        sizes: Counter[Segment] = Counter()
        for one, number in classes.items():
            sizes[_only(one, by)] += number
        ordered = sorted(sizes, key=lambda one: (-sizes[one], one))
        large = [one for one in ordered if sizes[one] >= _LEAST and all(value != BEYOND for _, value in one)]
        kept = large[: _MOST if len(ordered) <= _MOST else _MOST - 1]
        others = sizes.total() - sum(sizes[one] for one in kept)
        while kept and 0 < others < _LEAST:
            others += sizes[kept.pop()]
        return cls(by, tuple(kept), others > 0) if len(kept) + (others > 0) > 1 else None

    def number(self, segment: Segment) -> int:
        """Number of the segment that an observation is in."""
        one = _only(segment, self.by)
        return self.kept.index(one) if one in self.kept else len(self.kept)

    @property
    def names(self) -> tuple[str, ...]:
        """Each segment in words, by number."""
        return (*map(self.name_of, self.kept), OTHER)

    def name_of(self, segment: Segment) -> str:
        """Return a class by these attributes in words; one with a value that is `BEYOND` has none of its own."""
        values = dict(_only(segment, self.by))
        if BEYOND in values.values():
            return OTHER
        return ", ".join(f"{name.replace('_', ' ')} {values.get(name, 'unknown')}" for name in self.by)


@dataclass(frozen=True)
class PartitionChoice:
    """A partition, and out of how many it was chosen."""

    partition: SegmentPartition
    out_of: int


def choose(
    places: NDArray[np.intp], kinds: Sequence[Segment], values: Floats, weights: Floats
) -> PartitionChoice | None:
    """Choose the attributes by which to divide these conversations; None where one segment is as good.

    `places` are those of the conversations' classes in `kinds`. One attribute after the other is taken, each time the
    one with which the segments explain most of the variance of the values, as long as that raises the adjusted share
    of it (adjusted R squared, `1 - (1 - R2) (n - 1) / (n - k)` with n conversations in k segments) by at least 0.003
    and 10 / n. Of equals it is the first by name. It was chosen out of `2^a - 1` partitions, a being the attributes
    that have more than one value here.
    """
    classes: Counter[Segment] = Counter()
    for place, size in zip(*np.unique(places, return_counts=True), strict=True):
        classes[kinds[place]] += int(size)
    seen: dict[str, set[str | None]] = {name: set() for one in classes for name, _ in one}
    for one in classes:
        held = dict(one)
        for name, of_name in seen.items():
            of_name.add(held.get(name))
    left = sorted(name for name, of_name in seen.items() if len(of_name) > 1)
    out_of, best, explained = 2 ** len(left) - 1, None, 0.0
    while left:
        tried = [(name, SegmentPartition.of(classes, (*(best.by if best else ()), name))) for name in left]
        shares = [
            (_explained(numbers_of(p, places, kinds), values, weights), name, p) for name, p in tried if p is not None
        ]
        if not shares:
            break
        share, name, partition = max(shares, key=lambda found: found[0])
        if share < explained + max(_GAIN, _FEW / len(values)):
            break
        best, explained = partition, share
        left.remove(name)
    return PartitionChoice(best, out_of) if best else None


def _explained(numbers: NDArray[np.intp], values: Floats, weights: Floats) -> float:
    mass = np.bincount(numbers, weights)
    sums = np.bincount(numbers, weights * values)
    mean = sums.sum() / mass.sum()
    total = float(weights @ (values - mean) ** 2)
    if total <= 0.0:
        return 0.0
    there = mass > 0.0
    between = float((sums[there] ** 2 / mass[there]).sum() - mean**2 * mass.sum())
    return 1.0 - (1.0 - between / total) * (len(values) - 1) / (len(values) - int(there.sum()))


def numbers_of(partition: SegmentPartition, places: NDArray[np.intp], kinds: Sequence[Segment]) -> NDArray[np.intp]:
    """Number of the segment of each, `places` being those of their classes in `kinds`; shape (observations,)."""
    own, used = in_use(places, kinds)
    return np.array([partition.number(kind) for kind in used], dtype=np.intp)[own]


def in_use(places: NDArray[np.intp], kinds: Sequence[Segment]) -> tuple[NDArray[np.intp], tuple[Segment, ...]]:
    """Return the places of classes in the tuple of only those kinds that these are."""
    used, there = np.unique(places, return_inverse=True)
    return there, tuple(kinds[place] for place in used.tolist())


def _only(segment: Segment, by: tuple[str, ...]) -> Segment:
    return tuple(pair for pair in segment if pair[0] in by)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:_LONGEST_WORD]
