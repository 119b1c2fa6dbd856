"""Numbering of the classes of a stream's traffic, bounded in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from monitor.detect.regression.observations import Observations, Segment
from monitor.detect.regression.segments.partition import BEYOND

MOST_VALUES = 500
_MOST_CLASSES = 10_000


@dataclass(slots=True, init=False, eq=False)
class TrafficClasses:
    """Numbers the classes of one stream's conversations, and keeps no more of them than can matter.

    Of each attribute the 500 values that come first are kept apart, and of all classes the 10,000 that come first; what
    is beyond is of the others (`SegmentPartition`) for good. A value that a twentieth of the conversations have is
    among the first 500 unless the attribute is a person or a text, by which nothing can be divided.
    """

    _kinds: list[Segment]
    _places: dict[Segment, int]
    _pairs: dict[str, dict[str, tuple[str, str]]]
    beyond: Counter[str]

    def __init__(self) -> None:
        self._kinds = []
        self._places = {}
        self._pairs = {}
        self.beyond = Counter()
        """Conversations that are beyond, by the attribute with too many values."""

    def numbered(self, found: Observations) -> Observations:
        """Return ordered conversations with these classes as their kinds, which have the same places every time."""
        used, firsts, there, sizes = np.unique(
            found.segments, return_index=True, return_inverse=True, return_counts=True
        )
        own = np.empty(len(used), dtype=np.intp)
        # As they come, so that the portions in which they come do not matter.
        for one in np.argsort(firsts).tolist():
            own[one] = self._place(found.kinds[used[one]], int(sizes[one]))
        return replace(found, segments=own[there], kinds=self._kinds)

    def _place(self, kind: Segment, conversations: int) -> int:
        if kind not in self._places:
            kind = tuple(self._pair(name, value, conversations) for name, value in kind)
        if kind not in self._places and len(self._kinds) >= _MOST_CLASSES:
            self.beyond[max(self._pairs, key=lambda name: len(self._pairs[name]))] += conversations
            kind = tuple((name, BEYOND) for name, _ in kind)
        if kind not in self._places:
            self._places[kind] = len(self._kinds)
            self._kinds.append(kind)
        return self._places[kind]

    def _pair(self, name: str, value: str, conversations: int) -> tuple[str, str]:
        """Return the one object for a name and its value that all classes share."""
        pairs = self._pairs.setdefault(name, {})
        if value not in pairs:
            if len(pairs) >= MOST_VALUES:
                self.beyond[name] += conversations
                return name, BEYOND
            pairs[value] = name, value
        return pairs[value]
