"""Calls of each tool of a deployment by minute, for the last two days: which tool fails, and how often.

Of a turn only some calls count, so that one that calls a failing tool again and again is no outage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.detect.limits.minute_counts import MinuteCounts
from monitor.detect.limits.results import FailedTool

_MOST_TOOLS = 200
"""Tools of a deployment that are counted; a model may make up names."""
MOST_OF_TOOL, _MOST_OF_TURN = 3, 10
"""Calls that count: the last of each tool of a turn, and of a turn in all."""


def counted_calls(calls: pa.Table) -> pa.Table:
    """Return the calls that count, of those with a known result: the last three of each tool of a turn, ten in all.

    Of a turn with more the last one of each tool comes first, so that every tool is seen.
    """
    calls = calls.filter(pc.is_valid(calls["is_error"]))
    from_last: Counter[tuple[int, str]] = Counter()
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    turns, names = calls["turn"].to_pylist(), calls["name"].to_pylist()
    for place in reversed(range(calls.num_rows)):
        key = turns[place], names[place]
        if from_last[key] < MOST_OF_TOOL:
            found[turns[place]].append((from_last[key], -place))
        from_last[key] += 1
    places = [-place for mine in found.values() for _, place in sorted(mine)[:_MOST_OF_TURN]]
    return calls.take(pa.array(sorted(places), pa.int64()))


@dataclass
class ToolMinutes:
    """Calls of each tool by minute, all and failed ones."""

    by_tool: dict[str, MinuteCounts] = field(default_factory=dict)

    def add(self, calls: pa.Table, now: datetime) -> None:
        """Count calls, as `counted_calls` gives them."""
        for name in sorted(calls["name"].unique().to_pylist()):
            if name in self.by_tool or len(self.by_tool) < _MOST_TOOLS:
                mine = calls.filter(pc.equal(calls["name"], name))
                is_error = np.asarray(mine["is_error"], np.bool_)
                self.by_tool.setdefault(name, MinuteCounts()).add(mine["requested_at"], is_error, mine["name"], now)
        for name in [name for name, counts in self.by_tool.items() if not counts.has_news(now)]:
            del self.by_tool[name]

    def failed(self, name: str | None, first: int, last: int) -> FailedTool | None:
        """Return how often a tool was called, and failed, from one minute to another, both included."""
        counts = self.by_tool.get(name or "")
        if counts is None:
            return None
        calls, failed = counts.between(first, last)
        return FailedTool(name or "", failed, calls)
