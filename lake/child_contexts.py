"""Contexts of an application that shows none: they stand in the prompt of the model call that it made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.lake import Lake
from lake.schemas import PARSED_LOGS, TIMESTAMP
from lake.table import Table

Span = tuple[str, str]
"""trace_id and span_id of a call."""

OUTRANKED_BY_CHILD = ("cited", "prompt", "none")
"""Origins of contexts that say less than what the application's own model call had in its prompt."""

_HOUR = timedelta(hours=1)
_CLOCKS_DIFFER = timedelta(minutes=5)
_INDEX_COLUMNS = ("event_id", "trace_id", "parent_span_id", "requested_at")
_IS_CHILD = (
    (ds.field("contexts_origin") == "prompt") & ds.field("trace_id").is_valid() & ds.field("parent_span_id").is_valid()
)


@dataclass(frozen=True)
class _Index:
    """Children of all deployments that were called in whole hours, without their contexts."""

    since: datetime
    until: datetime
    rows: pa.Table


class ChildContexts:
    """Finds the contexts in the prompts of the calls that other calls made, in all deployments' tables.

    It keeps an index of the hours that it was asked for last, until `forget()`.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._tables: dict[str | None, Table] = {}
        self._index: _Index | None = None

    def forget(self) -> None:
        """Look at the tables again when next asked: what came since is not known."""
        self._index = None

    def of(self, calls: Mapping[Span, datetime]) -> dict[Span, list[dict[str, Any]]]:
        """Give the contexts in the prompt of the last child of each of these calls, of those that have one.

        `calls` maps each call to when it was requested; a child is looked for up to an hour later.
        """
        if not calls:
            return {}
        children = self._last_children(calls)
        wanted = defaultdict(list)
        for child in children.values():
            wanted[child["deployment"]].append(child)
        found: dict[str, list[dict[str, Any]]] = {}
        for deployment, some in wanted.items():
            days = sorted({child["requested_at"].date() for child in some})
            ids = [child["event_id"] for child in some]
            where = ds.field("date").isin(pa.array(days, pa.date32())) & ds.field("event_id").isin(ids)
            for row in self._tables[deployment].read(["event_id", "contexts"], where).to_pylist():
                found[row["event_id"]] = row["contexts"] or []
        return {span: found[child["event_id"]] for span, child in children.items() if child["event_id"] in found}

    def _last_children(self, calls: Mapping[Span, datetime]) -> dict[Span, dict[str, Any]]:
        rows = self._children(min(calls.values()) - _CLOCKS_DIFFER, max(calls.values()) + _HOUR)
        traces = pa.array(sorted({trace_id for trace_id, _ in calls}), pa.string())
        some = rows.filter(pc.is_in(rows["trace_id"], traces)).to_pylist()
        some.sort(key=lambda row: (row["requested_at"], row["event_id"]))
        by_parent = {(row["trace_id"], row["parent_span_id"]): row for row in some}
        return {span: by_parent[span] for span in calls if span in by_parent}

    def _children(self, since: datetime, until: datetime) -> pa.Table:
        if self._index is None or not (self._index.since <= since and until <= self._index.until):
            since, until = _hour(since), _hour(until) + _HOUR
            try:
                self._index = _Index(since, until, self._read(self._lake.deployments(), since, until))
            except Exception:
                # A table may have been removed and made anew; the next try opens all of them again.
                self._tables.clear()
                raise
        return self._index.rows

    def _read(self, deployments: Collection[str | None], since: datetime, until: datetime) -> pa.Table:
        asked, day = ds.field("requested_at"), ds.field("date")
        where = (asked >= pa.scalar(since, TIMESTAMP)) & (asked < pa.scalar(until, TIMESTAMP)) & _IS_CHILD
        where &= (day >= pa.scalar(since.date())) & (day <= pa.scalar(until.date()))
        return pa.concat_tables(self._read_each(deployments, where))

    def _read_each(self, deployments: Collection[str | None], where: ds.Expression) -> Iterable[pa.Table]:
        schema = pa.schema([PARSED_LOGS.schema.field(name) for name in (*_INDEX_COLUMNS, "deployment")])
        yield schema.empty_table()
        for deployment in deployments:
            if deployment not in self._tables:
                self._tables[deployment] = self._lake.table(PARSED_LOGS, deployment)
            rows = self._tables[deployment].read(_INDEX_COLUMNS, where)
            # The table that was read, whatever its column says.
            yield rows.append_column("deployment", pa.array([deployment] * rows.num_rows, pa.string())).cast(schema)


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
