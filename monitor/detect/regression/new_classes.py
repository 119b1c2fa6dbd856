"""Classes of traffic that came after the reference: nothing is bet on them until they have a reference of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.detect.regression.arrays import Integers
from monitor.detect.regression.observations import Segment
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.calendar import CALENDAR
from monitor.detect.regression.segments.partition import BEYOND

MOST_NEW = 4
"""The last of them stands for all further ones too."""
KNOWN = -1
_MOST_KNOWN = 20
"""Values of an attribute: of one with more, such as a person, new values are nothing new."""


@dataclass(slots=True, init=False, eq=False)
class NewValues:
    """The values of attributes that a stream's first reference has not seen, in the order in which they came.

    Those of the calendar are never new, nor are values that are beyond those that are kept apart.
    """

    _known: dict[str, tuple[str, ...]] | None
    _pairs: tuple[tuple[str, str], ...]

    def __init__(self) -> None:
        self._known = None
        self._pairs = ()

    def learn(self, kinds: Iterable[Segment]) -> None:
        """Take the values of these classes for known, and all others from now on for new."""
        found: dict[str, dict[str, None]] = {}
        for kind in kinds:
            for name, value in kind:
                found.setdefault(name, {})[value] = None
        self._known = {name: tuple(values) for name, values in found.items() if len(values) <= _MOST_KNOWN}

    def numbers(self, places: Integers, kinds: Sequence[Segment]) -> Integers:
        """Return the number of each one's new value, `KNOWN` where it has none; `places` are in `kinds`."""
        found = np.full(len(places), KNOWN, dtype=np.intp)
        if self._known is None:
            return found
        used, firsts, there = np.unique(places, return_index=True, return_inverse=True)
        own = np.empty(len(used), dtype=np.intp)
        # As they come, so that the portions in which they come do not matter.
        for one in np.argsort(firsts).tolist():
            own[one] = self._number(kinds[used[one]])
        return own[there]

    @property
    def names(self) -> tuple[str, ...]:
        """Each in words, by number; a number of which there is none yet is empty."""
        words = [f"{name.replace('_', ' ')} {value}" for name, value in self._pairs[:MOST_NEW]]
        if len(self._pairs) > MOST_NEW:
            words[-1] = "other new"
        return (*words, *[""] * (MOST_NEW - len(words)))

    def _number(self, kind: Segment) -> int:
        for pair in kind:
            known = (self._known or {}).get(pair[0])
            # An attribute of which there was nothing says nothing of what is new.
            if known is None or pair[1] in known or pair[1] == BEYOND or pair[0] in CALENDAR:
                continue
            if pair not in self._pairs and len(self._pairs) <= MOST_NEW:
                self._pairs = (*self._pairs, pair)
            return min(self._pairs.index(pair), MOST_NEW - 1) if pair in self._pairs else MOST_NEW - 1
        return KNOWN


@dataclass(frozen=True, slots=True)
class NewClass:
    """A class of traffic that came after the reference: its name, its share of the latest conversations, and means."""

    name: str
    share: float
    mean: float
    known_mean: float
    """Of the reference, which has nothing of it."""

    def on(self, scale: Scale) -> NewClass:
        """Return the class with its means in a metric's own values."""
        return replace(self, mean=scale.value(self.mean), known_mean=scale.value(self.known_mean))


@dataclass(frozen=True, slots=True)
class NewClassWarning:
    """That a class was told as new and worse: its number, and from when (microseconds since 1970)."""

    number: int
    since: int
