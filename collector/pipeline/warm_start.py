"""State of recent lines: ids, and contexts that children had; read from the lake at a start or after a lost race.

An application that logs no contexts has those in the prompt of the model call that it made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.commit.batch import TableKey
from collector.commit.committed_offsets import CommittedOffsets
from collector.commit.concurrent_collectors import (
    SeenState,
    as_integers,
    current_state,
    id_columns,
    numbers_of,
)
from collector.commit.duplicates import DuplicateWindow, Numbers
from collector.commit.position import Partition
from collector.pipeline.readable_rows import DAMAGED, read_readable
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.spec.tool_calls import ToolCallsOrigin
from lake.spec.vocabulary import ANSWERING_KINDS, ContextsOrigin, Kind, SourceKind
from lake.tables.lake import Lake
from lake.tables.table import Table

CHILD_COLUMNS = (
    "trace_id", "parent_span_id", "kind", "deployment", "error", "tool_calls", "tool_calls_origin", "request_body",
)  # fmt: skip
"""What of a call says which tools its caller called, and how that went."""

_PERIODS = 4
_ROWS_AT_ONCE = 32_768
_MOST_CHILDREN = 2_000
_REQUESTS_AT_ONCE = 50
_MOST_REQUEST_BYTES = 64 << 20

Contexts = list[dict[str, Any]]
_OVERHEAD_BYTES = 200


class RecentChildContexts:
    """Contexts of recent child calls, by the span of their parent; the oldest are dropped above `max_bytes`.

    Core logs a call after its answer, so a child's line normally comes before its parent's.
    """

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._contexts: OrderedDict[tuple[str, str], tuple[Contexts, int]] = OrderedDict()

    def remember(self, trace_id: str, parent_span_id: str, contexts: Contexts) -> None:
        """Keep the contexts of a child of this span; a later child of the same span replaces an earlier one."""
        self._forget((trace_id, parent_span_id))
        size = _OVERHEAD_BYTES + sum(map(_size, contexts))
        self._contexts[trace_id, parent_span_id] = (contexts, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._contexts)))

    def contexts_for(self, trace_id: str, span_id: str) -> Contexts | None:
        """Return the contexts in the prompt of the last child of this span; None if no child is kept."""
        found = self._contexts.get((trace_id, span_id))
        return None if found is None else found[0]

    def _forget(self, key: tuple[str, str]) -> None:
        _, size = self._contexts.pop(key, (None, 0))
        self._bytes -= size


def _size(context: dict[str, Any]) -> int:
    return _OVERHEAD_BYTES + sum(len(value) for value in context.values() if isinstance(value, str))


class RecentIds:
    """Ids of the rows, signals and HTTP rejections that were stored since a time; 24 bytes for each id."""

    def __init__(self, since: datetime, now: datetime) -> None:
        self.seen: dict[TableKey, SeenState] = {}
        self._since, self._now = since, now
        self._step = max((now - since) / _PERIODS, timedelta(microseconds=1))
        self._periods: list[list[Numbers]] = [[] for _ in range(_PERIODS)]
        self._unfinished: dict[int, tuple[Partition, int]] = {}

    def read(self, lake: Lake, committed: CommittedOffsets) -> None:
        """Read the ids from every table; `seen` then has the state of each table at that time."""
        keys: list[TableKey] = [(REJECTED, None)]
        for deployment in lake.deployments():
            keys += [(PARSED_LOGS, deployment), (USER_SIGNALS, deployment)]
        for key in keys:
            table = lake.table(*key)
            # Taken before the rows are read: rows that are added in between are then read twice, and none is missed.
            self.seen[key] = current_state(table)
            if self.seen[key].version is None:
                continue
            where = ds.field("ingested_at") >= self._since
            if key[0] is REJECTED:
                where &= ds.field("source", "kind") == SourceKind.HTTP
            read_readable(table, partial(self._read_ids, key[0], where, committed))

    def _read_ids(
        self, spec: TableSpec, where: ds.Expression, committed: CommittedOffsets, dataset: ds.Dataset
    ) -> None:
        for batch in dataset.to_batches(
            id_columns(spec), where, batch_size=_ROWS_AT_ONCE, batch_readahead=2, fragment_readahead=1
        ):
            if batch.num_rows:
                self._take(numbers_of(spec, batch["id"]), batch, committed)

    def fill(self, window: DuplicateWindow) -> None:
        """Move the ids to a duplicate window, oldest first."""
        for number, parts in enumerate(self._periods):
            if parts:
                numbers = np.concatenate(parts)
                parts.clear()
                window.remember(numbers, self._since + number * self._step, {})
        window.remember([], self._now, self._unfinished)

    def _take(self, numbers: Numbers, rows: pa.RecordBatch, committed: CommittedOffsets) -> None:
        unfinished = is_unfinished(rows, committed)
        times = rows["ingested_at"].cast(pa.int64()).to_numpy(zero_copy_only=False)
        since, step = int(self._since.timestamp() * 1e6), self._step // timedelta(microseconds=1)
        periods = np.clip((times - since) // step, 0, _PERIODS - 1)
        for period, parts in enumerate(self._periods):
            chosen = ~unfinished & (periods == period)
            if chosen.any():
                parts.append(numbers[chosen])
        for row in np.flatnonzero(unfinished).tolist():
            (number,) = as_integers(numbers[row : row + 1])
            kind, name, key, offset = (rows[name][row].as_py() for name in ("kind", "name", "partition", "offset"))
            self._unfinished[number] = (Partition(kind, name, key), offset)


def recent_child_contexts(lake: Lake, committed: CommittedOffsets, since: datetime) -> list[dict[str, Any]]:
    """Return trace_id, parent_span_id and contexts of the newest calls with contexts in their prompt.

    There are at most 2,000, in order of arrival. Calls of a batch that was cut off are left out: their lines come
    again.
    """
    of_prompt = ds.field("contexts_origin") == ContextsOrigin.PROMPT
    return _RecentChildren.find(lake, committed, since, of_prompt).read(["trace_id", "parent_span_id", "contexts"])


def recent_tool_children(lake: Lake, committed: CommittedOffsets, since: datetime) -> list[dict[str, Any]]:
    """Return `CHILD_COLUMNS` of the newest calls that may be those of tools, or know the calls of a turn, likewise.

    The request is read only where it is needed: of calls of MCP servers, and of the last one of a turn. That of the
    newest ones, up to 64 MiB.
    """
    is_child = ds.field("kind").isin([*ANSWERING_KINDS, Kind.MCP])
    recent = _RecentChildren.find(lake, committed, since, is_child)
    rows = recent.read([name for name in CHILD_COLUMNS if name != "request_body"])
    last = {(row["trace_id"], row["parent_span_id"]): row["event_id"] for row in rows
            if row["tool_calls_origin"] == ToolCallsOrigin.REQUEST}  # fmt: skip
    needed = {*last.values(), *(row["event_id"] for row in rows if row["kind"] == Kind.MCP)}
    bodies = recent.requests(needed)
    some = (row | {"request_body": bodies.get(row["event_id"])} for row in rows)
    return [{name: row[name] for name in CHILD_COLUMNS} for row in some]


@dataclass(frozen=True)
class _RecentChildren:
    """The newest calls that other calls made, by id, and the tables that they are in, with the ids of each."""

    tables: Sequence[tuple[Table, frozenset[str]]]
    order: Mapping[str, int]
    where: ds.Expression

    @classmethod
    def find(cls, lake: Lake, committed: CommittedOffsets, since: datetime, which: ds.Expression) -> _RecentChildren:
        is_child = which & (ds.field("ingested_at") >= since)
        is_child &= ds.field("parent_span_id").is_valid() & ds.field("trace_id").is_valid()
        tables = [lake.table(PARSED_LOGS, deployment) for deployment in lake.deployments()]
        places = [
            read_readable(table, lambda rows: rows.to_table(id_columns(PARSED_LOGS), is_child)) for table in tables
        ]
        found = [_newest(_committed_rows(rows, committed)) for rows in places]
        newest = _newest(pa.concat_tables(found)) if found else None
        if newest is None or not newest.num_rows:
            return cls((), {}, is_child)
        order = {event_id: index for index, event_id in enumerate(newest["id"].to_pylist())}
        where = is_child & (ds.field("ingested_at") >= pc.min(newest["ingested_at"]))
        ids = [order.keys() & its["id"].to_pylist() for its in found]
        return cls([(table, frozenset(its)) for table, its in zip(tables, ids, strict=True) if its], order, where)

    def read(self, columns: Sequence[str], some: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Read `event_id` and columns of the calls, or of some of them, in order of arrival."""
        names = list(dict.fromkeys(["event_id", *columns]))
        rows: list[dict[str, Any]] = []
        for table, ids in self.tables:
            if its := ids if some is None else ids.intersection(some):
                where = self.where & ds.field("event_id").isin(list(its))
                rows += _read_calls(table, names, where).to_pylist()
        return sorted(rows, key=lambda row: self.order[row["event_id"]])

    def requests(self, some: Collection[str]) -> dict[str, str | None]:
        """Read the requests of the newest of some calls, a few at a time, until they are large together."""
        newest = sorted(some, key=self.order.__getitem__, reverse=True)
        found: dict[str, str | None] = {}
        for first in range(0, len(newest), _REQUESTS_AT_ONCE):
            rows = self.read(["request_body"], newest[first : first + _REQUESTS_AT_ONCE])
            found |= {row["event_id"]: row["request_body"] for row in rows}
            if sum(len(body or "") for body in found.values()) >= _MOST_REQUEST_BYTES:
                break
        return found


