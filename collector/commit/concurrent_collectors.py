"""Duplicate detection between collectors that write to the same tables at the same time, also in other processes.

Lines that are duplicates of each other belong to the same table. Every append of rows that can be duplicates carries,
beside the collector's own offsets, a number that all collectors of that table share and increase by one. So the table
refuses an append by a collector that has not seen the newest rows. That collector then reads the new rows, drops its
duplicates of them and tries again. A collector that writes alone sees by the number that there are no new rows.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.commit.duplicates import Numbers, id_number, id_numbers
from collector.commit.position import Partition
from collector.parsing import LogRecord, Rejection, SignalRecord
from lake.delta_log.change import TableReplacedError
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.spec.vocabulary import SourceKind
from lake.store.store_errors import TableError
from lake.tables.table import Table

COLLECTORS = "collector"
"""The app_id that all collectors share."""

_OF_SIGNALS = int.from_bytes(b"ids of a signal.")
"""Makes other numbers of the ids of signals: a sender may give a signal the id of its answer."""

ID_COLUMNS = {PARSED_LOGS: "event_id", USER_SIGNALS: "signal_id", REJECTED: "raw"}


@dataclass(frozen=True, slots=True)
class SeenState:
    """State of a table when a collector last read it: the number that collectors share, and the table's version."""

    shared: int | None
    version: int | None


def current_state(table: Table) -> SeenState:
    """Return the present state of a table."""
    shared = table.committed(COLLECTORS)
    return SeenState(shared, table.seen_version())


def rejection_id(raw: bytes) -> str:
    """Id of an entry that cannot be read: a hash of its bytes, in the form of an event id."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def number_of(record: LogRecord | SignalRecord | Rejection, partition: Partition) -> int | None:
    """Number of the id by which a duplicate of the line is found; None if the line cannot be a duplicate."""
    if isinstance(record, LogRecord):
        return id_number(record.event_id)
    if isinstance(record, SignalRecord):
        return id_number(record.signal_id) ^ _OF_SIGNALS
    # Lines of files and Kafka have stable offsets; a sender over HTTP repeats each request that got no answer.
    return id_number(rejection_id(record.raw)) if partition.kind == SourceKind.HTTP else None


def id_columns(spec: TableSpec) -> dict[str, ds.Expression]:
    """The columns that identify the lines of a table, by name: id, ingested_at and the members of source."""
    members = {name: ds.field("source", name) for name in ("kind", "name", "partition", "offset")}
    return {"id": ds.field(ID_COLUMNS[spec]), "ingested_at": ds.field("ingested_at")} | members


def numbers_of(spec: TableSpec, ids: pa.Array) -> Numbers:
    """Numbers of the ids of rows; for `rejected` the ids are raw bytes, and are hashed first."""
    if spec is REJECTED:
        ids = pa.array([rejection_id(raw) for raw in ids.to_pylist()], pa.string())
    numbers = id_numbers(ids)
    return numbers ^ np.array(divmod(_OF_SIGNALS, 1 << 64), np.uint64) if spec is USER_SIGNALS else numbers


def stored_since(table: Table, before: SeenState, since: datetime) -> dict[int, tuple[Partition, int]]:
    """Numbers of the ids that a table has gained since the state `before`, with partition and offset of their lines.

    Rows from before the time `since` are left out: they are older than the duplicate window.
    """
    columns = [ID_COLUMNS[table.spec], "source"]
    rows = _gained(table, before, [*columns, "ingested_at"], since)
    if table.spec is REJECTED:
        rows = rows.filter(pc.equal(pc.struct_field(rows["source"], "kind"), SourceKind.HTTP))
    found: dict[int, tuple[Partition, int]] = {}
    for batch in rows.to_batches():
        sources = (
            (Partition(source["kind"], source["name"], source["partition"]), source["offset"])
            for source in batch["source"].to_pylist()
        )
        found.update(zip(as_integers(numbers_of(table.spec, batch[columns[0]])), sources, strict=True))
    return found


def _gained(table: Table, before: SeenState, columns: list[str], since: datetime) -> pa.Table:
    recent = ds.field("ingested_at") >= since
    if before.version is not None:
        # If the table no longer knows what was added since that version, all its rows may be new.
        with suppress(TableError, TableReplacedError):
            return table.read_since(before.version, columns, newest=since).rows.filter(recent)
    return table.read(columns, recent)


def as_integers(numbers: Numbers) -> list[int]:
    """The same numbers as integers of Python."""
    return [upper << 64 | lower for upper, lower in numbers.tolist()]
