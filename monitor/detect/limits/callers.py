"""Callers of a deployment: when each application last called it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

RECENT = timedelta(days=1)
_MOST = 1000
"""Callers of one deployment that are remembered: those that called it last."""


@dataclass
class Callers:
    """When each application last called a deployment, by the times of the requests."""

    latest: dict[str, datetime] = field(default_factory=dict)

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `parsed_logs` (`parent_deployment`, `requested_at`)."""
        calls = rows.filter(pc.and_(pc.is_valid(rows["parent_deployment"]), pc.is_valid(rows["requested_at"])))
        found = calls.group_by("parent_deployment").aggregate([("requested_at", "max")])
        for name, at in zip(*(found[column].to_pylist() for column in found.column_names), strict=True):
            self.latest[name] = max(self.latest.get(name, at), at)
        if len(self.latest) > _MOST:
            kept = sorted(self.latest.items(), key=lambda one: one[1], reverse=True)[:_MOST]
            self.latest = dict(kept)

    def since(self, at: datetime) -> frozenset[str]:
        """Return those that called from then on."""
        return frozenset(name for name, latest in list(self.latest.items()) if latest >= at)
