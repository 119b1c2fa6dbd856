"""Calls that other calls made in the last days, kept in memory: each row is read once, and not at every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.delta_log.change import TableReplacedError
from lake.spec.schemas import PARSED_LOGS
from lake.spec.table_spec import TIMESTAMP
from lake.spec.tool_calls import CALLS_OF_CHILD
from lake.spec.vocabulary import ContextsOrigin
from lake.tables.open_tables import TableSource
from lake.tables.table import Table

INDEX_COLUMNS = (
    "event_id", "trace_id", "parent_span_id", "requested_at", "parent_deployment", "contexts_origin",
    "tool_calls_origin",
)  # fmt: skip
IS_CHILD = (
    ((ds.field("contexts_origin") == ContextsOrigin.PROMPT) | ds.field("tool_calls_origin").isin(CALLS_OF_CHILD))
    & ds.field("trace_id").is_valid()
    & ds.field("parent_span_id").is_valid()
)
_DAYS = 2
_MOST_ROWS = 1_000_000
"""About 100 MB."""


@dataclass
class _Children:
    """Children of one table, by the portions in which they came, and the version up to which it is read."""

    table: Table
    since: date
    version: int | None = None
    portions: list[pa.Table] = field(default_factory=list)

    def read_on(self) -> None:
        recent = IS_CHILD & (ds.field("date") >= pa.scalar(self.since))
        try:
            change = self.table.read_since(self.version, INDEX_COLUMNS, where=recent)
        except TableReplacedError:
            change = self.table.read_since(None, INDEX_COLUMNS, where=recent)
            self.portions = []
        if change.repeats or change.version is None:
            change = self.table.read_since(None, INDEX_COLUMNS, where=recent)
            self.portions = []
        self.version = change.version
        if change.rows.num_rows:
            self.portions.append(change.rows)

    def forget_before(self, day: date) -> None:
        self.since = day
        begin = pa.scalar(datetime.combine(day, datetime.min.time(), UTC), TIMESTAMP)
        some = [rows.filter(pc.greater_equal(rows["requested_at"], begin)) for rows in self.portions]
        self.portions = [rows for rows in some if rows.num_rows]


class RecentChildren:
    """Children of the last two days (UTC) of all deployments' tables; an erased one may stay in here for so long."""

    def __init__(self, tables: TableSource, clock: Callable[[], datetime]) -> None:
        self._tables = tables
        self._clock = clock
        self._of: dict[str | None, _Children] = {}
        self._since: date | None = None
        self._is_read = False

    def forget(self) -> None:
        """Look for new rows when next asked."""
        self._is_read = False

    def between(self, since: datetime, until: datetime) -> dict[str | None, pa.Table] | None:
        """Return `INDEX_COLUMNS` of the children that were called in this time, by the table that they are in.

        None where that is longer ago than what is kept, or where there are too many to be kept.
        """
        first = (self._clock().astimezone(UTC) - timedelta(days=_DAYS - 1)).date()
        if since.astimezone(UTC).date() < first:
            return None
        if not self._is_read:
            self._read(first)
        if sum(rows.num_rows for one in self._of.values() for rows in one.portions) > _MOST_ROWS:
            return None
        begin, end = pa.scalar(since, TIMESTAMP), pa.scalar(until, TIMESTAMP)
        found = {}
        for deployment, one in self._of.items():
            if one.portions:
                rows = pa.concat_tables(one.portions)
                asked = rows["requested_at"]
                found[deployment] = rows.filter(pc.and_(pc.greater_equal(asked, begin), pc.less(asked, end)))
        return found

    def _read(self, first: date) -> None:
        there = self._tables.deployments()
        self._of = {name: one for name, one in self._of.items() if name in there}
        try:
            for name in there:
                if name not in self._of:
                    self._of[name] = _Children(self._tables.table(PARSED_LOGS, name), first)
                if self._since != first:
                    self._of[name].forget_before(first)
                self._of[name].read_on()
        except Exception:
            # What is open may be what is broken.
            self._of.clear()
            raise
        self._since, self._is_read = first, True
