"""Tables in which calls of a trace are looked for: those of all deployments, or a few days of some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.recent_children import INDEX_COLUMNS, IS_CHILD, RecentChildren
from lake.spec.schemas import PARSED_LOGS
from lake.store.store_errors import TableError
from lake.tables.day_reading import DayReader, RequestPeriod, map_at_once, within
from lake.tables.open_tables import TableSource
from lake.tables.table import Table

Deployments = Sequence[str | None]

_NAMES = pa.dictionary(pa.int32(), pa.string())
_NAME_COLUMNS = frozenset({"deployment", "parent_deployment", "contexts_origin", "tool_calls_origin"})


class CallTables(Protocol):
    """`parsed_logs` of several deployments."""

    @property
    def opened_at(self) -> datetime | None:
        """When the tables were opened, None where that is of no importance: rows that came later are not seen."""

    def forget(self) -> None:
        """Open the tables again when next read, to see rows that came since."""

    def rows(self, columns: Sequence[str], where: ds.Expression, deployments: Deployments | None = None) -> pa.Table:
        """Read rows of some deployments' tables, of all where none are named, with the table that they were in."""

    def children(self, since: datetime, until: datetime) -> pa.Table:
        """Read the calls that others made in this time, without their contexts, with the table that they were in."""

    def details(
        self, columns: Sequence[str], deployment: str | None, days: Iterable[date], event_ids: Sequence[str]
    ) -> pa.Table:
        """Read `event_id` and columns with long texts of these calls."""


class AllCallTables:
    """The tables of all deployments of a lake, each opened once until `forget()`."""

    def __init__(self, lake: TableSource, clock: Callable[[], datetime]) -> None:
        self._lake = lake
        self._clock = clock
        self._tables: dict[str | None, Table] = {}
        self._datasets: dict[str | None, ds.Dataset] = {}
        self._recent = RecentChildren(lake, clock)
        self.opened_at: datetime | None = clock()

    def forget(self) -> None:
        """Open the tables again when next read."""
        self._datasets.clear()
        self._recent.forget()

    def rows(self, columns: Sequence[str], where: ds.Expression, deployments: Deployments | None = None) -> pa.Table:
        """Read rows with the table that they were in; once more where a table was replaced meanwhile."""
        try:
            return _together(columns, self._read_each(columns, where, deployments))
        except (OSError, TableError):
            # A table was removed and created again, or its files were replaced, since it was opened: open all again.
            self._tables.clear()
            self._datasets.clear()
            return _together(columns, self._read_each(columns, where, deployments))

    def children(self, since: datetime, until: datetime) -> pa.Table:
        """Read the calls that others made, of recent time from what is kept."""
        recent = self._recent.between(since, until)
        if recent is None:
            return self.rows(INDEX_COLUMNS, between(since, until) & IS_CHILD)
        return _together(INDEX_COLUMNS, recent.items())

    def details(
        self, columns: Sequence[str], deployment: str | None, days: Iterable[date], event_ids: Sequence[str]
    ) -> pa.Table:
        """Read `event_id` and columns of some calls of one deployment."""
        where = ds.field("date").isin(pa.array(sorted(days), pa.date32())) & ds.field("event_id").isin(event_ids)
        return self._table(deployment).read(["event_id", *columns], where)

    def _read_each(
        self, columns: Sequence[str], where: ds.Expression, deployments: Deployments | None
    ) -> Iterator[tuple[str | None, pa.Table]]:
        if not self._datasets:
            self.opened_at = self._clock()
            self._datasets = {deployment: self._table(deployment).dataset() for deployment in self._lake.deployments()}
        for deployment, dataset in self._datasets.items():
            if deployments is None or deployment in deployments:
                yield deployment, dataset.to_table(list(columns), filter=where)

    def _table(self, deployment: str | None) -> Table:
        if deployment not in self._tables:
            self._tables[deployment] = self._lake.table(PARSED_LOGS, deployment)
        return self._tables[deployment]


class CallTablesOfDays:
    """A period of the tables of some deployments: all that have a call of the traces that are looked for."""

    opened_at = None

    def __init__(self, logs: Mapping[str | None, DayReader], period: RequestPeriod) -> None:
        self._logs = logs
        self._period = period

    def forget(self) -> None:
        """Leave it: these are for one answer."""

    def rows(self, columns: Sequence[str], where: ds.Expression, deployments: Deployments | None = None) -> pa.Table:
        """Read rows of the period, with the table that they were in."""
        some = [name for name in self._logs if deployments is None or name in deployments]
        uri = self._logs[some[0]].uri if some else ""
        found = map_at_once(uri, lambda name: self._logs[name].read(columns, where, period=self._period), some)
        return _together(columns, zip(some, found, strict=True))

    def children(self, since: datetime, until: datetime) -> pa.Table:
        """Read the calls that others made, of the period."""
        return self.rows(INDEX_COLUMNS, between(since, until) & IS_CHILD)

    def details(
        self, columns: Sequence[str], deployment: str | None, days: Iterable[date], event_ids: Sequence[str]
    ) -> pa.Table:
        """Read `event_id` and columns of some calls of one deployment."""
        return self._logs[deployment].read_rows(["event_id"], event_ids, ["event_id", *columns], days, self._period)


def between(since: datetime, until: datetime) -> ds.Expression:
    """Return what lets through the rows that were requested in a time, the end left out."""
    day = ds.field("date")
    return within("requested_at", since, until) & (day >= pa.scalar(since.date())) & (day <= pa.scalar(until.date()))


def _together(columns: Sequence[str], tables: Iterable[tuple[str | None, pa.Table]]) -> pa.Table:
    fields = [pa.field(name, _NAMES if name in _NAME_COLUMNS else PARSED_LOGS.schema.field(name).type)
              for name in (*columns, "deployment")]  # fmt: skip
    parts = [pa.schema(fields).empty_table()]
    for deployment, rows in tables:
        # The table that was read, whatever its column says.
        name = pa.array([deployment] * rows.num_rows, pa.string())
        parts.append(rows.append_column("deployment", name).cast(parts[0].schema))
    return pa.concat_tables(parts)
