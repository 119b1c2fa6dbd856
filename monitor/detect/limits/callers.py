"""Callers of a deployment: when each application last called it, and which of its calls failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from monitor.detect.limits.named_minutes import NamedMinutes
from monitor.detect.stats.requests import OF_TOOL, failed, failure_reasons

RECENT = timedelta(days=1)
_MOST = 1000
"""Callers of one deployment that are remembered: those that called it last."""


@dataclass
class Callers:
    """When each application last called a deployment, by the times of the requests, and its calls by minute."""

    latest: dict[str, datetime] = field(default_factory=dict)
    calls: NamedMinutes = field(default_factory=NamedMinutes)

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `parsed_logs` (`parent_deployment`, `requested_at`)."""
        found = _calls(rows).group_by("parent_deployment").aggregate([("requested_at", "max")])
        for name, at in zip(*(found[column].to_pylist() for column in found.column_names), strict=True):
            self.latest[name] = max(self.latest.get(name, at), at)
        if len(self.latest) > _MOST:
            kept = sorted(self.latest.items(), key=lambda one: one[1], reverse=True)[:_MOST]
            self.latest = dict(kept)

    def count(self, rows: pa.Table, called: str, now: datetime) -> None:
        """Count the calls of others in rows of `parsed_logs` of the deployment that is called (also `status`, `error`).

        A call fails as a request does. Only what a tool answers with status 200 is no failed call, but one of a tool.
        """
        calls = _calls(rows)
        calls = calls.filter(pc.not_equal(calls["parent_deployment"], called))
        if calls.num_rows:
            why = failure_reasons(calls)
            is_error = pc.and_(pa.array(failed(calls)), pc.not_equal(why, OF_TOOL))
            names, at = calls["parent_deployment"], calls["requested_at"]
            table = pa.table({"name": names, "requested_at": at, "is_error": is_error, "why": why})
            self.calls.add(table, now, _MOST)

    def since(self, at: datetime) -> frozenset[str]:
        """Return those that called from then on."""
        return frozenset(name for name, latest in list(self.latest.items()) if latest >= at)


def _calls(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.and_(pc.is_valid(rows["parent_deployment"]), pc.is_valid(rows["requested_at"])))
