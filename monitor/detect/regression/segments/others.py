"""The class of traffic that made the segment of the others fall: one that was too small for a segment of its own."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from monitor.detect.regression.observations import Observations
from monitor.detect.regression.segments.partition import OTHER, SegmentPartition, in_use

_LEAST = 5
"""Conversations; fewer may be chance."""
_MOST_OF = 0.5
_MOSTLY = f"{OTHER}, mostly "


def names_with_worst_class(partition: SegmentPartition, after: Observations, mean_before: float) -> tuple[str, ...]:
    """Return the names of the segments, that of the others with the class that lost most against `mean_before` of them.

    Of the others there may be no mean before, nan: then it is the largest class. A class is named if it has at least
    five of these conversations, and lost more than half of what they lost together, or is more than half of them.
    """
    names, (own, kinds) = partition.names, in_use(after.segments, after.kinds)
    lost: dict[str, float] = defaultdict(float)
    sizes: dict[str, int] = defaultdict(int)
    for place, kind in enumerate(kinds):
        if partition.number(kind) < len(partition.kept):
            continue
        mine = own == place
        name = partition.name_of(kind)
        gap = 1.0 if np.isnan(mean_before) else mean_before - after.values[mine]
        lost[name] += float(np.sum(after.weights[mine] * gap))
        sizes[name] += int(mine.sum())
    whole = max(0.0, sum(lost.values()))
    worst = max(lost, key=lambda name: lost[name], default=None)
    # Without attributes that divide the traffic a class has no name.
    if not worst or worst == OTHER or sizes[worst] < _LEAST or lost[worst] <= _MOST_OF * whole:
        return names
    return (*names[:-1], f"{_MOSTLY}{worst}")


def is_of(name: str, segment: str) -> bool:
    """Return whether a name is that of a segment, with or without a class."""
    return name == segment or (segment == OTHER and name.startswith(_MOSTLY))
