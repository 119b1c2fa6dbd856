"""Contexts of an application that shows none: they stand in the prompt of the model call that it made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from lake.lake import Lake
from lake.schemas import PARSED_LOGS, TIMESTAMP
from lake.table import Table

Span = tuple[str, str]
"""trace_id and span_id of a call."""

OUTRANKED_BY_CHILD = ("cited", "prompt", "none")
"""Origins of contexts that say less than what the application's own model call had in its prompt."""

_HOUR = timedelta(hours=1)
_CLOCKS_DIFFER = timedelta(minutes=5)
_MOST_ROWS = 1_000_000
"""So many children are remembered, of the days that were asked for last; about 100 MB."""
_INDEX_COLUMNS = ("event_id", "trace_id", "parent_span_id", "requested_at")
_INDEX_SCHEMA = pa.schema(
    [
        *(PARSED_LOGS.schema.field(name) for name in _INDEX_COLUMNS),
        pa.field("deployment", pa.dictionary(pa.int32(), pa.string())),
    ]
)
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

    It looks at each table once and remembers the ids of the days that it was asked for, until `forget()`.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._tables: dict[str | None, Table] = {}
        self._datasets: dict[str | None, ds.Dataset] = {}
        self._indexes: dict[date, _Index] = {}

    def forget(self) -> None:
        """Look at the tables again when next asked: what came since is not known."""
        self._datasets.clear()
        self._indexes.clear()

    def of(self, calls: Mapping[Span, datetime]) -> dict[Span, list[dict[str, Any]]]:
        """Give the contexts in the prompt of the last child of each of these calls, of those that have one.

        `calls` maps each call to when it was requested; a child is looked for up to an hour later.
        """
        by_day: dict[date, dict[Span, datetime]] = defaultdict(dict)
        for span, at in calls.items():
            by_day[at.astimezone(UTC).date()][span] = at
        children = {span: child for day in sorted(by_day) for span, child in self._last_children(day, by_day[day])}
        wanted = defaultdict(list)
        for child in children.values():
            wanted[child["deployment"]].append(child)
        found: dict[str, list[dict[str, Any]]] = {}
        for deployment, some in wanted.items():
            days = sorted({child["requested_at"].date() for child in some})
            ids = [child["event_id"] for child in some]
            where = ds.field("date").isin(pa.array(days, pa.date32())) & ds.field("event_id").isin(ids)
            for row in self._table(deployment).read(["event_id", "contexts"], where).to_pylist():
                found[row["event_id"]] = row["contexts"] or []
        return {span: found[child["event_id"]] for span, child in children.items() if child["event_id"] in found}

    def _last_children(self, day: date, calls: Mapping[Span, datetime]) -> Iterator[tuple[Span, dict[str, Any]]]:
        rows = self._children(day, min(calls.values()) - _CLOCKS_DIFFER, max(calls.values()) + _HOUR)
        traces = pa.array(sorted({trace_id for trace_id, _ in calls}), pa.string())
        some = rows.filter(pc.is_in(rows["trace_id"], traces)).to_pylist()
        some.sort(key=lambda row: (row["requested_at"], row["event_id"]))
        by_parent = {(row["trace_id"], row["parent_span_id"]): row for row in some}
        return ((span, by_parent[span]) for span in calls if span in by_parent)

    def _children(self, day: date, since: datetime, until: datetime) -> pa.Table:
        index = self._indexes.pop(day, None)
        if index is None:
            index = self._indexed(_hour(since), _hour(until) + _HOUR)
        elif since < index.since or index.until < until:
            # A day that is asked for piece by piece is read whole, so that it is read twice at most.
            begin = datetime.combine(day, time(), UTC)
            index = self._indexed(begin - _HOUR, begin + timedelta(days=1) + 2 * _HOUR)
        self._indexes[day] = index
        # The days that were asked for last are at the end.
        while len(self._indexes) > 1 and sum(one.rows.num_rows for one in self._indexes.values()) > _MOST_ROWS:
            del self._indexes[next(iter(self._indexes))]
        return index.rows

    def _indexed(self, since: datetime, until: datetime) -> _Index:
        asked, day = ds.field("requested_at"), ds.field("date")
        where = (asked >= pa.scalar(since, TIMESTAMP)) & (asked < pa.scalar(until, TIMESTAMP)) & _IS_CHILD
        where &= (day >= pa.scalar(since.date())) & (day <= pa.scalar(until.date()))
        try:
            return _Index(since, until, pa.concat_tables(self._read_each(where)))
        except (OSError, DeltaError):
            # A table was made anew or its files replaced since it was looked at: open all of them again.
            self._tables.clear()
            self._datasets.clear()
            return _Index(since, until, pa.concat_tables(self._read_each(where)))

    def _read_each(self, where: ds.Expression) -> Iterator[pa.Table]:
        yield _INDEX_SCHEMA.empty_table()
        if not self._datasets:
            self._datasets = {deployment: self._table(deployment).dataset() for deployment in self._lake.deployments()}
        for deployment, dataset in self._datasets.items():
            rows = dataset.to_table(list(_INDEX_COLUMNS), filter=where)
            # The table that was read, whatever its column says.
            yield rows.append_column("deployment", pa.array([deployment] * rows.num_rows, pa.string())).cast(
                _INDEX_SCHEMA
            )

    def _table(self, deployment: str | None) -> Table:
        if deployment not in self._tables:
            self._tables[deployment] = self._lake.table(PARSED_LOGS, deployment)
        return self._tables[deployment]


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
