"""Calls of each tool of a deployment by minute, for the last two days: which tool fails, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.detect.limits.minute_counts import MinuteCounts
from monitor.detect.limits.results import FailedTool

_MOST_TOOLS = 200
"""Tools of a deployment that are counted; a model may make up names."""


@dataclass
class ToolMinutes:
    """Calls of each tool by minute, all and failed ones."""

    by_tool: dict[str, MinuteCounts] = field(default_factory=dict)

    def add(self, calls: pa.Table, now: datetime) -> None:
        """Count calls (`requested_at`, `name`, `is_error`, none null)."""
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