def _read_calls(table: Table, names: list[str], where: ds.Expression) -> pa.Table:
    try:
        return table.read(names, where)  # of a store without a listing of the log, which its dataset takes
    except DAMAGED:
        return read_readable(table, lambda rows: rows.to_table(names, where))


def _newest(rows: pa.Table) -> pa.Table:
    in_order = rows.sort_by([("ingested_at", "ascending"), ("offset", "ascending")])
    return in_order.slice(max(0, in_order.num_rows - _MOST_CHILDREN))


def _committed_rows(rows: pa.Table, committed: CommittedOffsets) -> pa.Table:
    batches = [
        batch.filter(pa.array(~is_unfinished(batch, committed))) for batch in rows.to_batches() if batch.num_rows
    ]
    return pa.Table.from_batches(batches, schema=rows.schema)


def is_unfinished(rows: pa.RecordBatch, committed: CommittedOffsets) -> npt.NDArray[np.bool_]:
    """Mark the rows of batches that were cut off: they lie after the committed offset of their partition."""
    keys = pc.binary_join_element_wise(
        *(rows[name].cast(pa.string()) for name in ("kind", "name", "partition")), "\0"
    ).dictionary_encode()
    # Only the last part may contain a NUL: it can be the name of a deployment, which a client chooses.
    reached = np.array(
        [committed.offset(Partition(*key.split("\0", 2))) for key in keys.dictionary.to_pylist()], dtype=np.int64
    )
    offsets = rows["offset"].to_numpy(zero_copy_only=False)
    return np.asarray(offsets > reached[keys.indices.to_numpy(zero_copy_only=False)])
