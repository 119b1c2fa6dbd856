"""What a collector that starts, or has lost a race, must know of the time before: read from the lake's own rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from collector.books import Books
from collector.position import HTTP, Partition
from lake import PARSED_LOGS, REJECTED, USER_SIGNALS, Lake, Table

_ROWS_AT_ONCE = 10_000
_MOST_CHILDREN = 2_000


@dataclass(frozen=True, slots=True)
class Seen:
    """An id that the lake holds, when its line came, and where it stood."""

    event_id: str
    at: datetime
    partition: Partition
    offset: int


def rejection_id(raw: bytes) -> str:
    """Id of what cannot be read, in the form of an event id."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def recent_ids(lake: Lake, since: datetime) -> Iterator[Seen]:
    """Give the ids of all rows and signals, and of rejections over HTTP, that came since then, the oldest first."""
    recent = ds.field("ingested_at") >= since
    found = [_ids(lake.table(REJECTED), "raw", recent & (ds.field("source", "kind") == HTTP))]
    for deployment in lake.deployments():
        found.append(_ids(lake.table(PARSED_LOGS, deployment), "event_id", recent))
        found.append(_ids(lake.table(USER_SIGNALS, deployment), "signal_id", recent))
    # Kept as columns until the last moment: Python objects take five times the memory.
    rows = pa.concat_tables(found).sort_by("ingested_at")
    for batch in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield Seen(row["id"], row["ingested_at"], _partition(row["source"]), row["source"]["offset"])


def recent_children(lake: Lake, books: Books) -> list[dict[str, Any]]:
    """Give trace_id, parent_span_id and contexts of the calls that came last with chunks in their prompt.

    They are at most 2,000, in the order in which they came. Calls of a batch that was cut off are not among them: their
    lines come again.
    """
    has_chunks = ds.field("contexts_origin") == "prompt"
    is_child = ds.field("parent_span_id").is_valid() & ds.field("trace_id").is_valid()
    tables = [lake.table(PARSED_LOGS, deployment) for deployment in lake.deployments()]
    columns = ["event_id", "ingested_at", "source"]
    ids = [row for table in tables for row in table.read(columns, has_chunks & is_child).to_pylist()]
    committed = [row for row in ids if row["source"]["offset"] <= books.offset(_partition(row["source"]))]
    committed.sort(key=lambda row: (row["ingested_at"], row["source"]["offset"]))
    order = {row["event_id"]: place for place, row in enumerate(committed[-_MOST_CHILDREN:])}
    columns = ["event_id", "trace_id", "parent_span_id", "contexts"]
    where = ds.field("event_id").isin(list(order))
    children = [row for table in tables for row in table.read(columns, where).to_pylist()] if order else []
    return sorted(children, key=lambda row: order[row["event_id"]])


def _ids(table: Table, column: str, where: ds.Expression) -> pa.Table:
    rows = table.read([column, "ingested_at", "source"], where)
    ids = rows[column]
    if column == "raw":
        ids = pa.array([rejection_id(raw) for raw in ids.to_pylist()], pa.string())
    return pa.table({"id": ids, "ingested_at": rows["ingested_at"], "source": rows["source"]})


def _partition(source: dict[str, Any]) -> Partition:
    return Partition(source["kind"], source["name"], source["partition"])
